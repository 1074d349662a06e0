"""All classes at once give what each gives by itself."""

import numpy as np
import pytest

from melm.density.kernels import Kernels
from melm.density.together import Together


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_equals_the_classes_one_by_one(n_components: int, weighted: bool) -> None:
    rng = np.random.default_rng(n_components)
    classes = []
    for n_rows in (1, 7, 30):
        factor = rng.normal(size=(n_components, n_components))
        weights = rng.dirichlet(np.ones(n_rows)) if weighted else None
        rows = rng.normal(size=(n_rows, n_components))
        classes.append(Kernels.prepare(rows, factor @ factor.T + np.eye(n_components), weights))
    Z = np.vstack([rng.normal(size=(5, n_components)), np.full((1, n_components), 1e200)])
    one_by_one = np.column_stack([kernels.log_density(Z @ kernels.basis) for kernels in classes])
    np.testing.assert_allclose(Together.prepare(classes).log_densities(Z), one_by_one, rtol=1e-12)


def test_no_query_no_density() -> None:
    kernels = Kernels.prepare(np.zeros((3, 2)), np.eye(2))
    assert Together.prepare([kernels, kernels]).log_densities(np.empty((0, 2))).shape == (0, 2)
