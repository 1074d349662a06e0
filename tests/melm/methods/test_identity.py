from __future__ import annotations

import numpy as np
import pytest

from melm.methods import fit
from tests.melm.samples import mixture


def test_leaves_rows_as_they_are() -> None:
    X, y = mixture([30, 20], 7)
    model = fit("identity", X, y)
    assert model.transform(X).tobytes() == X.tobytes()


def test_has_no_number_of_components_to_choose() -> None:
    with pytest.raises(ValueError, match="n_components"):
        fit("identity", *mixture([30, 20], 7), n_components=2)


def test_its_classifier_is_that_of_melm_on_all_features() -> None:
    X, y = mixture([60, 40], 2)
    identity, melm = fit("identity", X, y), fit("melm", X, y, regularization=None, n_starts=1)
    np.testing.assert_allclose(identity.predict_proba(X), melm.predict_proba(X), atol=1e-9)
