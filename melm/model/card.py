"""The card of a model: what was fitted, from what, how well it separates, and with which software.

Every key has a type and bounds. A card is validated when it is made and when a file is read, so code that shows a card
can rely on it. The reference, the JSON Schema and the validation of imported files are derived from these classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

T = TypeVar("T")

MAX_TEXT_LENGTH = 100_000  # names of columns may be very long
MAX_ITEMS = 1_000_000
MAX_LISTED = 1000  # features and columns that a card names; a model file has the loadings of all
SHOWN_PROBLEMS = 100


def _as_many_as(noun: str) -> AfterValidator:
    """Check that a list has one entry for each feature, component or class, if their number is known."""

    def check(values: list[Any], info: ValidationInfo) -> list[Any]:
        expected = (info.context or {}).get(noun)
        if expected is not None and len(values) != expected:
            raise ValueError(f"has {len(values)} entries, the model has {expected} {noun}")
        return values

    return AfterValidator(check)


PerFeature: TypeAlias = Annotated[list[T], _as_many_as("listed features")]  # those that the card names
PerComponent: TypeAlias = Annotated[list[T], _as_many_as("components")]
PerClass: TypeAlias = Annotated[list[T], _as_many_as("classes")]
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
Label: TypeAlias = str | bool | int | float
Count: TypeAlias = Annotated[int, Field(ge=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Correlation: TypeAlias = Annotated[float, Field(ge=-1 - 1e-6, le=1 + 1e-6)]  # rounding may lead beyond 1
Positive: TypeAlias = Annotated[float, Field(ge=0)]
Measured: TypeAlias = Annotated[float, AllowInfNan(True)]  # a logarithm of a density may be infinite
Unbounded: TypeAlias = Annotated[  # the same for a key that is never absent: JSON has no infinity, only null
    Measured,
    BeforeValidator(lambda value: math.nan if value is None else value),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]}),
]
Scalar: TypeAlias = str | bool | int | float | None


class Part(BaseModel):
    """Base of all parts of a card: immutable, no other keys, no conversion of types, finite numbers only."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Data(Part):
    """The training rows."""

    n_rows: int = Field(ge=2, description="Training rows.")
    n_features: int = Field(ge=1, description="Features of a row, constant ones included.")
    classes: PerClass[Label] = Field(description="The labels, in order.")
    class_counts: PerClass[Annotated[int, Field(ge=1)]] = Field(description="Training rows of each class.")
    constant_features: list[Count] = Field(max_length=MAX_ITEMS, description="Positions of features that do not vary.")
    n_more_constant_features: Count = Field(default=0, description="How many more there are.")


class Reduction(Part):
    """The directions to which a large number of rows with a large number of features was reduced before the fit."""

    n_directions: Count = Field(description="Directions that were kept: the class means' and the leading ones.")
    within_share: Share = Field(description="Share of the variance inside the classes that they keep.")
    between_share: Share = Field(description="Share of the variance between the class means that they keep.")


class Column(Part):
    """A column of the table from which features were encoded, with the joint effect of these features."""

    name: Text = Field(description="The column's name.")
    n_missing: Count = Field(description="Missing values among the training rows.")
    has_gaps: bool = Field(description="Whether they have an indicator, a feature of their own.")
    features: list[Count] = Field(max_length=MAX_ITEMS, description="Positions of the features that came from it.")
    loadings: PerComponent[Positive] = Field(description="Joint standardized loading on each axis.")
    axis_correlations: PerComponent[Share] = Field(description="Multiple correlation with each axis.")


class NumericColumn(Column):
    """A column of numbers; missing ones are replaced by the median."""

    kind: Literal["numeric"] = Field(description="Numbers.")
    median: float = Field(description="Median of the training rows.")


class TimeColumn(Column):
    """A column of dates or times; missing ones are replaced by the median."""

    kind: Literal["time"] = Field(description="Days since 1970-01-01, and phases of the day, the week and the year.")
    median: float = Field(description="Median of the training rows, in days.")
    phases: list[Text] = Field(max_length=3, description="hour, weekday, month: those that vary, as sine and cosine.")
    day_first: bool = Field(description="Whether 03/04/2024 is the third of April.")


class CategoricalColumn(Column):
    """A column of categories, one feature for each."""

    kind: Literal["categorical"] = Field(description="Categories.")
    categories: list[Text] = Field(max_length=MAX_ITEMS, description="The categories that have a feature of their own.")
    has_other: bool = Field(description="Whether the other categories share a feature.")
    rest_as: Text | None = Field(default=None, description="The category that replaces values that are too rare.")


