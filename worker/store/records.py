"""The stored records: datasets, fits, models, aliases, events."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
DEFAULT_TENANT = "default"

T = TypeVar("T")
Label = bool | int | float | str


class Status(StrEnum):
    """The status of a fit."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


ACTIVE = frozenset({Status.QUEUED, Status.RUNNING})


class Record(BaseModel):
    """Base class of records, which are immutable snapshots of the store."""

    model_config = ConfigDict(frozen=True)


class Resource(Record):
    """The fields that all resources have."""

    id: str
    schema_version: int = SCHEMA_VERSION
    created_at: datetime
    expires_at: datetime | None = None
    name: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)


class ColumnRecord(Record):
    """A column of a table: its role, the reason for it, and its content."""

    name: str
    role: str  # numeric, categorical, id, group, ignore or target
    reason: str
    n_missing: int
    n_categories: int | None  # of text
    categories: list[str] | None  # the first ones


class DatasetRecord(Resource):
    """The summary of a stored (X, y)."""

    content_hash: str
    n_rows: int
    n_features: int
    dtype: str
    classes: list[Label]
    class_counts: list[int]
    constant_columns: list[int]
    feature_names: list[str] | None
    n_bytes: int
    n_blocks: int
    columns: list[ColumnRecord] | None = None  # of a table
    n_unlabeled: int = 0  # rows of the upload without a label, which are left out
    text_names: list[str] = Field(default_factory=list)  # categorical features
    has_part: bool = False  # whether there is a `TablePart`
    info_hash: str | None = None  # of the columns that are only shown, if there are any
    n_nonzero: int | None = None  # nonzero entries of a sparse matrix; None for a dense one
    first_rows: list[int] = Field(default_factory=list)  # of the blocks of a sparse matrix, which differ in size

    @property
    def address(self) -> str:
        """The key by which equal datasets are found: the hashes of all columns."""
        return self.content_hash if self.info_hash is None else f"{self.content_hash}+{self.info_hash}"


class FitError(Record):
    """Why a fit or one of its units failed."""

    type: str
    message: str


class FitRecord(Resource):
    """A fit and its current state."""

    dataset_id: str
    dataset_hash: str
    method: str
    params: dict[str, Any]
    validation: dict[str, Any] | None
    library_version: str
    status: Status
    started_at: datetime | None
    ended_at: datetime | None
    deadline: datetime | None
    stage: str | None
    n_starts: int | None
    starts_done: int
    best_divergence: float | None
    share_done: float  # estimated share of all work
    share_before: float  # that share when the fit was begun; not zero after a retry
    attempts: int  # how often the fit was begun: 1, plus the number of retries
    recoveries: int  # units that were taken over from a lost worker
    cancel: str  # "keep_best" or "out_of_time" while the fit is ended early
    error: FitError | None
    model_id: str | None
    permute_labels: int | None = None  # the seed of a fit to permuted labels, which is not listed
    n_units: int | None = None  # estimated number of units
    estimated_seconds: float | None = None  # estimated computing time on one core

    @property
    def is_active(self) -> bool:
        """Whether the fit has not ended."""
        return self.status in ACTIVE

    @property
    def eta_seconds(self) -> float | None:
        """The estimated remaining time, at the average speed since the fit was begun."""
        since = self.share_done - self.share_before
        if self.status is not Status.RUNNING or since <= 0 or self.started_at is None:
            return None
        elapsed = (datetime.now(UTC) - self.started_at).total_seconds()
        return max(elapsed, 0.0) * (1 - self.share_done) / since

    @property
    def phase(self) -> Literal["search", "evidence"] | None:
        """The phase of a running fit: the search for the model, or the evidence for it."""
        if self.status is not Status.RUNNING:
            return None
        return "search" if self.model_id is None else "evidence"


class ModelRecord(Resource):
    """The record of a model, without its file and card."""

    method: str
    fit_id: str | None
    dataset_id: str | None
    n_bytes: int
    digest: str  # SHA-256 of the file, hexadecimal


class AliasRecord(Record):
    """A name for a model. The version counts its changes."""

    alias: str
    model_id: str
    version: int
    updated_at: datetime


class Event(Record):
    """An event of a fit. Ids increase."""

    id: str
    type: str
    at: datetime
    data: dict[str, Any]


class FitSubmission(Record):
    """The submission of a fit. `params` are complete, with all defaults."""

    dataset_id: str
    dataset_hash: str
    info_hash: str | None = None  # of the shown columns, so that fits with other ones are not equal
    method: str
    params: dict[str, Any]
    validation: dict[str, Any] | None = None
    permute_labels: int | None = None
    n_starts: int | None = None
    time_budget_seconds: float | None = None
    n_units: int | None = None  # estimates
    estimated_seconds: float | None = None
    name: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    force: bool = False


class SubmitOutcome(StrEnum):
    """The outcome of a submission."""

    CREATED = "created"
    REUSED = "reused"  # an equal fit had succeeded before
    REPLAYED = "replayed"  # the same idempotency key made this fit before


class Idempotency(Record):
    """The idempotency key of a request, and the hash of the request."""

    key: str
    body_hash: str


class Lease(Record):
    """The lease of a unit by a process. `fence`, the fencing token, grows with each lease of the fit."""

    tenant: str
    fit_id: str
    unit: str  # its name; several short ones are separated by tabs
    fence: int
    process: str

    @property
    def value(self) -> str:
        """Its stored form."""
        return f"{self.tenant}\n{self.fit_id}\n{self.unit}\n{self.fence}"


class WorkerHealth(Record):
    """The health of workers and queues."""

    workers: list[str]
    queued_fits: int
    active_fits: int
    unreadable_fits: int  # of versions that some worker could not read
    claimed_at: datetime | None
    moving: bool


class Page(BaseModel, Generic[T]):
    """A page of a list, newest first, with the cursor of the next page."""

    model_config = ConfigDict(frozen=True)

    data: list[T]
    next_cursor: str | None = None
