"""Guesses which column of a table holds the labels, by its name, its position and its values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.tables.roles import Proposal, Role
from melm.tables.table import NO_CATEGORY, Table

MOST_CLASSES = 50
FEW_VALUES = 20  # at most so many distinct whole numbers may be classes
LOOKED_AT_ROWS = 20_000
LOOKED_AT_COLUMNS = 100
LOOKED_AT_CANDIDATES = 50
RUNNERS_UP = 3
CLASS_NAMES = """class classes target label labels y species diagnosis outcome response category cultivar digit survived
churn default fraud spam quality grade status result disease group_name
klasse klassen ziel zielgroesse art arten diagnose ergebnis kategorie sorte befund
classe cible espece especes diagnostic resultat categorie etiquette
clase clases objetivo especie especies diagnostico resultado categoria etiqueta
classi obiettivo specie diagnosi esito etichetta classificacao alvo rotulo desfecho doel soort uitkomst"""
OTHER_NAMES = "sex gender geschlecht sexe sexo genere geslacht year jahr annee ano anno jaar month day"
NAMES, UNLIKELY = frozenset(CLASS_NAMES.split()), frozenset(OTHER_NAMES.split())


@dataclass(frozen=True)
class TargetCandidate:
    """A column that may be the target, and the reasons for it."""

    name: str
    reason: str
    n_classes: int
    score: float


def guess_target(table: Table, roles: Mapping[str, Proposal]) -> list[TargetCandidate]:
    """The columns that may be the target, the most likely first."""
    rows = np.arange(min(len(table), LOOKED_AT_ROWS))
    table = table.take(rows)
    possible = [name for name in table.names if roles[name].role in (Role.NUMERIC, Role.CATEGORICAL)]
    found = [each for name in possible if (each := _describe(table, name)) is not None]
    found = sorted(found, key=lambda each: -each.score)[:LOOKED_AT_CANDIDATES]
    judged = [_with_separation(table, roles, each) for each in found]
    return sorted(judged, key=lambda each: -each.score)[: RUNNERS_UP + 1]


def _describe(table: Table, name: str) -> TargetCandidate | None:
    codes, n_classes = _classes(table, name)
    labeled = codes[codes != NO_CATEGORY]
    if not 2 <= n_classes <= MOST_CLASSES or len(labeled) <= n_classes:
        return None
    score, reasons = 0.0, []
    words = set(re.split(r"[^a-z]+", plain(name)))
    if plain(name) in NAMES:
        score, reasons = score + 10, ["named like a class"]
    elif words & NAMES:
        score, reasons = score + 4, ["a part of its name is that of a class"]
    if words & UNLIKELY:
        score -= 4
    if table.is_text(name):
        score += 2
    elif n_classes > FEW_VALUES:
        return None
    if name == table.names[-1]:
        score, reasons = score + 1.5, [*reasons, "the last column"]
    elif name == table.names[0]:
        score, reasons = score + 0.5, [*reasons, "the first column"]
    missing = 1 - len(labeled) / len(codes)
    reasons.append(f"{n_classes} different values")
    return TargetCandidate(name, ", ".join(reasons), n_classes, score - 8 * missing - n_classes / MOST_CLASSES)


def plain(name: str) -> str:
    """A name in lower case without accents."""
    decomposed = unicodedata.normalize("NFKD", name.strip().lower().replace("ß", "ss"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _classes(table: Table, name: str) -> tuple[npt.NDArray[np.intp], int]:
    """The class of each row, -1 where it has none, and the number of classes; 0 for a column with fractions."""
    if table.is_text(name):
        codes, _ = table.text(name)
        present = np.unique(codes[codes != NO_CATEGORY])
        return codes.astype(np.intp), len(present)
    values = table.number(name)
    missing = np.isnan(values)
    if not (values[~missing] == np.floor(values[~missing])).all():
        return np.full(len(values), NO_CATEGORY, np.intp), 0
    present, inverse = np.unique(values[~missing], return_inverse=True)
    codes_of_numbers = np.full(len(values), NO_CATEGORY, np.intp)
    codes_of_numbers[~missing] = inverse
    return codes_of_numbers, len(present)


def _with_separation(table: Table, roles: Mapping[str, Proposal], candidate: TargetCandidate) -> TargetCandidate:
    """Raise the score of a candidate by the share of the variance of the numeric columns between its classes."""
    codes, _ = _classes(table, candidate.name)
    labeled = codes != NO_CATEGORY
    names = [n for n in table.number_names if n != candidate.name and roles[n].role is Role.NUMERIC]
    shares = [_share_between(table.number(name)[labeled], codes[labeled]) for name in names[:LOOKED_AT_COLUMNS]]
    best = sorted(shares)[-3:]
    score = candidate.score + (3 * sum(best) / len(best) if best else 0.0)
    return TargetCandidate(candidate.name, candidate.reason, candidate.n_classes, score)


def _share_between(values: npt.NDArray[np.float64], codes: npt.NDArray[np.intp]) -> float:
    present = np.isfinite(values)
    values, codes = values[present], codes[present]
    if not len(values) or np.ptp(values) == 0:
        return 0.0
    values = (values - values.mean()) / (np.abs(values).max() or 1.0)
    total = float(np.square(values - values.mean()).sum())
    counts = np.bincount(codes)
    sums = np.bincount(codes, values)
    between = float((np.square(sums[counts > 0]) / counts[counts > 0]).sum())
    return min(between / total, 1.0) if total > 0 else 0.0
