"""The JSON bodies of requests and answers. What a fit may ask for derives from the library's registry of methods."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, create_model

from melm.evidence.validation import Validation
from melm.evidence.verdict import with_verdict
from melm.methods import METHODS
from melm.model import Model
from melm.model.card import Card
from melm.tables.problem import Problem
from melm.tables.reading import Reading
from melm.tables.roles import Role
from worker.store.records import (
    AliasRecord,
    DatasetRecord,
    Event,
    FitError,
    FitRecord,
    Label,
    ModelRecord,
    Status,
)

DEFAULT_METHOD = "melm"
T = TypeVar("T")

Row = Annotated[list[float], Field(min_length=1)]


Name = Annotated[str, Field(max_length=200)]
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=500)]], Field(max_length=50)
]


class PageOut(BaseModel, Generic[T]):
    """Some of a list, newest first."""

    data: list[T]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")


class ResourceOut(BaseModel):
    """What every resource carries."""

    id: str
    created_at: datetime
    expires_at: datetime | None = Field(description="When it will be gone; null means that it is kept.")
    name: str | None
    metadata: dict[str, str]


class RowsByPosition(BaseModel):
    """Rows whose values stand in the order of the model's columns."""

    model_config = ConfigDict(extra="forbid")

    X: Annotated[list[Row], Field(min_length=1)] = Field(description="Rows of equal length, numbers only.")


class RowsByName(BaseModel):
    """Rows that name their values, in any order."""

    model_config = ConfigDict(extra="forbid")

    rows: Annotated[list[Annotated[dict[str, float | str | bool | None], Field(min_length=1)]], Field(min_length=1)] = (
        Field(description="One object a row: column to number, or to text where the column is text; null is a gap.")
    )


class DataIn(BaseModel):
    """Labeled rows."""

    model_config = ConfigDict(extra="forbid")

    X: Annotated[list[Row], Field(min_length=1)] = Field(description="Rows of equal length, numbers only.")
    y: Annotated[list[Label], Field(min_length=1)] = Field(
        description="One label a row: all text, all whole numbers or all booleans."
    )
    feature_names: list[str] | None = Field(default=None, description="One name a column.")


class DatasetFields(BaseModel):
    """What a dataset may say of itself."""

    name: Name | None = None
    metadata: Metadata | None = None


class DatasetCreate(DatasetFields, DataIn):
    """A dataset as JSON."""


class TableCreate(RowsByName):
    """A table as JSON: rows by name, with the labels in one of the columns (`?target=`) or in `y`."""

    y: list[Label] | None = Field(default=None, description="One label a row, where no column holds them.")
    columns: dict[str, Role] | None = Field(default=None, description="Roles of columns; the others are proposed.")
    name: Name | None = None
    metadata: Metadata | None = None


class ColumnOut(BaseModel):
    """A column of a table: what it is for, why, and what is in it."""

    name: str
    role: Role
    reason: str = Field(description="Why it has this role.")
    n_missing: int = Field(description="Gaps.")
    n_categories: int | None = Field(description="How many values differ, of categories and labels.")
    categories: list[str] | None = Field(description="The first of them, in order.")


class DatasetOut(ResourceOut):
    """The summary of a dataset; its rows have an address of their own."""

    content_hash: str = Field(description="The canonical hash of the content; docs/http.md says how it is made.")
    n_rows: int
    n_features: int
    n_unlabeled: int = Field(description="Rows of the upload without a label: they are left out.")
    dtype: Literal["float64", "float32"]
    classes: list[Label]
    class_counts: list[int]
    constant_columns: list[int] = Field(description="Columns that never vary.")
    n_nonzero: int | None = Field(description="Cells of a sparse matrix that are not zero; null of a dense one.")
    feature_names: list[str] | None
    columns: list[ColumnOut] | None = Field(description="All columns of a table with their roles; null of a matrix.")

    @classmethod
    def of(cls, record: DatasetRecord) -> DatasetOut:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class RowsColumn(BaseModel):
    """Values of one column."""

    name: str
    role: Role
    values: list[Label | None] = Field(description="One value a row; null is a missing one.")


class RowsPageOut(BaseModel):
    """Some rows of a dataset, column by column."""

    dataset_id: str
    n_rows: int = Field(description="Of the whole dataset.")
    row_numbers: list[int] = Field(description="Counted from 0, in the order of upload.")
    columns: list[RowsColumn]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


class FixOut(BaseModel):
    """A parameter of the upload, and the value that would settle a problem."""

    parameter: str = Field(description="Of the query: `columns`, `missing_values`, `decimal`, ...")
    value: Any = Field(description="For `columns` an object to merge in, for `missing_values` one more text.")
    purpose: str = Field(description="When this is right, such as `where the column is text`; may be empty.")


