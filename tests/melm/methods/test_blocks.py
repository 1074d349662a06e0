"""Methods and their evidence on rows beyond memory: as in memory where sums suffice, and the same by files and Dask."""

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from melm.evidence.validation import Validation
from melm.methods import METHODS, fit
from melm.model import Model

N_ROWS, BLOCK = 6000, 1024
NAMES = [f"x{j}" for j in range(5)]
SUMS = ("pca", "cpca", "2epca", "ppca", "gem", "lda")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.data.row_blocks.block_rows", lambda n_features: BLOCK)


@pytest.fixture(scope="module", name="X")
def rows() -> npt.NDArray[np.float64]:
    generator = np.random.default_rng(0)
    centers = np.array([[0, 0, 0, 0, 0], [1.5, 0, 0, 0, 0], [0, 1.5, 0, 0, 0]])
    X: npt.NDArray[np.float64] = (
        generator.standard_normal((N_ROWS, 5)) * [1, 2, 3, 4, 5] + centers[np.arange(N_ROWS) % 3] + 7
    )
    X[:, 4] = 3.0  # constant
    return X


@pytest.fixture(scope="module", name="y")
def labels() -> npt.NDArray[np.intp]:
    return np.arange(N_ROWS) % 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, X: Any, y: Any) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({**columns, "kind": y}), folder / "rows.parquet", row_group_size=700)
    return folder


@pytest.mark.parametrize("method", SUMS)
@pytest.mark.parametrize("options", [{}, {"standardize": False}])
def test_what_needs_sums_finds_what_it_finds_in_memory(
    method: str, options: dict[str, Any], folder: Path, X: Any, y: Any
) -> None:
    if method == "lda" and options:
        options = {"covariance": "empirical"}
    mine, its = fit(method, folder, "kind", **options), fit(method, X, y, **options)
    np.testing.assert_allclose(mine.projection, its.projection, atol=1e-9)
    np.testing.assert_allclose(mine.offset, its.offset, atol=1e-9)
    assert mine.feature_names == NAMES
    assert (mine.predict(X) == its.predict(X)).mean() > 0.99
    assert mine.card.data.n_rows == N_ROWS


def test_those_are_all_methods_that_take_such_rows() -> None:
    taking = {name for name, method in METHODS.items() if getattr(method, "takes_blocks", name == "melm")}
    assert taking == {*SUMS, "melm"}


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(SUMS) - {"melm"}))
def test_others_are_refused(method: str, folder: Path) -> None:
    with pytest.raises(ValueError, match="needs all rows in memory"):
        fit(method, folder, "kind")


def by_dask(method: str, X: Any, y: Any, validation: Validation, **options: Any) -> Model:
    with dask.config.set(scheduler="synchronous"):
        rows, labels = da.from_array(X, chunks=(BLOCK, -1)), da.from_array(y, chunks=BLOCK)
        return fit(method, rows, labels, validation=validation, **options)


def test_the_evidence_is_of_all_rows_and_the_same_by_files_and_dask(
    folder: Path, X: Any, y: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("melm.data.labeled_blocks.SAMPLE_ROWS", 1500)
    validation = Validation(folds=3, permutations=3, bootstraps=2)
    streamed = fit("lda", folder, "kind", validation=validation)
    card = streamed.card
    assert card.validation is not None
    assert np.sum(card.validation.confusion) == N_ROWS
    in_memory = fit("lda", X, y, validation=Validation(folds=3)).card.validation
    assert in_memory is not None
    assert card.validation.balanced_accuracy == pytest.approx(in_memory.balanced_accuracy, abs=0.03)
    assert card.permutation_test is not None
    assert card.permutation_test.p_value_of_balanced_accuracy == 0.25
    assert np.mean(card.permutation_test.balanced_accuracies) == pytest.approx(1 / 3, abs=0.03)
    assert card.stability is not None
    assert card.stability.cosines[0].median > 0.95
    assert card.importance is not None
    assert np.argmax(card.importance.balanced_accuracy_drop) in (0, 1)
    assert card.missing_evidence == []
    assert streamed.held_out is not None
    assert streamed.held_out.rows is not None
    assert (streamed.held_out.codes == y[streamed.held_out.rows]).all()
    other = by_dask("lda", X, y, validation)
    assert other.card.validation == card.validation
    assert other.card.permutation_test == card.permutation_test
    assert other.card.stability == card.stability
    assert other.card.importance == card.importance


@pytest.mark.parametrize("options", [{"regularization": None, "gamma": [0.7, 1.0]}, {"max_iterations": 4}])
def test_choices_inside_folds_are_made_on_the_sample(options: dict[str, Any], folder: Path, X: Any, y: Any) -> None:
    options |= {"n_starts": 2}
    validation = Validation(folds=2)
    streamed = fit("melm", folder, "kind", validation=validation, **options)
    assert streamed.card.validation is not None
    assert np.sum(streamed.card.validation.confusion) == N_ROWS
    assert streamed.card.validation.balanced_accuracy > 0.4
    other = by_dask("melm", X, y, validation, **options)
    assert other.projection.tobytes() == streamed.projection.tobytes()
    assert other.card.validation == streamed.card.validation
