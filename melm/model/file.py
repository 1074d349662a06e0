"""A model as one .npz file: arrays and a JSON card, no pickle, with its own format version."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from melm.density import ClassDensities
from melm.model import HeldOutRows, Model
from melm.model.card import Card, CardError, read_card
from melm.tables import npy
from melm.tables.encoding import Encoder

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT_VERSION = 1
NUMBERS = ("projection", "offset", "rows", "smoothing", "priors")
REQUIRED = (*NUMBERS, "classes", "class_sizes")
OPTIONAL = ("weights", "loadings")


class ModelFileError(ValueError):
    """The bytes are not a model that this version can read; `problems` maps JSON Pointers to messages."""

    def __init__(self, detail: str, problems: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.problems = problems or {"": detail}


def dump(model: Model) -> bytes:
    """The model as the bytes of an .npz file. Equal models give equal bytes."""
    header = {
        "format_version": FORMAT_VERSION,
        "method": model.method,
        "feature_names": model.feature_names,
        "card": model.card.model_dump(mode="json", exclude_unset=True),
        "encoder": None if model.encoder is None else model.encoder.to_json(),
        "id_name": model.id_name,
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8),
        "projection": model.projection,
        "offset": model.offset,
        "classes": _labels_without_objects(model.classes),
        "class_sizes": np.array([len(rows) for rows in model.densities.rows], dtype=np.int64),
        "rows": np.concatenate(model.densities.rows),
        "smoothing": model.densities.smoothing,
        "priors": model.densities.priors,
    }
    if model.held_out is not None:
        arrays["held_out_positions"] = model.held_out.positions
        arrays["held_out_codes"] = model.held_out.codes.astype(np.int64)
        arrays["held_out_predicted"] = model.held_out.predicted.astype(np.int64)
        if model.held_out.rows is not None:
            arrays["held_out_rows"] = model.held_out.rows.astype(np.int64)
    if model.all_loadings is not None:
        arrays["loadings"] = model.all_loadings
    if model.densities.weights is not None:
        arrays["weights"] = np.concatenate(model.densities.weights)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    return buffer.getvalue()


def load(content: bytes) -> Model:
    """Read a file written by `dump`, and check that shapes agree and every number is finite."""
    arrays = _read(content)
    header = _header(arrays)
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise ModelFileError(f"The model file has no array {missing[0]!r}.")
    d, k, n_classes = _sizes(arrays)
    return Model(
        header["method"],
        arrays["projection"],
        arrays["offset"],
        arrays["classes"],
        _densities(arrays),
        _names(header, d),
        _card(header, d, k, n_classes),
        _held_out(arrays, k, n_classes) if "held_out_positions" in arrays else None,
        _encoder(header, d),
        header.get("id_name"),
        arrays.get("loadings"),
    )


def _sizes(arrays: Arrays) -> tuple[int, int, int]:
    """Features, components and classes, once all arrays of numbers agree on them."""
    for name in (*NUMBERS, *(name for name in OPTIONAL if name in arrays)):
        if arrays[name].dtype != np.float64:
            raise ModelFileError(f"The array {name!r} of the model file is {arrays[name].dtype}, expected float64.")
        if not np.isfinite(arrays[name]).all():
            raise ModelFileError(f"The array {name!r} of the model file holds NaN or infinity.")
    projection, classes, sizes = (arrays[name] for name in ("projection", "classes", "class_sizes"))
    if projection.ndim != 2 or not 1 <= projection.shape[1] <= projection.shape[0]:
        raise ModelFileError(f"The projection of the model file has shape {projection.shape}.")
    are_labels = classes.ndim == 1 and len(classes) > 1 and classes.dtype.kind in "Ufiub"
    if not are_labels or sizes.dtype != np.int64 or sizes.shape != classes.shape or sizes.min() < 1:
        raise ModelFileError("The classes and class sizes of the model file do not fit together.")
    (d, k), n_classes, n_rows = projection.shape, len(classes), int(sizes.sum())
    shapes = {
        "offset": (d,),
        "rows": (n_rows, k),
        "smoothing": (n_classes, k, k),
        "priors": (n_classes,),
        "weights": (n_rows,),
        "loadings": (d, k),
    }
    for name, shape in shapes.items():
        if name in arrays and arrays[name].shape != shape:
            found = arrays[name].shape
            raise ModelFileError(f"The array {name!r} of the model file has shape {found}, expected {shape}.")
    return d, k, n_classes


def _densities(arrays: Arrays) -> ClassDensities:
    smoothing, priors = arrays["smoothing"], arrays["priors"]
    if np.linalg.eigvalsh(smoothing).min() <= 0 or priors.min() < 0 or abs(priors.sum() - 1) > 1e-9:
        raise ModelFileError("The densities of the model file are not valid.")
    ends = np.cumsum(arrays["class_sizes"])[:-1]
    weights = np.split(arrays["weights"], ends) if "weights" in arrays else None
    if weights and any(share.min() <= 0 or abs(share.sum() - 1) > 1e-9 for share in weights):
        raise ModelFileError("The weights of the model file are not shares that add up to 1 in each class.")
    return ClassDensities(np.split(arrays["rows"], ends), smoothing, priors, weights)


def _names(header: dict[str, Any], n_features: int) -> list[str] | None:
    names = header.get("feature_names")
    if not _is_text(header.get("id_name"), *(names if isinstance(names, list) else [names])):
        raise ModelFileError("The column names of the model file are not text.")
    if names is not None and len(names) != n_features:
        raise ModelFileError(f"The model file names {len(names)} features, its projection has {n_features}.")
    return names


def _is_text(*values: object) -> bool:
    return all(value is None or isinstance(value, str) for value in values)


def _card(header: dict[str, Any], n_features: int, n_components: int, n_classes: int) -> Card:
    try:
        return read_card(header.get("card"), n_features=n_features, n_components=n_components, n_classes=n_classes)
    except CardError as error:
        problems = {f"/card{place}": f"card{place}: {detail}" for place, detail in error.problems.items()}
        raise ModelFileError(f"The card of the model file is not valid: {error}.", problems) from None


def _encoder(header: dict[str, Any], n_features: int) -> Encoder | None:
    stored = header.get("encoder")
    if stored is None:
        return None
    try:
        encoder = Encoder.from_json(stored)
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelFileError(f"The encoder of the model file is damaged: {problem}") from None
    if len(encoder.features) != n_features:
        raise ModelFileError(f"The encoder gives {len(encoder.features)} features, the projection takes {n_features}.")
    return encoder


def _held_out(arrays: Arrays, n_components: int, n_classes: int) -> HeldOutRows:
    positions, codes, predicted = (arrays.get(f"held_out_{name}") for name in ("positions", "codes", "predicted"))
    if positions is None or codes is None or predicted is None:
        raise ModelFileError("The held-out rows of the model file are incomplete.")
    if positions.dtype != np.float64 or positions.shape[1:] != (n_components,) or not np.isfinite(positions).all():
        raise ModelFileError("The held-out positions of the model file are damaged.")
    for values in (codes, predicted):
        if (
            values.dtype != np.int64
            or values.shape != positions.shape[:1]
            or not np.isin(values, range(n_classes)).all()
        ):
            raise ModelFileError("The held-out classes of the model file are damaged.")
    rows = arrays.get("held_out_rows")
    if rows is not None and (rows.dtype != np.int64 or rows.shape != codes.shape or (rows < 0).any()):
        raise ModelFileError("The held-out row numbers of the model file are damaged.")
    return HeldOutRows(positions, codes, predicted, rows)


def _read(content: bytes) -> Arrays:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > 2 * len(content) + 2**16:
                raise ModelFileError("The model file is compressed; models are stored uncompressed.")
            return {name.removesuffix(".npy"): npy.read(archive.read(name)) for name in archive.namelist()}
    except ModelFileError:
        raise
    except Exception as problem:  # zipfile and NumPy raise many types for malformed bytes
        raise ModelFileError(f"This is not an undamaged model file: {problem}") from problem


def _header(arrays: Arrays) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(arrays["header"].tobytes())
        version = header["format_version"]
        if version != FORMAT_VERSION:
            raise ModelFileError(
                f"The model file has format version {version}; this melm reads version {FORMAT_VERSION}."
            )
        if not isinstance(header["method"], str):
            raise ModelFileError("The header of the model file is damaged.")
    except (KeyError, ValueError, TypeError, UnicodeDecodeError) as problem:
        if isinstance(problem, ModelFileError):
            raise
        raise ModelFileError("The header of the model file is missing or damaged.") from problem
    return header


def _labels_without_objects(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if classes.dtype != object:
        return classes
    if all(isinstance(label, str) for label in classes):
        return classes.astype(np.str_)
    raise ModelFileError("Labels of mixed types cannot be stored: use all strings or all numbers.")