AnyColumn: TypeAlias = NumericColumn | CategoricalColumn | TimeColumn


class Separation(Part):
    """How far the classes are apart on the training rows. These figures are optimistic."""

    divergence: Unbounded = Field(description="Cauchy-Schwarz divergence of the class densities; larger is better.")
    entropies: PerClass[PerClass[Unbounded]] | None = Field(
        default=None, description="Renyi's quadratic cross-entropies of the classes in the projection."
    )
    overlap: PerClass[PerClass[Positive]] | None = Field(
        default=None, description="Mass that two class densities share: 0 means apart, 1 means identical."
    )
    overlap_bound: PerClass[PerClass[Positive]] | None = Field(
        default=None,
        description="Bhattacharyya coefficient, which bounds the error of separating two classes.",
    )
    leave_one_out_balanced_accuracy: Share | None = Field(
        default=None, description="Balanced accuracy when each row is classified by the densities of all other rows."
    )


class Density(Part):
    """How many rows the class densities store; if these are fewer than the training rows, the resulting error."""

    n_rows: Count = Field(description="Training rows.")
    n_stored_rows: Count = Field(description="Rows that the model stores.")
    cell: float | None = Field(ge=0, description="Size of the cells whose rows were merged, in kernel widths.")
    narrowing: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Width of the kernels as a share of that in the divergence: below 1 for heavy tails.",
    )
    log_density_error: Measured | None = Field(default=None, description="Root mean square error over some rows.")
    largest_log_density_error: Measured | None = Field(default=None, description="The largest error among these rows.")
    labels_changed: Share | None = Field(default=None, description="Share of rows whose predicted label changes.")


class Start(Part):
    """One start of a search."""

    start: Count = Field(description="Its index.")
    divergence: Unbounded = Field(description="Divergence at its end; infinite if it gave no result.")
    n_rows: Count = Field(description="Rows on which the divergence was measured.")
    n_evaluations: Count = Field(description="Number of evaluations of the divergence.")
    stopping_reason: Literal["converged", "dropped", "max_iterations", "canceled", "out_of_time", "error"] = Field(
        description="Why it ended."
    )


class SearchStage(Part):
    """One stage of a search: all starts on a sample, the best of them on more rows."""

    name: Text = Field(description="Its name in the events of a fit.")
    n_rows: Count = Field(description="Rows of the sample.")
    n_starts: Count = Field(description="Starts that took part.")
    n_evaluations: Count = Field(description="Evaluations of the divergence.")


class ChosenCandidate(Part):
    """A point on a regularization path that contributes to the projection."""

    share: Share = Field(description="How often it was the best over Bayesian bootstrap draws of the held-out rows.")
    score: Measured = Field(description="Mean log posterior of held-out rows, with equal weight for each class.")
    start: Literal["pls", "informed", "race"] = Field(description="The start of its path.")
    objective: Literal["divergence", "posterior"] = Field(description="The objective of its path.")
    ridge: float = Field(ge=0, description="Ridge of its path.")
    gamma: float = Field(gt=0, description="Kernel width of its path.")
    iterations: Count = Field(description="Iterations of the optimizer before it.")
    n_kept: Count | None = Field(
        default=None,
        description="How many features it uses, those that separate the classes best on their own; null: all.",
    )


class KeptFeature(Part):
    """A feature that screening has kept."""

    feature: Text = Field(description="Its name.")
    share_of_folds: Share | None = Field(description="Share of the inner folds that keep it as well.")


class Chosen(Part):
    """What a regularized search chose, from which candidates, and with which scores."""

    by: Text = Field(description="The criterion.")
    folds: Count = Field(description="Number of inner folds of the training rows; 0 if there were too few rows.")
    n_candidates: Count = Field(description="Number of candidates.")
    score: Measured | None = Field(description="The criterion of the best candidate.")
    plain_score: Measured | None = Field(
        description="The criterion of the paper's MELM: the divergence maximized to convergence without a ridge."
    )
    candidates: list[ChosenCandidate] = Field(
        max_length=MAX_ITEMS, description="The candidates that the projection averages, the largest share first."
    )
    kept: list[KeptFeature] | None = Field(
        default=None,
        max_length=MAX_LISTED,
        description="The features that the projection uses if most were screened out; the best first.",
    )


