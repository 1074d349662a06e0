"""The engine: the life of a fit, from its submission to its end.

    queued ──► running ──► succeeded
      │  │        ├──────► failed ────┐
      │  └────────│──────────▲        │
      └───────────┴──────► canceled ──┤
      ▲                               │
      └──────────── retry ────────────┘

A fit is queued when it is submitted, and runs from the first unit that a worker takes. Its first unit is to plan:
a process replays the plan up to the first stage that has units without a result, and puts those up. Processes lease
units, run them, and store what they gave; when a stage is over, planning is put up again. A fit has two plans. The one
ends in the model, which is published; the other, where validation is asked for, begins with the stored model and ends
in the same model with its evidence, which is written in one step with the fit's end. Canceled or failed between the
two, the model stays. A queued fit fails when it cannot be begun.

All of it is one script, `next(process, outcome of its lease)`, one round trip a unit:

1. If the process still has the lease whose outcome it hands in, the outcome is stored and the lease is dropped. If not,
   the lease was lost, and the outcome is refused; or the answer to this very call was, and it is stored already.
2. If the process has a lease now, an answer was lost: the answer is that lease.
3. Else it gets one. Of the tenants with a unit ready, the one that was served longest ago; of its fits, the one this
   process had last, for up to `turn_seconds`, or the one that was served longest ago; of that, the first unit, unless
   as many as the window allows are leased. A unit that has taken its process down too often is given up.

An outcome is one of five. *Done*: what the units of the lease gave. *Opened*: the next stage, from planning.
*Published*: a model, which ends the fit where nothing follows. *Ended*: the fit cannot go on. *Released*: the process
stops in good order, or its parent found it dead. Whoever stores the last result of a stage puts planning up.

Messages carry nothing. Whoever puts units up sends as many as there are units, but no more than there are processes
without a lease; a process that is woken calls `next` until it gets nothing, and so does each when its worker starts. A
message that is lost costs a sweep, one that comes twice a call, and a full server needs none. A lease ends unless the
parent of its process renews it. A sweep puts up the units of leases that have ended, cuts fits whose time is up, and
wakes idle processes where units are ready. Every lease of a fit has a higher fence, so no late result is stored.

`states` holds the moves, `scripts` makes them (each is one step on the server), `units` and `fits` call the scripts,
`runner` runs units in a worker's child process, `keeper` renews their leases, `reconcile` finds what was lost,
`dispatch` wakes workers, `watch` waits for fits.
"""

from worker.engine.dispatch import CeleryDispatcher, Dispatcher
from worker.engine.engine import Engine, open_engine
from worker.engine.reconcile import Reconciler
from worker.engine.watch import Watch

__all__ = ["CeleryDispatcher", "Dispatcher", "Engine", "Reconciler", "Watch", "open_engine"]
