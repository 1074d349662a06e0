"""Linear discriminant analysis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from melm.data.axes import orient
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.prepared_rows import PreparedRows
from melm.methods.base import DirectMethod, LinearMap, StandardizedParameters
from melm.plan import Resamples
from melm.typing import Matrix


class LdaParameters(StandardizedParameters):
    """Parameters of a linear discriminant analysis."""

    n_components: int | None = Field(  # type: ignore[assignment]
        None,
        ge=1,
        description="Dimensions of the projection, at most one fewer than there are classes; null: as many, up to 2.",
    )


class Lda(DirectMethod[LdaParameters]):
    """Directions in which the class means lie farthest apart, in units of the spread inside the classes.

    `covariance` also chooses the estimate of that spread: "empirical" is Fisher's, "ledoit_wolf" shrinks it. The spread
    inside the classes becomes one along each axis. There are at most as many directions as classes less one; asking for
    more is an error.
    """

    name = "lda"
    title = "Linear discriminant analysis"
    orthonormal = False
    depends_on_axes = True
    common = True
    takes_blocks = True
    Parameters = LdaParameters

    def check(self, prepared: PreparedRows, parameters: LdaParameters) -> None:
        n_classes = len(prepared.rows.counts)
        most = min(n_classes - 1, prepared.n_dimensions)
        if parameters.n_components is not None and parameters.n_components > most:
            raise ValueError(
                f"Linear discriminant analysis of {n_classes} classes in {prepared.n_dimensions} dimensions has at "
                f"most {most} components, got n_components={parameters.n_components}."
            )

    def _project_standardized(self, X: Matrix, codes: npt.NDArray[np.intp], parameters: LdaParameters) -> LinearMap:
        return self.project(X, codes, parameters)  # the projection does not depend on the scale of the features

    def project(self, X: Matrix, codes: npt.NDArray[np.intp], parameters: LdaParameters) -> LinearMap:
        return _discriminants(PreparedRows.prepare(X, codes, int(codes.max()) + 1, parameters.covariance), parameters)

    def project_blocks(
        self, data: LabeledBlocks, resamples: Resamples, parameters: LdaParameters, standardized: bool
    ) -> LinearMap:
        return _discriminants(data.prepare(parameters.covariance, resamples), parameters)


def _discriminants(prepared: PreparedRows, parameters: LdaParameters) -> LinearMap:
    n_components = parameters.n_components or min(2, len(prepared.counts) - 1, prepared.n_dimensions)
    shares = np.array(prepared.counts) / sum(prepared.counts)
    # In whitened coordinates the covariance inside the classes is the identity, so only their means matter.
    means = np.sqrt(shares)[:, None] * prepared.whitening.means
    directions = np.linalg.svd(means, full_matrices=False)[2][:n_components].T
    return LinearMap(orient(prepared.to_features(directions)), prepared.rows.center)


METHOD = Lda()
