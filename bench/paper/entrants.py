"""Who takes part: one short list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from bench.paper.published import METHODS as PUBLISHED


@dataclass(frozen=True)
class Entrant:
    """A projection method with fixed parameters, and values of others from which inner folds choose."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)
    pictures_only: bool = False  # left out of table 2, which takes the longest

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What the paper leaves no choice of: its MELM has no regularization."""
        return {"regularization": None} if self.method == "melm" else {}

    @property
    def name(self) -> str:
        """The method, and how it departs from its defaults."""
        chosen = [f"{key} chosen" for key in self.grid] if self.method == "melm" else []
        return " ".join([self.method, *chosen, *(f"{key}={value}" for key, value in self.parameters.items())])

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """All parameters that come into question."""
        return [
            {**self.parameters, **dict(zip(self.grid, values, strict=True))} for values in product(*self.grid.values())
        ]


GAMMAS = (1.0, 0.5, 2.0)
RIDGES = (0.05, 0.001, 0.01, 0.5)  # GEM's own gamma, which the paper fits as well

MELM = Entrant("melm")  # the paper's, without regularization: what is compared with the others
PATH = Entrant("melm", {"regularization": "path"})  # the library's default
TUNED_MELM = Entrant("melm", grid={"gamma": GAMMAS})

ENTRANTS = (
    MELM,
    PATH,
    TUNED_MELM,
    Entrant("melm", grid={"ridge": (0.0, 1.0, 10.0)}),
    Entrant("melm", {"select_start_by": "balanced_accuracy"}),
    Entrant("melm", {"select_start_by": "balanced_accuracy", "gamma": 0.7}, pictures_only=True),
    Entrant("pca"),
    Entrant("cpca"),
    Entrant("2epca"),
    Entrant("ppca"),
    Entrant("ica"),
    Entrant("fa"),
    Entrant("nmf"),
    Entrant("gem", grid={"ridge": RIDGES}),
    Entrant("lda"),
    Entrant("nca"),
    Entrant("pls"),
    Entrant("identity"),
)
PUBLIC_ENTRANTS = (
    PATH,
    MELM,
    Entrant("lda"),
    Entrant("pls"),
    Entrant("nca"),
    Entrant("pca"),
    Entrant("identity"),
)
RIVALS = tuple(entrant for entrant in ENTRANTS if entrant.method in PUBLISHED and entrant.method != MELM.method)
PAPER_LIKE = {entrant.method: entrant for entrant in (TUNED_MELM, *RIVALS)}  # as the paper has them
