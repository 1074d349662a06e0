"""RemoteMELM is an estimator like any other."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from melm import MELM
from melm.remote import Client, Invalid, RemoteMELM
from melm.typing import AnyArray
from tests.running_service import RunningService
from tests.service import samples

# How the work is spread over processors, and how it is computed there, is the service's business.
LOCAL_PARAMETERS = {"n_jobs", "race", "form", "verbose", "warm_start", "callback"}

# Checks of scikit-learn that cannot apply to an estimator whose work is done elsewhere, each with the reason: none.
EXCUSED_CHECKS: dict[str, str] = {}


@pytest.mark.slow
def test_scikit_learns_own_checks_pass_against_a_running_service(service: RunningService) -> None:
    """In a process of its own: the checks of array types want a variable set before scipy is loaded."""
    program = f"""
        from sklearn.utils.estimator_checks import check_estimator
        from melm.remote import RemoteMELM
        estimator = RemoteMELM({service.url!r}, regularization=None, n_starts=2)
        results = check_estimator(estimator, expected_failed_checks={EXCUSED_CHECKS!r}, on_fail=None, on_skip=None)
        print([(r["check_name"], r["status"]) for r in results if r["status"] != "passed"], len(results) > 50)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        check=True,
    )
    assert run.stdout.strip() == "[] True", run.stdout + run.stderr


def test_the_parameters_are_those_of_melm() -> None:
    ours = RemoteMELM("http://127.0.0.1:8000").get_params()
    theirs = MELM().get_params()
    shared = set(theirs) - LOCAL_PARAMETERS - {"columns"}
    assert set(ours) - {"url", "api_key", "columns"} == shared
    assert all(ours[name] == theirs[name] for name in shared)


def test_the_result_is_the_local_one_bit_for_bit(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    remote = RemoteMELM(service.url, regularization=None, n_starts=3, random_state=5).fit(X, y)
    local = MELM(regularization=None, n_starts=3, random_state=5).fit(X, y)
    for name in ("projection_", "offset_", "classes_", "gamma_", "divergence_"):
        assert np.array_equal(getattr(remote, name), getattr(local, name)), name
    for name in ("transform", "predict", "predict_proba"):
        assert np.array_equal(getattr(remote, name)(X), getattr(local, name)(X)), name
    assert remote.score(X, y) == local.score(X, y)


def test_data_frames_give_names(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    frame = pd.DataFrame(X, columns=samples.FEATURES)
    estimator = (
        RemoteMELM(service.url, regularization=None, n_starts=2, random_state=0)
        .set_output(transform="pandas")
        .fit(frame, y)
    )
    assert list(estimator.transform(frame).columns) == ["remotemelm0", "remotemelm1"]
    with Client(service.url) as client:
        assert client.models[estimator.model_id_].describe()["feature_names"] == samples.FEATURES


def test_works_in_pipelines_and_clones(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    pipeline = make_pipeline(StandardScaler(), RemoteMELM(service.url, regularization=None, n_starts=2, random_state=0))
    search = GridSearchCV(pipeline, {"remotemelm__gamma": [0.7, np.float64(1.0)]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert clone(search.best_estimator_).fit(X, y).score(X, y) > 0.9


def test_a_fitted_estimator_can_be_pickled(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    X, y = irises
    estimator = RemoteMELM(service.url, regularization=None, n_starts=2, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(estimator))  # noqa: S301 (our own bytes)
    assert np.array_equal(copy.predict(X), estimator.predict(X))


def test_gamma_can_be_chosen_from_several(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    estimator = RemoteMELM(service.url, regularization=None, n_starts=1, gamma=[0.5, 2.0], random_state=0).fit(*irises)
    assert estimator.gamma_ in (0.5, 2.0)


def test_a_wrong_parameter_is_a_value_error(service: RunningService, irises: tuple[AnyArray, AnyArray]) -> None:
    with pytest.raises(Invalid, match="5 components are more than the 4 columns"):
        RemoteMELM(service.url, regularization=None, n_components=5).fit(*irises)
