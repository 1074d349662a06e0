"""What the service says of its resources, as typed values."""

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
    """Values out of a JSON document. What a later service adds is not seen by an earlier client."""

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
    """What the service would read of a table, with everything that is odd about it. Nothing is stored."""

    media_type: str
    dialect: dict[str, Any] | None  # of text: encoding, delimiter, decimal
    n_rows: int
    n_unlabeled: int
    n_dropped: int
    is_complete: bool  # False where only the beginning of the file was looked at
    columns: list[dict[str, Any]]  # name, role, kind, reason, missing values and examples of each
    target: dict[str, Any] | None  # the column of labels: the one that was named, else the likeliest
    is_target_given: bool
    other_targets: list[dict[str, Any]]
    classes: list[dict[str, Any]]  # label and n_rows of each
    problems: list[dict[str, Any]]  # level, detail, places, and fixes: parameter and value


@dataclass(frozen=True)
class FitProgress(Record):
    """How far a fit has come."""

    starts_done: int
    n_starts: int | None
    best_divergence: float | None
    eta_seconds: float | None
    share_done: float | None = None  # of all the work, folds and all; a service of version 0.1 does not say
    phase: Literal["search", "evidence"] | None = None  # what a running fit is at: its model, or the evidence for it


@dataclass(frozen=True)
class FitRecord(Record):
    """A fit as it stood when the service was last asked."""

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
    n_fits: int  # how often the whole fit is run at the most, validation included
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
        """Whether the fit has yet to end."""
        return self.status in ("queued", "running")


@dataclass(frozen=True)
class MethodRecord(Record):
    """A method, and what can be set about it."""

    name: str
    title: str
    description: str
    common: bool  # whether it is one of those that people compare first
    parameters: list[dict[str, Any]]  # name, description, default, and what is accepted, as JSON Schema


@dataclass(frozen=True)
class Event(Record):
    """Something that happened to a fit. Ids grow."""

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
