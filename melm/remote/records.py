"""The resources of the service as typed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

from melm.remote.display import SHOWN_COLUMNS, Displayed, Summary, sizes

Label: TypeAlias = str | int | float | bool
Status: TypeAlias = Literal["queued", "running", "succeeded", "failed", "canceled"]
R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """A record from a JSON document. Fields that a later service adds are ignored."""

    @classmethod
    def of(cls: type[R], document: Mapping[str, Any]) -> R:
        """The record of a document."""
        return cls(
            **{
                f.name: read(f.name, document[f.name])
                for f in fields(cls)
                if f.name in document or f.default is MISSING
            }
        )


def read(name: str, value: Any) -> Any:
    """A value by its name: `at` and `*_at` are times."""
    return datetime.fromisoformat(value) if value is not None and (name == "at" or name.endswith("_at")) else value


@dataclass(frozen=True)
class Dataset(Displayed, Record):
    """The summary of an uploaded dataset."""

    id: str
    name: str | None
    created_at: datetime
    expires_at: datetime | None
    metadata: dict[str, str]
    content_hash: str
    n_rows: int
    n_features: int
    dtype: str
    classes: list[Label]
    class_counts: list[int]
    constant_columns: list[int]
    feature_names: list[str] | None
    columns: list[dict[str, Any]] | None  # of a table: name, role, reason, missing values and categories of each

    def _summary(self) -> Summary:
        columns = self.columns or []
        shown = [(each["name"], each["role"], each["reason"]) for each in columns[:SHOWN_COLUMNS]]
        more = len(columns) - len(shown)
        return Summary(
            f"Dataset {self.id}: {sizes(self.n_rows, self.n_features, self.classes, self.class_counts)}",
            [f"The first {len(shown)} of its {len(columns)} columns follow."] if more else [],
            header=("column", "role", "reason"),
            rows=shown,
            calls=("fit = client.fits.submit(dataset)", "client.datasets.rows(dataset)"),
        )


@dataclass(frozen=True)
class Reading(Record):
    """How the service would read a table, with all of its problems. Nothing is stored."""

    media_type: str
    dialect: dict[str, Any] | None  # of text: encoding, delimiter, decimal
    n_rows: int
    n_unlabeled: int
    n_dropped: int
    is_complete: bool  # False if only the beginning of the file was read
    columns: list[dict[str, Any]]  # name, role, kind, reason, missing values and examples of each
    target: dict[str, Any] | None  # the column of labels: the given one, else the most likely
    is_target_given: bool
    other_targets: list[dict[str, Any]]
    classes: list[dict[str, Any]]  # label and n_rows of each
    problems: list[dict[str, Any]]  # level, detail, places, and fixes: parameter and value


@dataclass(frozen=True)
class FitProgress(Record):
    """The progress of a fit."""

    starts_done: int
    n_starts: int | None
    best_divergence: float | None
    eta_seconds: float | None
    share_done: float | None = None  # of all work, validation included; None for a service of version 0.1
    phase: Literal["search", "evidence"] | None = None  # of a running fit


@dataclass(frozen=True)
class FitRecord(Record):
    """The state of a fit at the last request."""

    id: str
    name: str | None
    created_at: datetime
    expires_at: datetime | None
    metadata: dict[str, str]
    status: Status
    status_detail: str | None
    dataset_id: str
    method: str
    params: dict[str, Any]
    validation: dict[str, Any] | None
    progress: FitProgress
    n_fits: int  # the largest number of times that the fit is run, validation included
    attempts: int
    recoveries: int
    started_at: datetime | None
    ended_at: datetime | None
    error: dict[str, str] | None
    model_id: str | None
    reused: bool

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FitRecord:
        """The record of a document."""
        return super().of({**document, "progress": FitProgress.of(document["progress"])})

    @property
    def is_active(self) -> bool:
        """Whether the fit has not ended."""
        return self.status in ("queued", "running")


@dataclass(frozen=True)
class MethodRecord(Record):
    """A method and its parameters."""

    name: str
    title: str
    description: str
    common: bool  # whether it is one of the most common methods
    parameters: list[dict[str, Any]]  # name, description, default, and JSON Schema of accepted values


@dataclass(frozen=True)
class Event(Record):
    """An event of a fit. Ids increase."""

    id: str
    type: str
    at: datetime
    data: dict[str, Any]


@dataclass(frozen=True)
class ModelRecord(Record):
    """The summary of a model."""

    id: str
    name: str | None
    created_at: datetime
    expires_at: datetime | None
    metadata: dict[str, str]
    method: str
    fit_id: str | None
    dataset_id: str | None
    n_bytes: int
    digest: str
