"""The JSON bodies of requests and responses. The body of a fit is built from the library's registry of methods."""

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
    """One page of a list, newest first."""

    data: list[T]
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")


class ResourceOut(BaseModel):
    """The fields that all resources have."""

    id: str
    created_at: datetime
    expires_at: datetime | None = Field(description="When the resource will be deleted; null means never.")
    name: str | None
    metadata: dict[str, str]


class RowsByPosition(BaseModel):
    """Rows whose values are in the order of the model's columns."""

    model_config = ConfigDict(extra="forbid")

    X: Annotated[list[Row], Field(min_length=1)] = Field(description="Rows of equal length, numbers only.")


class RowsByName(BaseModel):
    """Rows as objects: each value is given by the name of its column, in any order."""

    model_config = ConfigDict(extra="forbid")

    rows: Annotated[list[Annotated[dict[str, float | str | bool | None], Field(min_length=1)]], Field(min_length=1)] = (
        Field(description="One object per row, from column name to number or text; null is a missing value.")
    )


class DataIn(BaseModel):
    """Labeled rows."""

    model_config = ConfigDict(extra="forbid")

    X: Annotated[list[Row], Field(min_length=1)] = Field(description="Rows of equal length, numbers only.")
    y: Annotated[list[Label], Field(min_length=1)] = Field(
        description="One label per row: all strings, all integers or all booleans."
    )
    feature_names: list[str] | None = Field(default=None, description="One name per column.")


class DatasetFields(BaseModel):
    """The optional name and metadata of a dataset."""

    name: Name | None = None
    metadata: Metadata | None = None


class DatasetCreate(DatasetFields, DataIn):
    """A dataset as JSON."""


class TableCreate(RowsByName):
    """A table as JSON: rows as objects, with the labels in one of the columns (`?target=`) or in `y`."""

    y: list[Label] | None = Field(default=None, description="One label per row, if no column holds the labels.")
    columns: dict[str, Role] | None = Field(
        default=None, description="Roles by column name; the roles of other columns are inferred."
    )
    name: Name | None = None
    metadata: Metadata | None = None


class ColumnOut(BaseModel):
    """A column of a table: its role, the reason for it, and its content."""

    name: str
    role: Role
    reason: str = Field(description="Why the column has this role.")
    n_missing: int = Field(description="The number of missing values.")
    n_categories: int | None = Field(description="The number of distinct values of a categorical or target column.")
    categories: list[str] | None = Field(description="The first distinct values, sorted.")


class DatasetOut(ResourceOut):
    """The summary of a dataset, without its rows."""

    content_hash: str = Field(description="SHA-256 hash of the content; docs/http.md defines it.")
    n_rows: int
    n_features: int
    n_unlabeled: int = Field(description="Rows of the upload without a label, which were left out.")
    dtype: Literal["float64", "float32"]
    classes: list[Label]
    class_counts: list[int]
    constant_columns: list[int] = Field(description="Columns with a single value.")
    n_nonzero: int | None = Field(description="Nonzero entries of a sparse matrix; null for a dense one.")
    feature_names: list[str] | None
    columns: list[ColumnOut] | None = Field(description="All columns of a table with their roles; null for a matrix.")

    @classmethod
    def of(cls, record: DatasetRecord) -> DatasetOut:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class RowsColumn(BaseModel):
    """Values of one column."""

    name: str
    role: Role
    values: list[Label | None] = Field(description="One value per row; null is a missing value.")


class RowsPageOut(BaseModel):
    """A page of rows of a dataset, column by column."""

    dataset_id: str
    n_rows: int = Field(description="The number of rows of the whole dataset.")
    row_numbers: list[int] = Field(description="The rows of this page, counted from 0 in the order of upload.")
    columns: list[RowsColumn]
    next_offset: int | None = Field(description="Offset of the next page; null on the last page.")


class FixOut(BaseModel):
    """A query parameter of the upload, with a value that resolves a problem."""

    parameter: str = Field(description="A query parameter: `columns`, `missing_values`, `decimal`, ...")
    value: Any = Field(description="For `columns` an object to merge, for `missing_values` one more string.")
    purpose: str = Field(description="When this fix applies, such as `where the column is text`; may be empty.")


