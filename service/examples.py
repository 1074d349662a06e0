"""The examples in the OpenAPI document, all about one small dataset of irises."""

from __future__ import annotations

from typing import Any

AT = "2026-11-17T20:00:00Z"
LATER = "2026-11-17T20:00:03Z"
DATASET_ID = "ds_01KA9M3V7W8X9Y0Z1A2B3C4D5E"
FIT_ID = "fit_01KA9M4A7W8X9Y0Z1A2B3C4D5E"
MODEL_ID = "mdl_01KA9M4D7W8X9Y0Z1A2B3C4D5E"
HASH = "sha256:8c843ade8e4b91a147ffded0d97012058dd9ea2b220b343fd1081b2c28ceea61"
CLASSES = ["setosa", "virginica"]
NAMES = ["sepal_length", "sepal_width"]

DATASET_CREATE: dict[str, Any] = {
    "X": [[5.1, 3.5], [4.9, 3.0], [6.3, 3.3], [5.8, 2.7]],
    "y": ["setosa", "setosa", "virginica", "virginica"],
    "feature_names": NAMES,
    "name": "irises",
}
TABLE_CREATE: dict[str, Any] = {
    "rows": [
        {"plant": "A1", "sepal_length": 5.1, "garden": "north", "species": "setosa"},
        {"plant": "A2", "sepal_length": None, "garden": "south", "species": "setosa"},
        {"plant": "B1", "sepal_length": 6.3, "garden": "north", "species": "virginica"},
        {"plant": "B2", "sepal_length": 5.8, "garden": None, "species": "virginica"},
    ],
    "columns": {"plant": "id", "species": "target"},
    "name": "irises with missing values",
}
DATASET: dict[str, Any] = {
    "id": DATASET_ID,
    "created_at": AT,
    "expires_at": None,
    "name": "irises",
    "metadata": {},
    "content_hash": HASH,
    "n_rows": 4,
    "n_features": 2,
    "dtype": "float64",
    "classes": CLASSES,
    "class_counts": [2, 2],
    "constant_columns": [],
    "feature_names": NAMES,
    "columns": None,
}
ROWS_PAGE: dict[str, Any] = {
    "dataset_id": DATASET_ID,
    "n_rows": 4,
    "row_numbers": [0, 2],
    "columns": [
        {"name": "sepal_length", "role": "numeric", "values": [5.1, 6.3]},
        {"name": "sepal_width", "role": "numeric", "values": [3.5, None]},
        {"name": "species", "role": "target", "values": CLASSES},
    ],
    "next_offset": None,
}
FIT_CREATE: dict[str, dict[str, Any]] = {
    "defaults": {"dataset_id": DATASET_ID, "params": {}},
    "chosen": {
        "dataset_id": DATASET_ID,
        "params": {"n_components": 1, "gamma": "auto", "n_starts": 32, "seed": 7},
        "validation": {"folds": 5, "repeats": 2},
        "name": "first try",
        "metadata": {"project": "irises"},
    },
    "another method": {"dataset_id": DATASET_ID, "method": "pca", "params": {"n_components": 1}},
}
FIT: dict[str, Any] = {
    "id": FIT_ID,
    "created_at": AT,
    "expires_at": None,
    "name": "first try",
    "metadata": {"project": "irises"},
    "status": "running",
    "status_detail": None,
    "dataset_id": DATASET_ID,
    "dataset_hash": HASH,
    "method": "melm",
    "params": {"n_components": 1, "gamma": 1.0, "n_starts": 16, "seed": 7},
    "validation": None,
    "permute_labels": None,
    "progress": {
        "phase": "search",
        "share_done": 0.4,
        "starts_done": 5,
        "n_starts": 16,
        "best_divergence": 6.94,
        "eta_seconds": 1.2,
    },
    "n_fits": 1,
    "n_units": 4,
    "estimated_seconds": 0.2,
    "attempts": 1,
    "recoveries": 0,
    "started_at": AT,
    "ended_at": None,
    "error": None,
    "model_id": None,
    "reused": False,
}
EVENT: dict[str, Any] = {
    "id": "1794945600000-0",
    "type": "start_done",
    "at": LATER,
    "data": {"start": 4, "divergence": 6.94, "seconds": 0.21},
}
MODEL_SUMMARY: dict[str, Any] = {
    "id": MODEL_ID,
    "created_at": LATER,
    "expires_at": None,
    "name": None,
    "metadata": {},
    "method": "melm",
    "fit_id": FIT_ID,
    "dataset_id": DATASET_ID,
    "n_bytes": 4096,
    "digest": HASH.removeprefix("sha256:"),
}
MODEL: dict[str, Any] = {
    **MODEL_SUMMARY,
    "feature_names": NAMES,
    "classes": CLASSES,
    "projection": [[0.8], [-0.6]],
    "offset": [5.525, 3.125],
    "card": {"method": "melm", "gamma": 1.0, "in_sample": {"divergence": 6.94}},
}
ALIAS: dict[str, Any] = {"alias": "champion", "model_id": MODEL_ID, "version": 1, "updated_at": LATER}
ROWS: dict[str, dict[str, Any]] = {
    "by position": {"X": [[5.1, 3.5], [6.3, 3.3]]},
    "by name": {"rows": [{"sepal_width": 3.5, "sepal_length": 5.1}]},
}
LABELED: dict[str, Any] = {"X": [[5.1, 3.5], [6.3, 3.3]], "y": CLASSES}
STREAM = 'id: 1794945600000-0\nevent: start_done\ndata: {"id": "1794945600000-0", "type": "start_done"}\n\n'
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 540 540"></svg>'
METRICS = 'melm_requests_total{method="POST",route="/v1/models/{model_id}/predict",status="200"} 42.0\n'

OF_SCHEMAS: dict[str, dict[str, Any]] = {
    "DatasetOut": DATASET,
    "RowsPageOut": ROWS_PAGE,
    "FitOut": FIT,
    "EventOut": EVENT,
    "ModelSummary": MODEL_SUMMARY,
    "ModelOut": MODEL,
    "AliasPut": {"model_id": MODEL_ID},
    "AliasOut": ALIAS,
    "TransformOut": {"model_id": MODEL_ID, "Z": [[0.2], [0.8]]},
    "PredictOut": {"model_id": MODEL_ID, "predictions": CLASSES},
    "SeparationIn": {"V": [[0.6], [0.8]]},
    "SeparationOut": {"model_id": MODEL_ID, "divergence": 3.1, "leave_one_out_balanced_accuracy": 0.97},
    "HealthOut": {"status": "ok"},
    "ReadyOut": {
        "status": "ready",
        "store": True,
        "cached_models": 1,
        "workers": 1,
        "queued_fits": 0,
        "active_fits": 1,
        "unreadable_fits": 0,
        "moving": True,
    },
    "ProblemDocument": {
        "type": "urn:melm:problem:not-found",
        "title": "Not Found",
        "status": 404,
        "detail": f"There is no fit '{FIT_ID}'.",
        "request_id": "5f0c2d7e9a1b3c4d",
    },
}