class OddityOut(BaseModel):
    """Something odd about a table. One stands for all of its kind in a column."""

    level: Literal["error", "question", "warning"] = Field(
        description="`error`: not read until it is settled. `question`: two readings are possible, and the likelier "
        "one was taken. `warning`: something is left out or changed."
    )
    detail: str
    column: str | None
    rows: list[int] = Field(description="The first of the rows, counted from 0 as a program does.")
    lines: list[int] = Field(description="The lines of these rows in the file, counted from 1, where it has lines.")
    count: int = Field(description="How many places are like this.")
    fixes: list[FixOut] = Field(description="What would settle it, the likeliest first.")
    advice: str | None = Field(description="What to do where no parameter settles it.")

    @classmethod
    def of(cls, problem: Problem) -> OddityOut:
        """What a client sees of a problem."""
        fixes = [FixOut(**vars(fix)) for fix in problem.fixes]
        return cls(**{**vars(problem), "level": problem.level.value, "fixes": fixes})


class DialectOut(BaseModel):
    """How a file is written, as it was found out."""

    encoding: str | None
    delimiter: str | None
    decimal: str | None = Field(description="Of columns that do not tell another.")


class ColumnReadingOut(BaseModel):
    """A column as it would be read."""

    name: str
    role: str = Field(description="What it is for; `columns` sets it.")
    kind: Literal["number", "category", "boolean", "time", "text", "empty"] = Field(description="What its values are.")
    reason: str = Field(description="Why it has this role.")
    is_given: bool = Field(description="Whether the request has set the role.")
    n_missing: int
    missing_share: float
    n_distinct: int
    examples: list[str] = Field(description="The first values that differ.")


class TargetOut(BaseModel):
    """A column that may say what class a row belongs to."""

    name: str
    reason: str
    n_classes: int


class ClassOut(BaseModel):
    """A class, and how many rows it has."""

    label: Label
    n_rows: int


class ReadingOut(BaseModel):
    """What would be read of a table; nothing is stored."""

    media_type: str
    dialect: DialectOut | None = Field(description="Of text and workbooks; null of other formats.")
    n_rows: int
    n_unlabeled: int = Field(description="Rows without a label: they are left out.")
    n_dropped: int = Field(description="Labeled rows that `drop_missing` and `rare_classes` leave out.")
    is_complete: bool = Field(description="False where only the beginning of a file was looked at.")
    columns: list[ColumnReadingOut]
    target: TargetOut | None = Field(description="The column of labels: the one that was named, else the likeliest.")
    is_target_given: bool
    other_targets: list[TargetOut] = Field(description="What else may be the target, the likeliest first.")
    classes: list[ClassOut] = Field(description="The first hundred.")
    problems: list[OddityOut]

    @classmethod
    def of(cls, reading: Reading) -> ReadingOut:
        """What a client sees of a reading."""
        found = reading.dialect
        dialect = (
            None
            if found is None
            else DialectOut(encoding=reading.encoding, delimiter=found.delimiter, decimal=found.decimal)
        )
        return cls.model_validate(
            {
                **vars(reading),
                "dialect": dialect,
                "columns": [vars(column) for column in reading.columns],
                "target": None if reading.target is None else vars(reading.target),
                "other_targets": [vars(each) for each in reading.other_targets],
                "classes": [vars(each) for each in reading.classes],
                "problems": [OddityOut.of(problem) for problem in reading.problems],
            }
        )


class ValidationIn(BaseModel):
    """How often the whole fit is repeated on a part of the rows, to be judged on the rest."""

    model_config = ConfigDict(extra="forbid")

    folds: int = Field(
        default=Validation.folds, ge=2, le=20, description="Parts of the rows; fewer where a class is smaller."
    )
    repeats: int = Field(default=Validation.repeats, ge=1, le=20, description="Times that the rows are parted anew.")
    permutations: int = Field(
        default=Validation.permutations,
        ge=0,
        le=1000,
        description="Whole fits, folds and all, to shuffled labels: a p-value says whether the separation is real.",
    )
    bootstraps: int = Field(
        default=Validation.bootstraps,
        ge=0,
        le=1000,
        description="Fits to bootstrap samples: how stable the projection is, and intervals for its loadings.",
    )
    ceiling: bool = Field(
        default=Validation.ceiling,
        description="Score gradient boosting on all features on the same folds: what all columns can do. Left out "
        "where there are more than 1,000 features or 20 classes, and for sparse rows.",
    )