class OddityOut(BaseModel):
    """A problem found in a table. Equal problems in one column are reported once."""

    level: Literal["error", "question", "warning"] = Field(
        description="`error`: the table is refused until it is resolved. `question`: the table is ambiguous, and the "
        "likelier interpretation was used. `warning`: something is left out or changed."
    )
    detail: str
    column: str | None
    rows: list[int] = Field(description="The first affected rows, counted from 0.")
    lines: list[int] = Field(description="The lines of these rows in a text file, counted from 1.")
    count: int = Field(description="The number of affected places.")
    fixes: list[FixOut] = Field(description="Parameters that would resolve it, the most likely first.")
    advice: str | None = Field(description="What to do if no parameter resolves it.")

    @classmethod
    def of(cls, problem: Problem) -> OddityOut:
        """What a client sees of a problem."""
        fixes = [FixOut(**vars(fix)) for fix in problem.fixes]
        return cls(**{**vars(problem), "level": problem.level.value, "fixes": fixes})


class DialectOut(BaseModel):
    """The detected format of a text file or workbook."""

    encoding: str | None
    delimiter: str | None
    decimal: str | None = Field(description="The decimal separator of columns without one of their own.")


class ColumnReadingOut(BaseModel):
    """A column as it would be stored."""

    name: str
    role: str = Field(description="The role of the column; the parameter `columns` sets it.")
    kind: Literal["number", "category", "boolean", "time", "text", "empty"] = Field(
        description="The type of its values."
    )
    reason: str = Field(description="Why the column has this role.")
    is_given: bool = Field(description="Whether the request sets the role.")
    n_missing: int
    missing_share: float
    n_distinct: int
    examples: list[str] = Field(description="The first distinct values.")


class TargetOut(BaseModel):
    """A column that may hold the class labels."""

    name: str
    reason: str
    n_classes: int


class ClassOut(BaseModel):
    """A class and its number of rows."""

    label: Label
    n_rows: int


class ReadingOut(BaseModel):
    """How a table would be stored (`dry_run`)."""

    media_type: str
    dialect: DialectOut | None = Field(description="For text and workbooks; null for other formats.")
    n_rows: int
    n_unlabeled: int = Field(description="Rows without a label, which are left out.")
    n_dropped: int = Field(description="Labeled rows that `drop_missing` and `rare_classes` leave out.")
    is_complete: bool = Field(description="False if only the beginning of the file was read.")
    columns: list[ColumnReadingOut]
    target: TargetOut | None = Field(description="The column of labels: the given one, else the most likely.")
    is_target_given: bool
    other_targets: list[TargetOut] = Field(description="Other columns that may be the target, the most likely first.")
    classes: list[ClassOut] = Field(description="The first 100 classes.")
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
    """Cross-validation of the whole fit, and further evidence that is gathered after it."""

    model_config = ConfigDict(extra="forbid")

    folds: int = Field(
        default=Validation.folds, ge=2, le=20, description="Number of folds; fewer if a class has fewer rows."
    )
    repeats: int = Field(
        default=Validation.repeats,
        ge=1,
        le=20,
        description="How often cross-validation is repeated, with other folds.",
    )
    permutations: int = Field(
        default=Validation.permutations,
        ge=0,
        le=1000,
        description="Permutation test: the number of cross-validated fits to permuted labels, which give a p-value.",
    )
    bootstraps: int = Field(
        default=Validation.bootstraps,
        ge=0,
        le=1000,
        description="Fits to bootstrap samples, for the stability of the projection and intervals of its loadings.",
    )
    ceiling: bool = Field(
        default=Validation.ceiling,
        description="Score gradient boosting on all features and the same folds, for comparison. Skipped for more than "
        "1,000 features or 20 classes, and for sparse rows.",
    )


