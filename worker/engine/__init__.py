"""The engine: the life of a fit, from its submission to its end.

    queued ──► running ──► succeeded
      │  │        ├──────► failed ────┐
      │  └────────│──────────▲        │
      └───────────┴──────► canceled ──┤
      ▲                               │
      └──────────── retry ────────────┘

A fit is queued when it is submitted, and runs from the first unit that a worker takes. Its first unit is to plan:
the worker replays the plan up to the first stage that has units without a result, and puts those up. Workers lease
units, run them, and store what they gave; whoever stores the last result of a stage plans the next one. The plan's end
is the fit's: model and status are written in one step. A queued fit fails when it cannot be begun.

`states` holds the moves, `scripts` makes them (each is one step on the server), `units` and `fits` call the scripts,
`runner` runs units in a worker's child process, `keeper` renews their leases, `reconcile` finds what was lost,
`dispatch` wakes workers, `watch` waits for fits.
"""

from worker.engine.dispatch import CeleryDispatcher, Dispatcher
from worker.engine.engine import Engine, open_engine
from worker.engine.reconcile import Reconciler
from worker.engine.watch import Watch

__all__ = ["CeleryDispatcher", "Dispatcher", "Engine", "Reconciler", "Watch", "open_engine"]
