"""Errors cross processes, as grid searches make them do."""

from __future__ import annotations

import pickle

from melm.remote import FitFailed, Invalid


def test_problems_survive_pickling() -> None:
    document = {"title": "No", "detail": "why", "errors": [{"pointer": "/y", "detail": "one class", "fix": None}]}
    problem = Invalid(422, document, 1.0)
    copy = pickle.loads(pickle.dumps(problem))  # noqa: S301 (our own bytes)
    assert type(copy) is Invalid
    assert vars(copy) == vars(problem)
    assert str(copy) == "one class"


def test_ends_of_fits_survive_pickling() -> None:
    copy = pickle.loads(pickle.dumps(FitFailed("fit_1", "no start gave a result")))  # noqa: S301 (our own bytes)
    assert (copy.fit_id, str(copy)) == ("fit_1", "no start gave a result")
