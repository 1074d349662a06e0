"""The regularized search as a plan: every path on all rows and on the training rows of inner folds, then the choice.

All paths are one stage, those on all rows first: if the stage is interrupted, there are projections, even if there are
no scores to choose among them. Larger datasets are searched and scored on a sample, and the chosen candidates climb on
with all rows. With very many rows, a single fold is enough for the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from melm.data.labeled import Labeled
from melm.data.prepared_rows import PreparedRows
from melm.objective.beyond import divergence_on
from melm.objective.posterior import WhitenedPosterior
from melm.plan import Fold, NothingFitted, Plan, Resamples, Result, Stage, Unit
from melm.search.choice import average, balanced_scores, is_guessing, win_shares
from melm.search.climb import StartResult, StoppingReason
from melm.search.path import POSTERIOR_SCALE, SAMPLE_ROWS, Candidate, Path, Setting, follow
from melm.search.race import StageCount
from melm.search.recording import Climbable, Recording
from melm.typing import Array

FOLDS = 5
ENOUGH = 100  # held-out rows of each class from which a single fold is enough
POLISH_SHARE = 0.1  # share of the work after a search on a sample


@dataclass(frozen=True)
class Choice:
    """What was chosen, from which candidates, and with which scores."""

    best: Candidate
    projection: Array  # (r, k), of whitened coordinates with the best candidate's ridge
    candidates: list[Candidate]
    scores: Array  # (m,), balanced log posterior of held-out rows; NaN if unknown
    shares: Array  # (m,), of each candidate in the projection
    n_folds: int  # number of inner folds; 0 if there are no scores
    paths: list[StartResult]  # on all rows, one for each setting
    stages: list[StageCount]
    kept: dict[int, float | None]  # by feature that screening kept, the share of inner folds that keep it as well


@dataclass(frozen=True)
class Regularization:
    """How the paths of one fit are run and scored."""

    path: Path

    def plan(self, data: Labeled, resamples: Resamples = (), name: str = "") -> Plan[Choice]:
        """All paths, on all rows and in inner folds, and the choice."""
        n_rows = len(data.select(resamples).rows)
        settings = self.path.settings(n_rows, data.X.shape[1])
        inner = (*resamples, *data.for_choices)
        folds = self._folds(data, inner)
        units = [self._unit(f"{name}path", setting, resamples, index) for index, setting in enumerate(settings)]
        units += [self._unit(f"{name}inner {fold.index}", s, (*inner, fold)) for fold in folds for s in settings]
        sampled = n_rows > SAMPLE_ROWS
        results = yield Stage("path", units, 0.0, 1 - POLISH_SHARE if sampled else 1.0)
        on_all, *by_fold = [results[begin : begin + len(settings)] for begin in range(0, len(units), len(settings))]
        by_setting = [self.path.candidates(setting, len(data.classes)) for setting in settings]
        candidates = [candidate for some in by_setting for candidate in some]
        projections = [
            V for result, some in zip(on_all, by_setting, strict=True) for V in _projections(result, len(some))
        ]
        log_posteriors, codes, weights = _judged(data, inner, folds, by_fold)
        if len(codes):
            log_posteriors[:, [V is None for V in projections]] = np.nan
        scores, shares = self._choose(log_posteriors, codes, weights, settings, on_all, candidates, projections)
        best = candidates[max(np.flatnonzero(shares), key=lambda i: (scores[i], shares[i]))]
        # An average of projections with and without screening would use all features again.
        shares = np.where([candidate.n_kept == best.n_kept for candidate in candidates], shares, 0.0)
        shares /= shares.sum()
        prepared = data.prepare(self.path.covariance, resamples, best.ridge, best.n_kept)
        chosen = [(V, share) for V, share in zip(projections, shares, strict=True) if V is not None and share > 0]
        V = average([prepared.whitening.from_features @ V for V, _ in chosen], np.array([share for _, share in chosen]))
        stages = [StageCount("path", min(n_rows, SAMPLE_ROWS), len(settings), _count(results))]
        if sampled and best.n_iterations > 0:
            arguments: Result = {"polish": best.objective, "n_iterations": best.n_iterations, "projection": V}
            arguments |= {"ridge": best.ridge, "gamma": best.gamma, "n_kept": best.n_kept}
            unit = Unit(f"{name}polish", arguments, resamples, resumable=True)
            (polished,) = yield Stage("polish", [unit], 1 - POLISH_SHARE, 1.0)
            if polished is not None:
                V = polished["projection"]
                n_climbed = prepared.rows.counts if best.objective == "posterior" else prepared.counts
                stages.append(StageCount("polish", sum(n_climbed), 1, polished["n_evaluations"]))
        paths = [
            StartResult(
                index=index,
                seed=self.path.seed,
                divergence=result["divergence"],
                n_rows=min(n_rows, SAMPLE_ROWS),
                n_evaluations=result["n_evaluations"],
                stopping_reason=StoppingReason.CONVERGED,
                projection=result["projection"],
            )
            for index, result in enumerate(on_all)
            if result is not None
        ]
        n_folds = sum(all(result is not None for result in results) for results in by_fold)
        in_folds = [results[settings.index(_setting(best))] for results in by_fold]
        kept = {} if best.n_kept is None else self._kept(data, resamples, best, in_folds)
        return Choice(best, V, candidates, scores, shares, n_folds, paths, stages, kept)

    def task(self, data: Labeled, units: Sequence[Unit], should_stop: Callable[[], bool]) -> Callable[[], list[Result]]:
        """A function that runs units of the plan, with the data that they need, in any process."""
        tasks = [self._task(data, unit, should_stop) for unit in units]
        return partial(_run_all, tasks)

    def _task(self, data: Labeled, unit: Unit, should_stop: Callable[[], bool]) -> Callable[[], Result]:
        arguments = unit.arguments
        prepared = data.prepare(self.path.covariance, unit.resamples, arguments["ridge"], arguments["n_kept"])
        if "polish" in unit.arguments:
            return partial(self._polish, prepared, unit.arguments, should_stop)
        held_out = data.held_out(unit.resamples) if unit.arguments["judged"] else None
        return partial(self.path.run, prepared, held_out, unit.arguments, should_stop)

    def _unit(self, name: str, setting: Setting, resamples: Resamples, start: int | None = None) -> Unit:
        ridge, gamma, n_kept = setting
        arguments = {**setting._asdict(), "judged": start is None}
        is_shown = start if n_kept is None and not resamples else None  # progress counts the paths of all features
        screened = "" if n_kept is None else f" kept {n_kept}"
        return Unit(f"{name} ridge {ridge:g} gamma {gamma:g}{screened}", arguments, resamples, is_shown, resumable=True)

    def _folds(self, data: Labeled, resamples: Resamples) -> list[Fold]:
        """Inner folds of the training rows that leave rows of every class for training; none if rows are too few."""
        selection = data.select(resamples)
        groups = None if data.groups is None else data.groups[selection.rows]
        rarest = _rarest(selection.codes, groups)
        n_judging, n_parts = inner_folds(len(selection.codes), rarest)
        folds = [Fold(index, n_parts, self.path.seed) for index in range(n_judging)]
        shown = [data.select((*resamples, fold)).codes for fold in folds]
        return [fold for fold, codes in zip(folds, shown, strict=True) if len(np.unique(codes)) == len(data.classes)]

    def _choose(
        self,
        log_posteriors: Array,
        codes: npt.NDArray[np.intp],
        weights: Array | None,
        settings: Sequence[Setting],
        on_all: Sequence[Result | None],
        candidates: Sequence[Candidate],
        projections: Sequence[Array | None],
    ) -> tuple[Array, Array]:
        """Score and share of each candidate; without scores, the end of the path with the highest divergence wins."""
        there = np.array([V is not None for V in projections])
        if not there.any():
            raise NothingFitted("No path gave a result.")
        if len(codes) and np.isfinite(log_posteriors).all(axis=0).any():
            scores = balanced_scores(log_posteriors, codes, weights)
            if is_guessing(log_posteriors[:, int(np.nanargmax(scores))], codes, self.path.seed, weights):
                judged = np.flatnonzero(np.isfinite(scores)).tolist()
                simplest = min(judged, key=lambda index: _complexity(candidates[index]))
                return scores, np.eye(len(candidates))[simplest]
            return scores, win_shares(log_posteriors, codes, self.path.seed, weights)
        ends = [
            index
            for index, candidate in enumerate(candidates)
            if there[index] and candidate.objective == candidates[0].objective
        ]
        highest = {
            setting: -np.inf if result is None else result["divergence"]
            for setting, result in zip(settings, on_all, strict=True)
        }
        last = max(ends, key=lambda i: (highest[_setting(candidates[i])], candidates[i].n_iterations))
        shares = np.zeros(len(candidates))
        shares[last] = 1.0
        return np.full(len(candidates), np.nan), shares

    def _kept(
        self, data: Labeled, resamples: Resamples, best: Candidate, in_folds: Sequence[Result | None]
    ) -> dict[int, float | None]:
        """The features that screening kept, best first, each with the share of the inner folds that keep it as well."""
        separations = data.prepare(self.path.covariance, resamples, best.ridge).separations()
        varying = data.prepare(self.path.covariance, resamples, best.ridge, best.n_kept).rows.varying
        folds = [set(result["kept"].tolist()) for result in in_folds if result is not None]
        return {
            feature: sum(feature in fold for fold in folds) / len(folds) if folds else None
            for feature in sorted(np.flatnonzero(varying).tolist(), key=lambda feature: -separations[feature])
        }

    def _polish(self, prepared: PreparedRows, arguments: Result, should_stop: Callable[[], bool]) -> Result:
        shape = (self.path.n_components, arguments["gamma"], self.path.form)
        objective: Climbable
        if arguments["polish"] == "divergence":
            objective, scale = divergence_on(prepared, *shape), 1.0
        else:  # rows beyond memory: use those in memory
            objective, scale = WhitenedPosterior(prepared.in_memory, *shape), POSTERIOR_SCALE
        climbed = Recording(objective, arguments, should_stop)
        (V,) = follow(climbed, arguments["projection"], [arguments["n_iterations"]], scale, self.path.tolerance)
        return {"projection": V, "n_evaluations": climbed.n_evaluations, "stopping_reason": "converged"}


def inner_folds(n_rows: int, rarest: int) -> tuple[int, int]:
    """The number of folds that are used, and of parts that the rows are divided into; 0 folds if rows are too few.

    With very many rows, a part is as large as the sample on which candidates are found, and a single fold is enough.
    """
    n_parts = -(-n_rows // SAMPLE_ROWS)
    if n_parts > FOLDS and rarest >= ENOUGH * n_parts:
        return 1, n_parts
    n_folds = min(FOLDS, rarest)
    return (n_folds, n_folds) if n_folds > 1 else (0, 0)


def _run_all(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    return [task() for task in tasks]


def _setting(candidate: Candidate) -> Setting:
    return Setting(candidate.ridge, candidate.gamma, candidate.n_kept)


def _complexity(candidate: Candidate) -> tuple[bool, int, float, bool]:
    """A sort key, simpler first: no screening, fewer iterations, a larger ridge, and partial least squares."""
    return candidate.n_kept is not None, candidate.n_iterations, -candidate.ridge, candidate.start != "pls"


def _projections(result: Result | None, n_candidates: int) -> list[Array | None]:
    """The projections of all candidates of one unit; None for those without one."""
    if result is None:
        return [None] * n_candidates
    return [V if np.isfinite(V).all() else None for V in result["projections"]]


def _judged(
    data: Labeled, resamples: Resamples, folds: Sequence[Fold], by_fold: Sequence[Sequence[Result | None]]
) -> tuple[Array, npt.NDArray[np.intp], Array | None]:
    """Log posteriors of held-out rows (n, m), with their class codes and weights, from folds with all results."""
    parts, codes, weights = [], [], []
    for fold, results in zip(folds, by_fold, strict=True):
        judged = [result["log_posteriors"] for result in results if result is not None]
        if len(judged) == len(results):
            parts.append(np.concatenate(judged, axis=1))
            codes.append(data.hold_out((*resamples, fold)).codes)
            weights.append(data.held_out_weights((*resamples, fold)))
    if not parts:
        return np.empty((0, 0)), np.empty(0, dtype=np.intp), None
    given = [own for own in weights if own is not None]
    return np.concatenate(parts), np.concatenate(codes), np.concatenate(given) if given else None


def _rarest(codes: npt.NDArray[np.intp], groups: npt.NDArray[np.generic] | None) -> int:
    """The number of rows of the smallest class; with groups, the smallest number of groups that contain a class."""
    if groups is None:
        return int(np.bincount(codes).min())
    return min(len(np.unique(groups[codes == code])) for code in np.unique(codes))


def _count(results: Sequence[Result | None]) -> int:
    return sum(result["n_evaluations"] for result in results if result is not None)
