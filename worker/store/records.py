"""What is stored: datasets, fits, models, aliases, events."""

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
    """Where a fit stands."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


ACTIVE = frozenset({Status.QUEUED, Status.RUNNING})


class Record(BaseModel):
    """Something stored. Records never change in place: the store makes a new one from what is there."""

    model_config = ConfigDict(frozen=True)


class Resource(Record):
    """What every resource carries."""

    id: str
    schema_version: int = SCHEMA_VERSION
    created_at: datetime
    expires_at: datetime | None = None
    name: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)


class ColumnRecord(Record):
    """A column of a table: what it is for, why, and what is in it."""

    name: str
    role: str  # numeric, categorical, id, group, ignore or target
    reason: str
    n_missing: int
    n_categories: int | None  # of text
    categories: list[str] | None  # the first of them


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
    text_names: list[str] = Field(default_factory=list)  # features that are text
    has_part: bool = False  # whether there is more than X and y
    info_hash: str | None = None  # of the columns that are shown and no more, where there are any
    n_nonzero: int | None = None  # cells of a sparse matrix; None of one that is stored whole
    first_rows: list[int] = Field(default_factory=list)  # of the blocks of a sparse matrix, whose sizes differ

    @property
    def address(self) -> str:
        """What the dataset is found by: what a fit sees of it, and what is only shown."""
        return self.content_hash if self.info_hash is None else f"{self.content_hash}+{self.info_hash}"


class FitError(Record):
    """Why a fit or one of its units gave nothing."""

    type: str
    message: str


class FitRecord(Resource):
    """One fit as it stands now."""

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
    share_done: float  # of all the work, by estimate
    share_before: float  # what of it was done when the fit was begun: not nothing, after a retry
    attempts: int  # how often the fit was begun: 1, and one more for each retry
    recoveries: int  # units taken over from a worker that was lost
    cancel: str  # "keep_best" or "out_of_time" while such a fit is brought to its early end
    error: FitError | None
    model_id: str | None
    permute_labels: int | None = None  # the seed of a fit to permuted labels, which no list shows
    n_units: int | None = None  # about how many it was estimated to take,
    estimated_seconds: float | None = None  # and for how long one core would work on them

    @property
    def is_active(self) -> bool:
        """Whether the fit has yet to end."""
        return self.status in ACTIVE

    @property
    def eta_seconds(self) -> float | None:
        """The time that the remaining work would take at the pace since the fit was begun."""
        since = self.share_done - self.share_before
        if self.status is not Status.RUNNING or since <= 0 or self.started_at is None:
            return None
        elapsed = (datetime.now(UTC) - self.started_at).total_seconds()
        return max(elapsed, 0.0) * (1 - self.share_done) / since

    @property
    def phase(self) -> Literal["search", "evidence"] | None:
        """What a running fit is at: its model, or the evidence for it."""
        if self.status is not Status.RUNNING:
            return None
        return "search" if self.model_id is None else "evidence"


class ModelRecord(Resource):
    """An immutable model: its file and its card are read by themselves."""

    method: str
    fit_id: str | None
    dataset_id: str | None
    n_bytes: int
    digest: str  # SHA-256 of the file, hexadecimal


class AliasRecord(Record):
    """A name that stands for a model. The version counts its changes."""

    alias: str
    model_id: str
    version: int
    updated_at: datetime


class Event(Record):
    """Something that happened to a fit. Ids grow."""

    id: str
    type: str
    at: datetime
    data: dict[str, Any]


class FitSubmission(Record):
    """What is asked of a fit. `params` are complete: defaults filled in by whoever submits."""

    dataset_id: str
    dataset_hash: str
    info_hash: str | None = None  # a picture shows the columns of its own dataset: a model of another is no answer
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
    """What became of a submission."""

    CREATED = "created"
    REUSED = "reused"  # an equal fit had succeeded before
    REPLAYED = "replayed"  # the same idempotency key made this fit before


class Idempotency(Record):
    """A client's key for one request, and the hash of what was sent under it."""

    key: str
    body_hash: str


class Lease(Record):
    """A unit that one process works on. The fence grows with every lease of the fit; only the latest may write."""

    tenant: str
    fit_id: str
    unit: str  # of several short ones, their names with tabs between
    fence: int
    process: str

    @property
    def value(self) -> str:
        """As it is stored, under its process."""
        return f"{self.tenant}\n{self.fit_id}\n{self.unit}\n{self.fence}"


class WorkerHealth(Record):
    """Whether fits are being worked on."""

    workers: list[str]
    queued_fits: int
    active_fits: int
    unreadable_fits: int  # stored by another version of this program than that of the worker who met them
    claimed_at: datetime | None
    moving: bool


class Page(BaseModel, Generic[T]):
    """Some of a list, newest first, and where the next page begins."""

    model_config = ConfigDict(frozen=True)

    data: list[T]
    next_cursor: str | None = None