class FitAsk(BaseModel):
    """What fits of all methods may be asked for."""

    model_config = ConfigDict(extra="forbid")

    dataset_id: str | None = Field(default=None, description="The dataset to learn from.")
    data: DataIn | None = Field(default=None, description="The rows themselves, instead of `dataset_id`.")
    validation: ValidationIn | None = Field(
        default=ValidationIn(), description="Cross-validation of the whole fit; null switches it off."
    )
    permute_labels: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="Permute the labels by this seed first: a picture of chance to lay beside the real one. Such a fit "
        "and its model are marked by the seed, stand in no list, and the model is kept for a day.",
    )
    force: bool = Field(default=False, description="Fit anew even when an equal fit has succeeded before.")
    name: Name | None = None
    metadata: Metadata = Field(default_factory=dict)


def params_of(name: str) -> type[BaseModel]:
    """A method's own parameters, and the time budget that every fit may have."""
    budget = Field(None, gt=0, allow_inf_nan=False, description="End after this time with the best start so far.")
    parameters = METHODS[name].Parameters
    return create_model(parameters.__name__, __base__=parameters, time_budget_seconds=(float | None, budget))


def ask_for(name: str) -> type[FitAsk]:
    """The body of a fit by one method: the method's name, and its own parameters."""
    params = params_of(name)
    method: Any = (Literal[name], name if name == DEFAULT_METHOD else ...)
    return create_model(
        f"FitCreate{name.capitalize()}",
        __base__=FitAsk,
        __doc__=f"A fit by {METHODS[name].title}.",
        method=method,
        params=(params, Field(default_factory=params)),
    )


VARIANTS = {name: ask_for(name) for name in METHODS}


class ProgressOut(BaseModel):
    """How far a fit has come."""

    phase: Literal["search", "evidence"] | None = Field(
        description="What a running fit is at: its model, or the evidence for it."
    )
    share_done: float = Field(ge=0, le=1, description="Of all the work, folds and all; an estimate, 1 at the end.")
    starts_done: int
    n_starts: int | None
    best_divergence: float | None
    eta_seconds: float | None = Field(description="What remains at the pace so far; null where that is not known.")


class FitOut(ResourceOut):
    """One fit as it stands now."""

    status: Status
    status_detail: str | None = Field(description="Why nothing happens, where that is known.")
    dataset_id: str
    dataset_hash: str
    method: str
    params: dict[str, Any]
    validation: dict[str, Any] | None
    permute_labels: int | None = Field(description="The seed of a fit to permuted labels; null of all others.")
    progress: ProgressOut
    n_fits: int = Field(description="How often the whole fit is run at the most, validation included: what it costs.")
    n_units: int | None = Field(description="Units of work, about, validation included; null of fits of 0.1.")
    estimated_seconds: float | None = Field(description="How long one core would work on them, about.")
    attempts: int = Field(description="How often the fit was begun: 1, and one more for each retry.")
    recoveries: int = Field(description="Units of work taken over from a worker that was lost.")
    started_at: datetime | None
    ended_at: datetime | None
    error: FitError | None
    model_id: str | None = Field(description="The model: there before the fit ends, while evidence is gathered.")
    reused: bool = Field(description="Whether an equal fit that had succeeded before is the answer to this request.")

    @classmethod
    def of(cls, record: FitRecord, *, reused: bool = False, status_detail: str | None = None) -> FitOut:
        """What a client sees of a record."""
        progress = {name: getattr(record, name) for name in ProgressOut.model_fields}
        validation = Validation(**record.validation) if record.validation else None
        n_fits = validation.n_fits(validation.folds * validation.repeats) if validation else 1
        extra = {"progress": progress, "n_fits": n_fits, "reused": reused, "status_detail": status_detail}
        return cls.model_validate({**record.model_dump(), **extra})


class PreviewOut(BaseModel):
    """Where the best start so far places some of the rows."""

    start: int
    divergence: float
    n_judged_rows: int = Field(description="Rows on which the start was judged: a sample, or all.")
    classes: list[Label]
    rows: list[int] = Field(description="Which rows of the dataset, from 0.")
    codes: list[int] = Field(description="The class of each row, as a position in `classes`.")
    Z: list[list[float]] = Field(description="Each row in the projection.")


class EventOut(BaseModel):
    """Something that happened to a fit."""

    id: str = Field(description="Ids grow; ask for what comes `after` the last one seen.")
    type: str = Field(description="queued, started, start_done, best, model, recovered, succeeded, failed or canceled.")
    at: datetime
    data: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> EventOut:
        """What a client sees of an event."""
        return cls.model_validate(event.model_dump())


class EventsOut(BaseModel):
    """Events of a fit, oldest first."""

    data: list[EventOut]
    next_cursor: str = Field(description="The last event's id: ask for what comes `after` it.")


