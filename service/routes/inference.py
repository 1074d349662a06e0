"""Inference. Decoded models are cached; small requests are answered within the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from json import dumps
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from melm.tables.files import EXCEL, FORMATS
from melm.typing import ShouldStop, never
from service import examples
from service.dependencies import Body, ContextDep, ModelId, PredictTenant, authorize, get_body, get_context
from service.inference import scoring
from service.inference.direct_route import DirectResponse
from service.inference.model_cache import CachedModel
from service.intake.formats import CODECS, NamedArrays, codec_for_answer, codec_for_body
from service.intake.inspection import check_known_labels
from service.intake.memory import hold
from service.intake.rows import FOUND_OUT, ModelRows, read_rows, with_remarks
from service.intake.table_query import CSV_PARAMETERS, TableQuery, parse_query, parse_raw
from service.openapi import body, problems
from service.schemas import PredictOut, ProbabilitiesOut, ScoreOut, TransformOut
from service.security.keys import Scope

router = APIRouter(prefix="/v1/models/{model_id}", tags=["inference"])

INLINE_BYTES = 4096  # bodies up to this size may be answered in the event loop: a thread would cost more
INLINE_VIEW_BYTES = 2**22  # the same if npy is answered with npy, which is read as a view and not parsed
INLINE_PAIRS = 2**17  # rows times kernels of a model that are evaluated in the event loop: about 1 ms
CELLS_PER_PAIR = 4  # cells that are projected in the time that one kernel takes
PRINTED = 4  # numbers as text take about four times as many bytes as in memory
MATRICES = (CODECS["application/x-npy"], CODECS["application/x-npz"])
WRITTEN = (CODECS["text/csv"], CODECS[EXCEL.media_type])  # media types that the query parameters of tables apply to
CHARSET = {"text/csv": "; charset=utf-8"}
HEADERS = {kind: [(b"content-type", (kind + CHARSET.get(kind, "")).encode()), (b"vary", b"Accept")] for kind in CODECS}
MAX_HEADER = 6000  # bytes that common proxies accept
NEGOTIATED = """Body and answer may also be `text/csv`, `application/x-npy`, `application/x-npz`,
`application/vnd.apache.arrow.stream` or `application/vnd.apache.parquet`; Content-Type and Accept say which."""
ROWS = body("RowsByPosition", "RowsByName", shown=examples.ROWS) | {"parameters": CSV_PARAMETERS}
PROBLEMS = problems(400, 404, 406, 408, 410, 413, 415, 422)


async def respond(
    request: Request,
    model_id: str,
    ask: Callable[[CachedModel, ModelRows, ShouldStop], NamedArrays],
    tenant: str | None = None,
) -> Response:
    """Decode rows, apply a cached model, encode: in the event loop for small requests, otherwise in a thread.

    This path has to be fast, so it calls directly what other handlers declare as dependencies, at a tenth of the cost.
    """
    context = await get_context(request)
    tenant = authorize(request, context, Scope.PREDICT) if tenant is None else tenant
    content = await get_body(request, context)
    reader = codec_for_body(request.headers.get("content-type"))
    writer = codec_for_answer(request.headers.get("accept"), default=reader)
    is_raw = parse_raw(request.query_params)
    written = parse_query(request.query_params) if reader in WRITTEN else FOUND_OUT

    def read(cached: CachedModel) -> ModelRows:
        return read_rows(reader, content, context.settings.limits, cached.model, written)

    def work(cached: CachedModel, rows: ModelRows | None, should_stop: ShouldStop = never) -> tuple[bytes, NamedArrays]:
        rows = read(cached) if rows is None else rows
        hold(rows.X.shape[0] * cached.answer_bytes * (1 if writer in MATRICES else PRINTED))
        answer = with_remarks(ask(cached, rows, should_stop), rows, cached.model.id_name)
        if is_raw:
            answer = replace(answer, is_raw=True)
        return writer.encode(answer), answer

    # A body in a format that is not memory-safe is parsed in a child process, for which the request has to wait.
    is_small = len(content) <= INLINE_BYTES and FORMATS[reader.media_type].is_memory_safe
    is_viewed = len(content) <= INLINE_VIEW_BYTES and reader is writer is CODECS["application/x-npy"]
    at_hand = context.models.peek(tenant, model_id)
    cached = await run_in_threadpool(context.models.get, tenant, model_id) if at_hand is None else at_hand
    may_be_inline = at_hand is not None and (is_small or (is_viewed and cached.model.encoder is None))
    rows = read(cached) if may_be_inline else None
    if rows is not None and n_pairs(rows, 0 if ask is transform_rows else cached.n_kernels) <= INLINE_PAIRS:
        encoded, answer = work(cached, rows)
    else:
        encoded, answer = await context.heavy.run(request, tenant, partial(work, cached, rows))
        context.models.trim()
    context.metrics.count_payload("out", writer.media_type, len(encoded))
    headers = [(b"melm-model-id", cached.id.encode()), *HEADERS[writer.media_type]]
    if answer.warnings:
        headers.append((b"melm-warnings", as_header(answer.warnings)))
    return DirectResponse(encoded, headers)


def n_pairs(rows: ModelRows, n_kernels: int) -> int:
    """The work of a request, in kernel evaluations."""
    n_rows, n_columns = rows.X.shape
    return int(n_rows * n_kernels + n_rows * n_columns // CELLS_PER_PAIR)


def as_header(warnings: Sequence[str]) -> bytes:
    """As many of the warnings as fit into a header, as JSON."""
    shown = list(warnings)
    while len(dumps(shown)) > MAX_HEADER:
        shown.pop()
    return dumps(shown).encode()


def transform_rows(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
    """Rows in the model's projection."""
    Z = cached.model.transform(rows.X)
    return NamedArrays({"Z": Z}, tuple(f"z{index}" for index in range(Z.shape[1])), cached.id)


