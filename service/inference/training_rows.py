"""The training rows of a model, and the separation of their classes in another projection."""

from __future__ import annotations

from threading import Lock

import numpy as np

from melm.data.labeled import Labeled
from melm.density.projected import class_densities
from melm.evidence.evaluate import leave_one_out_balanced_accuracy
from melm.model import Model
from melm.objective.divergence import WhitenedDivergence, divergence_of
from melm.tables.table import Table
from melm.typing import Array
from service.inference.model_cache import CachedModel
from worker.store import Store
from worker.store.errors import NotFound


class TrainingRows:
    """Reads the training rows of models. Those of the last model are cached, because requests come in series."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._last: tuple[str, Labeled] | None = None

    def read(self, tenant: str, cached: CachedModel) -> Labeled:
        """The training rows of a model. Access is checked in the store each time."""
        record = self._store.models.get(tenant, cached.id)
        if record.dataset_id is None:
            raise NotFound("dataset of the imported model", cached.id)
        self._store.datasets.get(tenant, record.dataset_id)
        with self._lock:
            if self._last is None or self._last[0] != cached.id:
                self._last = cached.id, self._read(tenant, record.dataset_id, cached.model)
            return self._last[1]

    def _read(self, tenant: str, dataset_id: str, model: Model) -> Labeled:
        """Encoded by the model's own encoder, which may be that of an earlier version."""
        record = self._store.datasets.get(tenant, dataset_id)
        values = self._store.datasets.load(tenant, dataset_id)
        names, part = record.feature_names, values.part
        if model.encoder is None or names is None:
            return Labeled.check(values.X, values.y, model.feature_names)
        if part is None:
            table = Table.of_numbers(values.X, names)
        else:
            numbers = tuple(name for name in names if name not in part.text_names)
            table = Table(tuple(names), numbers, values.X, part.text_names, part.codes, part.categories)
        return Labeled.check(model.encoder.encode(table), values.y, model.encoder.features)


def separation(model: Model, data: Labeled, V: Array) -> tuple[float, float]:
    """Divergence of the classes in another projection, and the leave-one-out balanced accuracy."""
    parameters = model.card.parameters or {}
    kind, ridge = parameters.get("covariance", "ledoit_wolf"), parameters.get("ridge", 0.0)
    if model.card.search is not None and model.card.search.chosen is not None:
        ridge = max(model.card.search.chosen.candidates, key=lambda each: each.score or -np.inf).ridge
    problem = data.prepare("empirical" if kind == "empirical" else "ledoit_wolf", ridge=_number(ridge))
    V_white = problem.to_whitened(V)
    if np.linalg.matrix_rank(V_white) < V.shape[1]:
        raise ValueError("its columns are linearly dependent on the training rows: the projection has no density")
    gamma = model.card.gamma
    divergence = divergence_of(WhitenedDivergence(problem, V.shape[1], gamma).log_potentials(V_white))
    densities = class_densities(problem, V, gamma, model.densities.priors.tolist())
    return divergence, leave_one_out_balanced_accuracy(densities)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
