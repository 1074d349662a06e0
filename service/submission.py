"""The body of a fit: parsed, completed with defaults, and checked against the dataset and the limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from pydantic import BaseModel, ValidationError

from melm.evidence.validation import Validation
from melm.methods import METHODS
from melm.typing import AnyArray
from service.errors import FieldError, Invalid
from service.intake.formats import Limits, json
from service.intake.inspection import check_training_data
from service.intake.wording import as_field_errors, did_you_mean
from service.schemas import DEFAULT_METHOD, VARIANTS, FitAsk
from service.settings import ServiceSettings
from worker.store import Store
from worker.store.records import DatasetRecord, FitSubmission

ENVELOPE = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class SubmittedRows:
    """Labeled rows in the body."""

    X: AnyArray
    y: AnyArray
    feature_names: tuple[str, ...] | None


@dataclass(frozen=True)
class Ask:
    """A parsed body: the request, and its rows if it has any."""

    fit: FitAsk
    rows: SubmittedRows | None

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self.fit.method)  # type: ignore[attr-defined]  # each variant has its own

    @property
    def params(self) -> BaseModel:
        """The method's parameters, defaults filled in."""
        return cast(BaseModel, self.fit.params)  # type: ignore[attr-defined]  # each variant has its own


def parse(body: bytes, limits: Limits) -> Ask:
    """Parse a body: its rows by the fast decoder, the rest by pydantic. The errors of both are reported together."""
    errors: list[FieldError] = []
    rows, members = None, {}
    try:
        raw = ENVELOPE.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        members = json.parse(body)
        if not isinstance(members, dict):
            raise Invalid([FieldError("", "is not an object", 'send {"dataset_id": ..., "params": {...}}')]) from None
    else:
        try:
            if "data" in raw and bytes(raw["data"]) != b"null":
                table = json.decode(bytes(raw["data"]), limits, pointer="/data")
                rows = SubmittedRows(*check_training_data(table, "/data"), table.feature_names)
        except Invalid as error:
            errors += error.errors
        members = {name: parse_member(value) for name, value in raw.items() if name != "data"}
    if (members.get("dataset_id") is None) == (rows is None) and not errors:
        errors.append(FieldError("", "exactly one of dataset_id and data is needed"))
    variant = VARIANTS.get(method) if isinstance(method := members.get("method", DEFAULT_METHOD), str) else None
    if variant is None:
        errors.append(FieldError("/method", f"{method!r} is not a method", did_you_mean(str(method), VARIANTS)))
        raise Invalid(errors)
    try:
        fit = variant.model_validate(members)
    except ValidationError as error:
        errors += as_field_errors(error.errors(), members, variant)
    if errors:
        raise Invalid(errors)
    return Ask(fit, rows)


def parse_member(value: msgspec.Raw) -> Any:
    """Any JSON value; by the fast parser if it is valid JSON."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return json.parse(bytes(value))


def dataset_of(ask: Ask, store: Store, tenant: str) -> DatasetRecord:
    """The dataset that is named, or a new one with the rows of the body."""
    if ask.rows is None:
        return store.datasets.get(tenant, ask.fit.dataset_id or "")
    record, _ = store.datasets.create(tenant, ask.rows.X, ask.rows.y, feature_names=ask.rows.feature_names)
    return record


def complete(ask: Ask, dataset: DatasetRecord, settings: ServiceSettings) -> FitSubmission:
    """The submission, checked against the dataset and the limits."""
    params = ask.params.model_dump(mode="json")
    work = work_of(ask, dataset)
    errors = list(misfits(params, dataset, settings)) or list(excess(work, settings))
    if errors:
        raise Invalid(errors)
    fit = ask.fit
    budget = params.pop("time_budget_seconds")  # not a parameter of the model, so it is stored separately
    return FitSubmission(
        dataset_id=dataset.id,
        dataset_hash=dataset.content_hash,
        info_hash=dataset.info_hash,
        method=ask.method,
        params=params,
        validation=None if fit.validation is None else fit.validation.model_dump(mode="json"),
        permute_labels=fit.permute_labels,
        n_starts=METHODS[ask.method].n_starts(ask.params),
        time_budget_seconds=budget,
        n_units=work.n_units,
        estimated_seconds=work.estimated_seconds,
        name=fit.name,
        metadata=fit.metadata,
        force=fit.force,
    )


@dataclass(frozen=True)
class Work:
    """The estimated cost of a fit."""

    n_units: int
    estimated_seconds: float


def work_of(ask: Ask, dataset: DatasetRecord) -> Work:
    """Estimate the number of units of a fit and their computing time on one core."""
    validation, method = ask.fit.validation, METHODS[ask.method]
    n_fits, share = 1, 1.0
    if validation is not None:
        described = Validation(**validation.model_dump())
        n_fits = described.n_fits(validation.folds * validation.repeats)
        share = described.share_of_model
    seconds = method.estimated_seconds(ask.params, dataset.class_counts, dataset.n_features)
    return Work(n_fits * method.n_units(ask.params), seconds / share)


def excess(work: Work, settings: ServiceSettings) -> Iterator[FieldError]:
    """Errors if the whole fit exceeds the limits, although each of its parameters is within its own."""
    fix = "ask for fewer permutations, bootstraps, repeats, folds, starts or gammas"
    if work.n_units > settings.max_units:
        limit = f"more than the limit of {settings.max_units:,}"
        yield FieldError("", f"the fit would take about {work.n_units:,} units of work, {limit}", fix)
    if work.estimated_seconds > settings.max_estimated_seconds:
        limit = f"more than the limit of {settings.max_estimated_seconds:,.0f}"
        detail = f"the fit would take about {work.estimated_seconds:,.0f} seconds of one core, {limit}"
        yield FieldError("", detail, f"{fix}; or fit a sample of the rows")


def misfits(params: dict[str, Any], dataset: DatasetRecord, settings: ServiceSettings) -> Iterator[FieldError]:
    """Parameters that are valid in general, but not for this dataset or this service."""
    n_components = params.get("n_components")
    if isinstance(n_components, int) and n_components > dataset.n_features and not dataset.text_names:
        detail = f"{n_components} components are more than the {dataset.n_features} columns of the dataset"
        yield FieldError("/params/n_components", detail, f"ask for at most {dataset.n_features}")
    n_starts = params.get("n_starts") or 0
    if n_starts > settings.max_starts:
        yield FieldError("/params/n_starts", f"{n_starts} starts are more than the limit of {settings.max_starts}")
    budget = params.get("time_budget_seconds") or 0
    if budget > settings.max_time_budget_seconds:
        detail = f"{budget:g} seconds are more than the limit of {settings.max_time_budget_seconds:g}"
        yield FieldError("/params/time_budget_seconds", detail)
    priors = params.get("priors")
    if isinstance(priors, list) and len(priors) != len(dataset.classes):
        yield FieldError("/params/priors", f"there are {len(priors)} priors for {len(dataset.classes)} classes")