class SearchResult(Part):
    """How the projection was found."""

    seed: Count = Field(description="Seed of the random starts.")
    best_start: Count = Field(description="The index of the start that was kept.")
    starts: list[Start] = Field(max_length=MAX_ITEMS, description="Every start.")
    stages: list[SearchStage] = Field(max_length=MAX_ITEMS, description="Every stage.")
    n_evaluations: Count = Field(description="Total number of evaluations of the divergence.")
    n_evaluations_on_all_rows: Count = Field(description="Number of evaluations on all training rows.")
    chosen: Chosen | None = Field(default=None, description="The choice of a regularized search.")


class ValidationResult(Part):
    """Cross-validation: how well the models of the folds classify held-out rows."""

    folds: int = Field(ge=2, description="Folds of one repeat.")
    repeats: int = Field(ge=1, description="Number of times the cross-validation was repeated.")
    balanced_accuracy: Share = Field(description="Mean over the folds.")
    interval: Annotated[list[Share], Field(min_length=2, max_length=2)] = Field(
        description="Confidence interval of the mean."
    )
    confidence: Share = Field(description="Confidence level of the interval.")
    scores: list[Share] = Field(max_length=MAX_ITEMS, description="Balanced accuracy of each fold.")
    recall_by_class: PerClass[Share] = Field(description="Share of each class that is recognized.")
    confusion: PerClass[PerClass[Count]] = Field(description="Rows by true class and predicted class.")
    chance: Share = Field(description="Balanced accuracy of guessing.")
    is_real: bool | None = Field(default=None, description="Only in cards of version 0.1, which have no verdict.")


class Ceiling(Part):
    """The score of a classifier on all columns, without a projection."""

    method: Text = Field(description="The classifier.")
    balanced_accuracy: Share = Field(description="Mean over the folds of one repeat.")
    scores: list[Share] = Field(max_length=MAX_ITEMS, description="Balanced accuracy of each fold.")


class PermutationTest(Part):
    """Permutation test: how often fits to permuted labels do as well as this one."""

    permutations: Count = Field(description="Number of permutations that gave a result.")
    divergences: list[Unbounded] = Field(max_length=MAX_ITEMS, description="In-sample divergence of each.")
    p_value_of_divergence: Share = Field(description="Share that reaches the model's divergence.")
    balanced_accuracies: list[Share] = Field(max_length=MAX_ITEMS, description="Held-out accuracy of each.")
    p_value_of_balanced_accuracy: Share | None = Field(description="Share that reaches the model's held-out accuracy.")


class Cosine(Part):
    """How well bootstrap fits find one direction again: 1 is a perfect match."""

    median: Share = Field(description="Over the bootstrap fits.")
    low: Share = Field(description="Its 2.5th percentile.")


class BootstrapPercentiles(Part):
    """Percentiles over bootstrap fits, one row for each feature."""

    low: PerFeature[PerComponent[float]] = Field(description="The 2.5th percentile.")
    high: PerFeature[PerComponent[float]] = Field(description="The 97.5th percentile.")


class Stability(Part):
    """Stability: whether bootstrap samples of the rows give the same projection."""

    bootstraps: int = Field(ge=1, description="Bootstrap fits that gave a result.")
    cosines: PerComponent[Cosine] = Field(description="How well bootstrap fits find each direction again.")
    loadings: BootstrapPercentiles = Field(description="Percentiles of the standardized loadings.")
    axis_correlations: BootstrapPercentiles = Field(description="Percentiles of the correlations with the axes.")


class Importance(Part):
    """Permutation importance: what is lost when a column is shuffled among the rows."""

    columns: list[Text] = Field(max_length=MAX_ITEMS, description="Names of the columns; of many, the strongest.")
    n_more_columns: Count = Field(default=0, description="How many more there are.")
    divergence_drop: list[Unbounded] = Field(max_length=MAX_ITEMS, description="Drop of the in-sample divergence.")
    balanced_accuracy_drop: list[float] = Field(max_length=MAX_ITEMS, description="Drop of the held-out accuracy.")


class Software(Part):
    """Software that computed the fit."""

    versions: dict[Text, Text] = Field(max_length=100, description="Versions of the libraries.")
    python: Text = Field(description="Version of Python.")
    machine: Text = Field(description="Processor family. Equal fits give equal bits on one family.")


class Citation(Part):
    """How to cite."""

    paper: Text = Field(description="The method.")
    software: Text = Field(description="This software.")