class FitAsk(BaseModel):
    """The fields of a fit that do not depend on the method."""

    model_config = ConfigDict(extra="forbid")

    dataset_id: str | None = Field(default=None, description="The dataset to learn from.")
    data: DataIn | None = Field(default=None, description="The rows themselves, instead of `dataset_id`.")
    validation: ValidationIn | None = Field(
        default=ValidationIn(), description="Cross-validation of the whole fit; null disables it."
    )
    permute_labels: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="Permute the labels with this seed before the fit, to compare it with a fit to the true labels. "
        "Such a fit and its model carry the seed and do not appear in lists; the model is kept for one day.",
    )
    force: bool = Field(default=False, description="Run the fit even if an equal fit has succeeded before.")
    name: Name | None = None
    metadata: Metadata = Field(default_factory=dict)


def params_of(name: str) -> type[BaseModel]:
    """A method's own parameters, with the time budget that all fits accept."""
    budget = Field(None, gt=0, allow_inf_nan=False, description="End the fit after this time with the best start.")
    parameters = METHODS[name].Parameters
    return create_model(parameters.__name__, __base__=parameters, time_budget_seconds=(float | None, budget))


def ask_for(name: str) -> type[FitAsk]:
    """The request body of a fit by one method: the method's name and parameters."""
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
    """The progress of a fit."""

    phase: Literal["search", "evidence"] | None = Field(
        description="The phase of a running fit: the search for the model, or the evidence for it."
    )
    share_done: float = Field(ge=0, le=1, description="Estimated share of all work, validation included; 1 at the end.")
    starts_done: int
    n_starts: int | None
    best_divergence: float | None
    eta_seconds: float | None = Field(description="Estimated remaining time; null if unknown.")


class FitOut(ResourceOut):
    """A fit and its current state."""

    status: Status
    status_detail: str | None = Field(description="Why the fit does not progress, if that is known.")
    dataset_id: str
    dataset_hash: str
    method: str
    params: dict[str, Any]
    validation: dict[str, Any] | None
    permute_labels: int | None = Field(description="The seed of a fit to permuted labels; else null.")
    progress: ProgressOut
    n_fits: int = Field(description="The largest number of times that the fit is run, validation included.")
    n_units: int | None = Field(
        description="Estimated units of work, validation included; null for fits of version 0.1."
    )
    estimated_seconds: float | None = Field(description="Estimated computing time, in seconds of one core.")
    attempts: int = Field(description="How often the fit was begun: 1, plus the number of retries.")
    recoveries: int = Field(description="Units of work that were taken over from a lost worker.")
    started_at: datetime | None
    ended_at: datetime | None
    error: FitError | None
    model_id: str | None = Field(description="The model; available before the fit ends, while evidence is gathered.")
    reused: bool = Field(description="Whether this response is an equal fit that had succeeded before.")

    @classmethod
    def of(cls, record: FitRecord, *, reused: bool = False, status_detail: str | None = None) -> FitOut:
        """What a client sees of a record."""
        progress = {name: getattr(record, name) for name in ProgressOut.model_fields}
        validation = Validation(**record.validation) if record.validation else None
        n_fits = validation.n_fits(validation.folds * validation.repeats) if validation else 1
        extra = {"progress": progress, "n_fits": n_fits, "reused": reused, "status_detail": status_detail}
        return cls.model_validate({**record.model_dump(), **extra})


class PreviewOut(BaseModel):
    """Some rows in the projection of the best start so far."""

    start: int
    divergence: float
    n_judged_rows: int = Field(description="Number of rows on which the start was evaluated: a sample, or all.")
    classes: list[Label]
    rows: list[int] = Field(description="Row numbers in the dataset, counted from 0.")
    codes: list[int] = Field(description="The class of each row, as an index into `classes`.")
    Z: list[list[float]] = Field(description="The projected rows.")


class EventOut(BaseModel):
    """An event in the life of a fit."""

    id: str = Field(description="Ids increase; pass the last one as `after` to get the events that follow.")
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
    next_cursor: str = Field(description="The id of the last event; pass it as `after` to get the events that follow.")