def predict_labels(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
    """The most probable label of each row."""
    return NamedArrays({"predictions": cached.model.predict(rows.X, should_stop)}, ("prediction",), cached.id)


def predict_probabilities(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
    """Class probabilities of each row."""
    model = cached.model
    probabilities = model.predict_proba(rows.X, should_stop)
    return NamedArrays(
        {"probabilities": probabilities, "classes": model.classes}, tuple(map(str, model.classes.tolist())), cached.id
    )


def predict_probabilities_and_density(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
    """Class probabilities and log density of each row."""
    answer = predict_probabilities(cached, rows, should_stop)
    log_density = cached.model.log_density(rows.X, should_stop)
    return NamedArrays({**answer.arrays, "log_density": log_density}, (*answer.columns, "log_density"), cached.id)


@router.post(
    "/transform",
    operation_id="transform",
    summary="Project rows",
    description=NEGOTIATED,
    response_model=TransformOut,
    responses=PROBLEMS,
    openapi_extra=ROWS,
)
async def transform(request: Request, model_id: ModelId) -> Response:
    """Rows in the model's projection."""
    return await respond(request, model_id, transform_rows)


@router.post(
    "/predict",
    operation_id="predict",
    summary="Predict labels",
    description=NEGOTIATED,
    response_model=PredictOut,
    responses=PROBLEMS,
    openapi_extra=ROWS,
)
async def predict(request: Request, model_id: ModelId) -> Response:
    """A label for each row, of the type that the training labels have."""
    return await respond(request, model_id, predict_labels)


@router.post(
    "/predict_proba",
    operation_id="predictProba",
    summary="Predict class probabilities",
    description=NEGOTIATED,
    response_model=ProbabilitiesOut,
    responses=PROBLEMS,
    openapi_extra=ROWS,
)
async def predict_proba(
    request: Request,
    tenant: PredictTenant,
    model_id: ModelId,
    log_density: Annotated[bool, Query(description="Add the log density of each row.")] = False,
) -> Response:
    """Class probabilities of each row."""
    ask = predict_probabilities_and_density if log_density else predict_probabilities
    return await respond(request, model_id, ask, tenant)


@router.post(
    "/score",
    operation_id="score",
    summary="Score a model on labeled rows",
    description="The body may also be CSV, npz, Arrow or Parquet, as for a dataset.",
    responses=PROBLEMS,
    openapi_extra=body("DataIn", shown={"labeled": examples.LABELED}),
)
async def score(
    request: Request,
    context: ContextDep,
    tenant: PredictTenant,
    model_id: ModelId,
    content: Body,
    table: TableQuery,
) -> ScoreOut:
    """Scores of a model on labeled rows."""
    codec = codec_for_body(request.headers.get("content-type"))

    def work(should_stop: ShouldStop) -> ScoreOut:
        cached = context.models.get(tenant, model_id)
        model = cached.model
        rows = read_rows(codec, content, context.settings.limits, model, table)
        hold(rows.X.shape[0] * cached.answer_bytes)
        y = check_known_labels(rows.y, rows.X.shape[0], model.classes)
        return ScoreOut(
            model_id=cached.id,
            n_rows=rows.X.shape[0],
            warnings=list(rows.warnings) or None,
            classes=model.classes.tolist(),
            **scoring.score(model, rows.X, y, should_stop),
        )

    return await context.heavy.run(request, tenant, work)