class VerdictLevel(StrEnum):
    """How far the separation in the picture holds on new rows."""

    UNKNOWN = "unknown"
    NOISE = "noise"
    WEAK = "weak"
    PARTIAL = "partial"
    CLEAR = "clear"


class Verdict(Part):
    """What the evidence says about a fit, in words."""

    level: VerdictLevel = Field(strict=False, description="How far the separation holds on new rows.")
    sentence: str = Field(max_length=2000, description="What a person can rely on.")
    next: str = Field(max_length=2000, description="What to do next.")

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.next}"


Evidence: TypeAlias = Literal["validation", "permutation_test", "stability", "ceiling"]


class Card(Part):
    """The description of a model: how it was fitted, what it shows, and how far it can be relied on."""

    method: Text = Field(description="Name of the method.")
    gamma: float = Field(gt=0, description="Kernel width, as a multiple of Silverman's rule.")
    priors: PerClass[Share] = Field(description="Prior probability of each class.")
    data: Data = Field(description="The training rows.")
    features: PerFeature[Text] = Field(
        description="Names of the features; of many, of those with the largest loadings."
    )
    feature_positions: PerFeature[Count] | None = Field(
        default=None, description="Their positions among all features. Null where all are named."
    )
    n_more_features: Count = Field(default=0, description="How many more there are.")
    loadings: PerFeature[PerComponent[float]] = Field(description="Standardized loadings, one row for each feature.")
    axis_correlations: PerFeature[PerComponent[Correlation]] = Field(description="Correlations of features with axes.")
    columns: list[Annotated[AnyColumn, Field(discriminator="kind")]] | None = Field(
        max_length=MAX_ITEMS, description="Columns of the table, where features were encoded."
    )
    n_more_columns: Count = Field(default=0, description="How many more there are, with smaller loadings.")
    reduction: Reduction | None = Field(default=None, description="Null unless there were too many rows and features.")
    in_sample: Separation | None = Field(description="Null if the projection has no density.")
    density: Density = Field(description="The stored class densities.")
    software: Software = Field(description="Software that computed the fit.")
    citation: Citation = Field(description="How to cite.")
    warnings: list[Text] = Field(max_length=MAX_ITEMS, description="What to know before trusting the model.")
    search: SearchResult | None = Field(
        default=None, description="How the projection was found; null for methods that do not search."
    )
    parameters: dict[Text, Scalar | list[Scalar]] | None = Field(
        default=None, max_length=100, description="Parameters of the method, defaults included."
    )
    verdict: Verdict | None = Field(default=None, description="What the evidence says; cards of 0.1 have none.")
    permute_labels: int | None = Field(
        default=None, ge=0, description="Seed of the permuted labels, for a fit whose picture shows chance."
    )
    validation: ValidationResult | None = Field(default=None, description="Null if the fit was not validated.")
    ceiling: Ceiling | None = Field(default=None, description="Null unless requested, and if the data are too large.")
    permutation_test: PermutationTest | None = Field(default=None, description="Null unless requested.")
    stability: Stability | None = Field(default=None, description="Null unless bootstraps were requested.")
    importance: Importance | None = Field(default=None, description="Null if the fit was not validated.")
    missing_evidence: list[Evidence] = Field(
        default_factory=list,
        max_length=len(get_args(Evidence)),
        description="Requested evidence that is missing: not computed yet, or never, if the fit ended early.",
    )

    def with_warnings(self, added: Sequence[str]) -> Card:
        """The card with more warnings."""
        return self.model_copy(update={"warnings": [*self.warnings, *added]})


class CardError(ValueError):
    """A card is not valid; `problems` maps JSON Pointers to messages."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{pointer}: {detail}" for pointer, detail in problems.items()))


def read_card(stored: object, *, n_features: int, n_components: int, n_classes: int) -> Card:
    """Validate JSON values from an untrusted source as the card of a model with these dimensions."""
    more = stored.get("n_more_features", 0) if isinstance(stored, dict) else 0
    listed = n_features - more if isinstance(more, int) else n_features
    sizes = {"listed features": listed, "components": n_components, "classes": n_classes}
    try:
        return Card.model_validate(stored, context=sizes)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:SHOWN_PROBLEMS]
        raise CardError(
            {pointer_to(each["loc"]): each["msg"].removeprefix("Value error, ") for each in found}
        ) from None


def pointer_to(location: tuple[int | str, ...]) -> str:
    """A JSON Pointer to a key of the card."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in location)
