"""Upgrades: the fields of a fit that an earlier version of this program has stored, brought to the present version.

A change of what is stored of a fit raises `SCHEMA_VERSION` and adds a step here. A worker takes the step when it claims
the fit; whoever only reads takes it in memory. Fields that are merely added, with a default, need neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from worker.store.errors import UnknownSchema
from worker.store.records import SCHEMA_VERSION

Fields = dict[str, str]

# From each version that can still be read, the fields of the next one. None was ever stored but the first.
STEPS: dict[int, Callable[[Fields], Fields]] = {}


def upgraded(fit_id: str, fields: Mapping[str, str]) -> Fields:
    """The fields of a fit as the present version has them. Those of a later version stay as they are."""
    current = dict(fields)
    while (version := int(current["schema_version"])) < SCHEMA_VERSION:
        if version not in STEPS:
            raise UnknownSchema("fit", fit_id, version)
        current = STEPS[version](current) | {"schema_version": str(version + 1)}
    return current