class ModelSummary(ResourceOut):
    """A model without its card."""

    method: str
    fit_id: str | None
    dataset_id: str | None
    n_bytes: int
    digest: str = Field(description="SHA-256 of the model's file; changes once, when the evidence comes.")

    @classmethod
    def of(cls, record: ModelRecord) -> ModelSummary:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class ModelOut(ModelSummary):
    """A model and what it says of itself."""

    feature_names: list[str] | None
    classes: list[Label]
    projection: list[list[float]] = Field(description="V: one row a feature, one column a component.")
    offset: list[float] = Field(description="Subtracted from a row before it is projected.")
    card: Card = Field(description="Parameters, divergence, validation, loadings, every start, versions.")

    @classmethod
    def with_card(cls, record: ModelRecord, model: Model) -> ModelOut:
        """What a client sees of a model."""
        return cls(
            **ModelSummary.of(record).model_dump(),
            feature_names=model.feature_names,
            classes=model.classes.tolist(),
            projection=model.projection.tolist(),
            offset=model.offset.tolist(),
            card=with_verdict(model.card),
        )


class AliasPut(BaseModel):
    """What an alias shall stand for."""

    model_config = ConfigDict(extra="forbid")

    model_id: str


class AliasOut(BaseModel):
    """A name that stands for a model."""

    alias: str
    model_id: str
    version: int = Field(description="Counts the alias's changes; its ETag.")
    updated_at: datetime

    @classmethod
    def of(cls, record: AliasRecord) -> AliasOut:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class AliasList(BaseModel):
    """All aliases, by name."""

    data: list[AliasOut]


class RowsOut(BaseModel):
    """What every answer about rows says."""

    model_id: str
    ids: list[Label] | None = Field(default=None, description="What the rows are called, where a column says it.")
    warnings: list[str] | None = Field(default=None, description="What the model made no use of, or had not seen.")


class TransformOut(RowsOut):
    """Rows in the model's projection."""

    Z: list[list[float]]


class PredictOut(RowsOut):
    """A label for each row, as the labels were given."""

    predictions: list[Label]


class ProbabilitiesOut(RowsOut):
    """Class probabilities of each row."""

    classes: list[Label]
    probabilities: list[list[float]]
    log_density: list[float | None] | None = Field(
        default=None,
        description="Log density of each row: how far it is from all training data. Null means zero density.",
    )


class ScoreOut(BaseModel):
    """How well a model does on labeled rows."""

    model_id: str
    n_rows: int
    warnings: list[str] | None = Field(default=None, description="What the model made no use of, or had not seen.")
    balanced_accuracy: float
    accuracy: float
    log_loss: float
    classes: list[Label]
    confusion: list[list[int]] = Field(description="Rows: true classes; columns: predicted ones.")
    divergence: float | None = Field(
        description="Divergence of the classes among these rows; null where it cannot be had."
    )


class SeparationIn(BaseModel):
    """Another projection of a model's features."""

    model_config = ConfigDict(extra="forbid")

    V: Annotated[list[list[FiniteFloat]], Field(min_length=1)] = Field(
        description="One row a feature, one column a component."
    )


class SeparationOut(BaseModel):
    """How far apart it keeps the classes of the training rows."""

    model_id: str
    divergence: float = Field(description="Of the class densities, as in the card.")
    leave_one_out_balanced_accuracy: float = Field(description="Each row judged by the others, as in the card.")


class HealthOut(BaseModel):
    """The process runs."""

    status: Literal["ok"]


class ReadyOut(BaseModel):
    """Whether requests can be served, and fits worked on."""

    status: Literal["ready", "not ready"]
    store: bool = Field(description="The store answers.")
    cached_models: int = Field(description="Models that can be served without the store.")
    workers: int = Field(description="Workers with a fresh heartbeat.")
    queued_fits: int
    active_fits: int
    unreadable_fits: int = Field(description="Active fits that wait for workers of another version of this program.")
    moving: bool = Field(description="Work that waits is being begun.")


class FieldErrorOut(BaseModel):
    """One thing that is wrong."""

    pointer: str = Field(description="JSON Pointer into the request.")
    detail: str
    fix: str | None = Field(default=None, description="How to mend it: the fixes and the advice, as one sentence.")
    advice: str | None = Field(default=None, description="What to do beside the fixes.")
    count: int | None = Field(default=None, description="How many equal problems this one stands for.")
    places: list[str] | None = Field(default=None, description="JSON Pointers to the first of them.")
    lines: list[int] | None = Field(default=None, description="Lines of the file, of the same places.")
    fixes: list[FixOut] | None = Field(default=None, description="Parameters with values that would settle it.")


class ProblemDocument(BaseModel):
    """Why a request was not answered (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: list[FieldErrorOut] | None = None
    n_more_errors: int | None = Field(default=None, description="Errors beyond those listed.")
