"""The engine: the life of a fit, from its submission to its end.

    queued ──► running ──► succeeded
      │  │        ├──────► failed ────┐
      │  └────────│──────────▲        │
      └───────────┴──────► canceled ──┤
      ▲                               │
      └──────────── retry ────────────┘

A fit is queued when it is submitted, and running from the first unit that a worker leases. That unit is planning: a
process replays the plan with the results stored so far, up to the first stage with units that have no result, and makes
these ready. Processes lease units, run them and store the results; when a stage has ended, planning is ready again. A
fit has two plans. The first ends in the model, which is published at once. The second, if validation is requested,
begins with the stored model and ends in the same model with its evidence, which is written in one step with the fit's
end. If the fit is canceled or fails in between, the model is kept. A queued fit fails if its planning cannot begin.

The protocol is one script, `next(process, outcome of its lease)`, one round trip for each lease:

1. If the process still holds the lease, its outcome is stored and the lease is removed. If not, either the lease was
   lost and the outcome is refused, or this call is a retry and the outcome has been stored already.
2. If the process holds a lease now, the reply to an earlier call was lost: that lease is returned.
3. Otherwise it gets a new one. Of the tenants with a ready unit, the one that was served least recently; of its fits,
   the one this process had last, for up to `turn_seconds`, else the one that was served least recently; of that fit,
   the first ready unit, while it has fewer than `window` leases. A unit that has crashed its process `max_attempts`
   times counts as failed.

An outcome is one of six. *Done*: the results of the units. *Opened*: the next stage, from planning. *Published*: a
model, which ends the fit if there is no validation. *Ended*: the fit cannot continue. *Paused*: the unit ran for
`slice_seconds` and is ready again, behind the others, with the state to resume it. *Released*: the process stops, or
its parent found it dead. The process that stores the last result of a stage makes planning ready.

Messages are empty; they only wake processes. The process that makes units ready sends one message for each, but no more
than there are idle processes. A process that gets a message calls `next` until there is no lease for it; so does each
process when its worker starts. If a message is lost, the next sweep sends another; a repeated message costs one call. A
lease ends unless the parent of its process renews it. A sweep makes the units of ended leases ready again, ends the
search of fits whose time budget is used up, and wakes idle processes where units are ready. Each lease of a fit has a
higher fencing token than the one before, so that no late result is stored.

`states` holds the legal moves and `scripts` makes them, each one atomic step on the server. `units` and `fits` call the
scripts, `runner` runs units in a worker's child process, `keeper` renews their leases, `reconcile` sweeps, `dispatch`
wakes workers, `watch` waits for fits.
"""

from worker.engine.dispatch import CeleryDispatcher, Dispatcher
from worker.engine.engine import Engine, open_engine
from worker.engine.reconcile import Reconciler
from worker.engine.watch import Watch

__all__ = ["CeleryDispatcher", "Dispatcher", "Engine", "Reconciler", "Watch", "open_engine"]