class ModelSummary(ResourceOut):
    """A model without its card."""

    method: str
    fit_id: str | None
    dataset_id: str | None
    n_bytes: int
    digest: str = Field(description="SHA-256 of the model's file; it changes once, when the evidence is added.")

    @classmethod
    def of(cls, record: ModelRecord) -> ModelSummary:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class ModelOut(ModelSummary):
    """A model with its projection and card."""

    feature_names: list[str] | None
    classes: list[Label]
    projection: list[list[float]] = Field(description="V: one row per feature, one column per component.")
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
    """The model that an alias is to name."""

    model_config = ConfigDict(extra="forbid")

    model_id: str


class AliasOut(BaseModel):
    """A name for a model."""

    alias: str
    model_id: str
    version: int = Field(description="The number of changes of the alias, which is also its ETag.")
    updated_at: datetime

    @classmethod
    def of(cls, record: AliasRecord) -> AliasOut:
        """What a client sees of a record."""
        return cls.model_validate(record.model_dump())


class AliasList(BaseModel):
    """All aliases, by name."""

    data: list[AliasOut]


class RowsOut(BaseModel):
    """The fields that all responses about rows have."""

    model_id: str
    ids: list[Label] | None = Field(default=None, description="The ids of the rows, if a column holds them.")
    warnings: list[str] | None = Field(default=None, description="Input that the model ignored, and unseen categories.")


class TransformOut(RowsOut):
    """Rows in the model's projection."""

    Z: list[list[float]]


class PredictOut(RowsOut):
    """A label for each row, of the type that the training labels have."""

    predictions: list[Label]


class ProbabilitiesOut(RowsOut):
    """Class probabilities of each row."""

    classes: list[Label]
    probabilities: list[list[float]]
    log_density: list[float | None] | None = Field(
        default=None,
        description="Log density of each row, which is low far from all training data. Null means zero density.",
    )


class ScoreOut(BaseModel):
    """Scores of a model on labeled rows."""

    model_id: str
    n_rows: int
    warnings: list[str] | None = Field(default=None, description="Input that the model ignored, and unseen categories.")
    balanced_accuracy: float
    accuracy: float
    log_loss: float
    classes: list[Label]
    confusion: list[list[int]] = Field(description="Rows: true classes; columns: predicted ones.")
    divergence: float | None = Field(
        description="Divergence of the classes among these rows; null if it cannot be computed."
    )


class SeparationIn(BaseModel):
    """Another projection of a model's features."""

    model_config = ConfigDict(extra="forbid")

    V: Annotated[list[list[FiniteFloat]], Field(min_length=1)] = Field(
        description="One row per feature, one column per component."
    )


class SeparationOut(BaseModel):
    """How well a projection separates the classes of the training rows."""

    model_id: str
    divergence: float = Field(description="Divergence of the class densities, as in the card.")
    leave_one_out_balanced_accuracy: float = Field(description="Leave-one-out balanced accuracy, as in the card.")


class HealthOut(BaseModel):
    """The process runs."""

    status: Literal["ok"]


class ReadyOut(BaseModel):
    """Whether the service can answer requests and run fits."""

    status: Literal["ready", "not ready"]
    store: bool = Field(description="Whether the store answers.")
    cached_models: int = Field(description="Number of models that can be used without the store.")
    workers: int = Field(description="Number of workers with a recent heartbeat.")
    queued_fits: int
    active_fits: int
    unreadable_fits: int = Field(description="Active fits that wait for workers of another version of melm.")
    moving: bool = Field(description="Whether workers take up queued work.")


class FieldErrorOut(BaseModel):
    """One error in a request."""

    pointer: str = Field(description="JSON Pointer into the request.")
    detail: str
    fix: str | None = Field(default=None, description="How to correct it: `fixes` and `advice` as one sentence.")
    advice: str | None = Field(default=None, description="What to do, in addition to `fixes`.")
    count: int | None = Field(default=None, description="The number of equal errors that this entry stands for.")
    places: list[str] | None = Field(default=None, description="JSON Pointers to the first of them.")
    lines: list[int] | None = Field(default=None, description="The lines of these places in the file.")
    fixes: list[FixOut] | None = Field(default=None, description="Query parameters with values that would resolve it.")


class ProblemDocument(BaseModel):
    """Why a request failed (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: list[FieldErrorOut] | None = None
    n_more_errors: int | None = Field(default=None, description="The number of errors that are not listed.")
