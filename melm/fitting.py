"""A MELM fit from parameters to model, as a plan; and the last step that all methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from melm.data.labeled import Labeled
from melm.data.prepared_rows import PreparedRows
from melm.density import ClassDensities
from melm.density.compaction import compact
from melm.density.projected import Priors, class_densities
from melm.evidence.card import (
    describe_choice,
    describe_columns,
    describe_data,
    describe_density,
    describe_projection,
    describe_reduction,
    describe_separation,
    describe_software,
    describe_starts,
    warn,
)
from melm.evidence.citation import describe_citation
from melm.evidence.evaluate import (
    balanced_accuracy,
    leave_one_out_balanced_accuracy,
    sample_balanced_accuracy,
)
from melm.evidence.traps import warn_of_traps
from melm.model import Model
from melm.model.card import Card, SearchResult, SearchStage, Separation
from melm.objective.beyond import divergence_on
from melm.objective.divergence import SPECTRAL_COMPONENTS, divergence_of
from melm.plan import Fold, NothingFitted, Plan, Resamples, Result, Unit, gather, within
from melm.search.climb import StartResult
from melm.search.race import Found, Search, best_start
from melm.search.regularization import Choice, Regularization
from melm.typing import Array

SelectStartBy: TypeAlias = Literal["divergence", "balanced_accuracy"]

GAMMAS = (1.0, 0.7, 1.4, 0.5, 2.0)  # what "auto" chooses from; the first wins a tie
GAMMA_FOLDS = 5
MAX_EXACT_ROWS = 20_000  # beyond three components an evaluation sums over all pairs of rows
DEPENDENT = 1e-6  # smallest singular value of columns of length one: its square is what a covariance has left


@dataclass(frozen=True)
class Fitting:
    """The validated parameters of a MELM fit."""

    search: Search
    gammas: tuple[float, ...]
    select_start_by: SelectStartBy
    priors: Priors
    regularization: Regularization | None = None  # None: the start with the highest divergence, as in the paper

    def plan(self, data: Labeled, resamples: Resamples = (), name: str = "") -> Plan[tuple[Model, list[StartResult]]]:
        """Choose the parameters that are open, run the starts, keep the best, and fit the densities."""
        prepared = self.prepare(data, resamples)
        check_fits(self.search.n_components, prepared)
        if self.regularization is not None:
            choice = yield from self.regularization.plan(data, resamples, name)
            return self._regularized(data, choice, resamples), choice.paths
        gamma = yield from within(self._choose_gamma(data, resamples, name), 0, self._share_of_choice())
        search = self.search.plan(sum(prepared.counts), gamma, resamples, name, sum(prepared.rows.counts))
        found = yield from within(search, self._share_of_choice(), 1)
        return self._model(data, prepared, gamma, found, resamples), found.in_order()

    def run(self, data: Labeled, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        """Run one unit of the plan."""
        return self.task(data, [unit], should_stop)()[0]

    def task(self, data: Labeled, units: Sequence[Unit], should_stop: Callable[[], bool]) -> Callable[[], list[Result]]:
        """A function that runs units that are alike, with the data that they need, in any process."""
        if self.regularization is not None:
            return self.regularization.task(data, units, should_stop)
        prepared = self.prepare(data, units[0].resamples)
        return partial(self.search.run_together, prepared, [unit.arguments for unit in units], should_stop)

    def prepare(self, data: Labeled, resamples: Resamples) -> PreparedRows:
        """The preprocessing that all starts on these rows share."""
        return data.prepare(self.search.covariance, resamples, self.search.ridge)

    def _choose_gamma(self, data: Labeled, resamples: Resamples, name: str) -> Plan[float]:
        """The kernel width with the best cross-validated balanced accuracy. Each fold also chooses its own start."""
        rarest = min(self.prepare(data, resamples).counts)
        if len(self.gammas) == 1 or rarest < 2:
            return self.gammas[0]
        n_folds = min(GAMMA_FOLDS, rarest)
        before = (*resamples, *data.for_choices)
        inner = {index: (*before, Fold(index, n_folds, self.search.seed)) for index in range(n_folds)}
        sizes = {index: len(data.select(nested).rows) for index, nested in inner.items()}
        searches = [(gamma, index) for gamma in self.gammas for index in inner]
        outcomes = yield from gather(
            [
                self.search.plan(sizes[index], gamma, inner[index], f"{name}gamma {gamma:g} fold {index} ")
                for gamma, index in searches
            ]
        )
        scores: dict[float, list[float]] = {gamma: [] for gamma in self.gammas}
        for (gamma, index), found in zip(searches, outcomes, strict=True):
            if found is not None:
                scores[gamma].append(self._held_out_score(data, inner[index], gamma, found))
        complete = {gamma: float(np.mean(values)) for gamma, values in scores.items() if len(values) == n_folds}
        if not complete:
            raise NothingFitted("No kernel width could be scored.")
        return max(complete, key=lambda gamma: complete[gamma])

    def _share_of_choice(self) -> float:
        """The share of the work of a fit that is spent on choosing the kernel width."""
        n_searches = len(self.gammas) * GAMMA_FOLDS if len(self.gammas) > 1 else 0
        return n_searches / (1 + n_searches)

    def _held_out_score(self, data: Labeled, resamples: Resamples, gamma: float, found: Found) -> float:
        prepared = self.prepare(data, resamples)
        projection = prepared.canonical(self._choose(prepared, gamma, found).projection)
        densities = class_densities(prepared, projection, gamma, self.priors)
        X, codes = data.held_out(resamples)
        posteriors = densities.log_posteriors(prepared.rows.place(X, projection))
        return balanced_accuracy(codes, posteriors.argmax(axis=1), data.held_out_weights(resamples))

    def _choose(self, prepared: PreparedRows, gamma: float, found: Found) -> StartResult:
        """The start to keep, by its divergence or by its leave-one-out balanced accuracy."""
        starts = found.judged()
        if self.select_start_by == "divergence":
            return best_start(starts, [start.divergence for start in starts])
        scores = [
            leave_one_out_balanced_accuracy(
                class_densities(prepared, prepared.canonical(start.projection), gamma, self.priors)
            )
            for start in starts
        ]
        return best_start(starts, scores)

    def _model(self, data: Labeled, prepared: PreparedRows, gamma: float, found: Found, resamples: Resamples) -> Model:
        best = self._choose(prepared, gamma, found)
        search = SearchResult(
            seed=self.search.seed,
            best_start=best.index,
            starts=describe_starts(found.in_order()),
            stages=[SearchStage(**asdict(stage)) for stage in found.stages],
            n_evaluations=sum(stage.n_evaluations for stage in found.stages),
            n_evaluations_on_all_rows=sum(
                stage.n_evaluations for stage in found.stages if stage.n_rows == sum(prepared.counts)
            ),
        )
        projection = prepared.canonical(best.projection)
        return assemble("melm", data, prepared, projection, prepared.rows.center, gamma, self.priors, resamples, search)

    def _regularized(self, data: Labeled, choice: Choice, resamples: Resamples) -> Model:
        best = choice.best
        prepared = data.prepare(self.search.covariance, resamples, best.ridge, best.n_kept)
        n_rows, n_evaluations = sum(prepared.counts), sum(stage.n_evaluations for stage in choice.stages)
        search = SearchResult(
            seed=self.search.seed,
            best_start=max(choice.paths, key=lambda path: path.divergence).index,
            starts=describe_starts(choice.paths),
            stages=[SearchStage(**asdict(stage)) for stage in choice.stages],
            n_evaluations=n_evaluations,
            n_evaluations_on_all_rows=sum(s.n_evaluations for s in choice.stages if s.n_rows == n_rows),
            chosen=describe_choice(choice, data.names(resamples)),
        )
        projection, center = prepared.canonical(choice.projection), prepared.rows.center
        return assemble("melm", data, prepared, projection, center, best.gamma, self.priors, resamples, search)


def check_dimensions(n_components: int, prepared: PreparedRows) -> None:
    """Raise ValueError unless the rows vary in at least `n_components` dimensions."""
    if n_components > prepared.n_dimensions:
        raise ValueError(
            f"n_components={n_components} is larger than the number of dimensions in which the rows vary, "
            f"{prepared.n_dimensions}: constant or dependent features add none."
        )


def check_fits(n_components: int, prepared: PreparedRows) -> None:
    """Raise ValueError if no projection with this many components can be found for these rows."""
    check_dimensions(n_components, prepared)
    n_rows = sum(prepared.counts)
    if n_components > SPECTRAL_COMPONENTS and n_rows > MAX_EXACT_ROWS:
        raise ValueError(
            f"n_components={n_components} has no linear-time form: every evaluation would sum over {n_rows**2:.1e} "
            f"pairs of rows. Use at most {SPECTRAL_COMPONENTS} components, or at most {MAX_EXACT_ROWS} rows."
        )


def assemble(
    method: str,
    data: Labeled,
    prepared: PreparedRows,
    projection: Array,
    offset: Array,
    gamma: float,
    priors: Priors,
    resamples: Resamples = (),
    search: SearchResult | None = None,
) -> Model:
    """The model of any method from its linear map: densities and a card."""
    densities = class_densities(prepared, projection, gamma, priors, offset)
    encoder, feature_names = data.encoder(resamples), data.names(resamples)
    stored = compact(densities)
    loadings = prepared.spread.loadings(projection)
    suspicions = [] if resamples else warn_of_traps(data)
    card = Card(
        method=method,
        gamma=gamma,
        priors=densities.priors.tolist(),
        data=describe_data(prepared, data.classes),
        reduction=describe_reduction(prepared),
        **describe_projection(prepared, projection, loadings, feature_names),
        **({"columns": None} if encoder is None else describe_columns(prepared, projection, loadings, encoder)),
        in_sample=_in_sample(prepared, projection, gamma, densities, in_full=not resamples),
        density=describe_density(sum(prepared.counts), densities, stored),
        software=describe_software(),
        citation=describe_citation(),
        warnings=warn(prepared, data.classes) + suspicions,
        search=search,
    )
    return Model(
        method,
        projection,
        offset,
        data.classes,
        stored,
        feature_names,
        card,
        encoder=encoder,
        id_name=data.id_name,
        all_loadings=loadings if card.n_more_features else None,
    )


def _in_sample(
    prepared: PreparedRows, projection: Array, gamma: float, densities: ClassDensities, *, in_full: bool
) -> Separation | None:
    """The separation of the training rows; None if the projection has no density, or too many components.

    Without `in_full` it holds the divergence only, which is all that a fit to a resample needs.
    """
    V = prepared.to_whitened(projection)
    n_components = V.shape[1]
    affordable = n_components <= SPECTRAL_COMPONENTS or sum(prepared.counts) <= MAX_EXACT_ROWS
    if not affordable or _are_dependent(V):
        return None
    log_potentials = divergence_on(prepared, n_components, gamma, "auto").log_potentials(V)
    if in_full:
        if prepared.everything is None:
            accuracy = leave_one_out_balanced_accuracy(densities)
        else:
            rows = prepared.rows.project(prepared.rows.from_features(projection))
            accuracy = sample_balanced_accuracy(densities, rows, prepared.counts)
        return describe_separation(densities, log_potentials, accuracy)
    return Separation(divergence=divergence_of(log_potentials))


def _are_dependent(V: Array) -> bool:
    """Whether the columns are linearly dependent. The projected rows have no density then."""
    lengths = np.linalg.norm(V, axis=0)
    return bool(lengths.min() == 0) or float(np.linalg.svd(V / lengths, compute_uv=False)[-1]) < DEPENDENT
