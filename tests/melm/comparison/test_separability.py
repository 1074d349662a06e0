from __future__ import annotations

import numpy as np
import pytest

from melm.comparison import separability
from melm.comparison.classifiers import ClassifierName, train
from melm.comparison.separability import visual_separability
from melm.methods import fit
from melm.typing import Array
from tests.melm.samples import blobs, mixture


def test_distant_classes_are_perfectly_separable_and_equal_ones_not_at_all() -> None:
    apart = visual_separability(*blobs(12.0))
    assert (apart.svm, apart.knn, apart.kde, apart.mean) == (1, 1, 1, 1)
    mixed = visual_separability(*blobs(0.0, n_rows=1000))
    assert mixed.mean == pytest.approx(0.5, abs=0.05)


def test_is_the_mean_of_three_and_reproducible() -> None:
    Z, y = mixture([50, 40], 2)
    first, again = visual_separability(Z, y, seed=3), visual_separability(Z, y, seed=3)
    assert first == again
    assert first != visual_separability(Z, y, seed=4)
    assert first.mean == pytest.approx(np.mean([first.svm, first.knn, first.kde]))


def test_chance_is_that_of_balanced_classes() -> None:
    Z, y = blobs(0.0, n_rows=1200)
    rare = (y == 0) | (np.arange(1200) % 12 == 1)  # one row of class 1 for six of class 0
    assert visual_separability(Z[rare], y[rare]).mean == pytest.approx(0.5, abs=0.06)


def test_ranks_pictures_as_the_eye_does() -> None:
    X, y = blobs(6.0, n_features=5)
    X[:, 1:] *= 20  # the widest axes say nothing
    models = {name: fit(name, X, y, standardize=False) for name in ("pca", "lda")}
    by_method = {name: visual_separability(model.transform(X), y).mean for name, model in models.items()}
    assert by_method["lda"] > 0.95 > 0.6 > by_method["pca"]


def test_classifiers_never_see_the_rows_that_judge_them(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y = mixture([25, 25], 2)
    seen: list[set[bytes]] = []
    judged: list[set[bytes]] = []

    def watch(name: ClassifierName, rows: Array, codes: Array, settings: object) -> object:
        classify = train(name, rows, codes, settings)  # type: ignore[arg-type]
        seen.append({row.tobytes() for row in rows})

        def judge(hidden: Array) -> object:
            judged.append({row.tobytes() for row in hidden})
            return classify(hidden)

        return judge

    monkeypatch.setattr(separability, "train", watch)
    visual_separability(Z, y)
    assert len(seen) == len(judged) == 15
    assert all(not shown & hidden and len(shown | hidden) == 50 for shown, hidden in zip(seen, judged, strict=True))


def test_small_classes_get_fewer_folds_and_bad_input_its_words() -> None:
    Z, y = mixture([20, 3], 2)
    assert 0 <= visual_separability(Z, y).mean <= 1
    with pytest.raises(ValueError, match="At least two classes"):
        visual_separability(Z, np.zeros(23))
    with pytest.raises(ValueError, match="folds=1"):
        visual_separability(Z, y, folds=1)
