"""The import of a model's file: checked so that no accepted model fails later, when it is used or shown."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from melm.model import Model
from melm.model import file as model_file
from service.errors import FieldError, Invalid
from service.inference.row_schema import row_schema
from service.intake.formats import Limits, npy
from service.pictures import report
from service.schemas import ModelOut
from worker.store.records import ModelRecord

ORTHONORMAL_TOLERANCE = 1e-6
UNKNOWN = ModelRecord(
    id="mdl_", created_at=datetime.fromtimestamp(0, UTC), method="", fit_id=None, dataset_id=None, n_bytes=0, digest=""
)


def read_model(content: bytes, limits: Limits) -> Model:
    """The model in an untrusted file."""
    npy.read_npz(content, limits)  # checks the size, and refuses malformed files
    try:
        with np.errstate(all="ignore"):
            model = model_file.load(content)
            use(model)
    except model_file.ModelFileError as error:
        raise Invalid(FieldError(pointer, detail) for pointer, detail in error.problems.items()) from None
    except Exception as error:  # the file is untrusted: any part of it may be wrong
        detail = f"the model's file cannot be used: {type(error).__name__} when it is shown or asked"
        raise Invalid([FieldError("", detail, "send a file that melm has written")]) from None
    V = model.projection
    if model.method == "melm" and not np.allclose(V.T @ V, np.eye(V.shape[1]), atol=ORTHONORMAL_TOLERANCE):
        raise Invalid([FieldError("/projection", "the projection's columns are not orthonormal")])
    return model


def use(model: Model) -> None:
    """Do once what the service does with a model, to find out whether it fails."""
    out = ModelOut.with_card(UNKNOWN, model)
    out.model_dump_json()
    report.render(out, model)
    row_schema(model, "")
    probabilities = model.predict_proba(np.zeros((1, len(model.projection))))
    if not np.isfinite(probabilities).all():
        raise ValueError("probabilities are not finite")
