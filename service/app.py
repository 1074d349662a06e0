"""The application: creates all objects of the service and connects them."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

from service import openapi, problems
from service.dependencies import Context
from service.inference.direct_route import DirectRoutes
from service.inference.model_cache import ModelCache
from service.inference.training_rows import TrainingRows
from service.intake.memory import Memory
from service.operation import logs
from service.operation.heavy_work import HeavyWork
from service.operation.metrics import Metrics, shared_folder
from service.operation.observation import Observation
from service.operation.pulse import Pulse
from service.routes import (
    aliases,
    datasets,
    fits,
    inference,
    methods,
    models,
    operation,
    page,
    report,
    rows,
    samples,
    separation,
)
from service.security.keys import Keyring
from service.security.origin import OriginGuard
from service.security.rate_limit import RateLimit
from service.settings import ServiceSettings
from worker.engine import CeleryDispatcher, Dispatcher, Engine, Reconciler, Watch, open_engine

DESCRIPTION = """Supervised linear projections by maximum entropy linear manifold and other methods.

Upload a **dataset**, submit a **fit**, follow it, and use the **model** that it leaves behind to transform rows and to
predict labels. Errors are problem documents (RFC 9457) that list everything that is wrong at once."""

COLLECTION_THRESHOLD = 50_000  # new objects between two collections


def create_app(store: Engine, dispatcher: Dispatcher, settings: ServiceSettings) -> FastAPI:
    """The service on a store, with workers behind a dispatcher."""
    pulse = Pulse(store)
    metrics = Metrics(pulse)
    log = logs.RequestLog()
    context = Context(
        store=store,
        dispatcher=dispatcher,
        settings=settings,
        keyring=Keyring(settings.keys, Path(settings.keys_file) if settings.keys_file else None),
        rate_limit=RateLimit(settings.requests_per_second, folder / "rates" if (folder := shared_folder()) else None),
        models=ModelCache(store, settings.model_cache_bytes, settings.model_check_seconds),
        training_rows=TrainingRows(store),
        metrics=metrics,
        watch=Watch(settings),
        heavy=HeavyWork(settings.heavy_threads, settings.max_work_seconds),
        pulse=pulse,
    )

    store.connection.has_many_tenants = lambda: bool(settings.user_header) or context.keyring.n_tenants > 1

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        reconciler = Reconciler(store, dispatcher)
        reconciler.start()
        async with context.watch:
            yield
        await run_in_threadpool(reconciler.stop)
        log.write()

    app = FastAPI(
        title="melm",
        version=version("melm"),
        summary="Projections that people can look at.",
        description=DESCRIPTION,
        root_path=settings.root_path,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.context = context
    for routes in (
        inference,
        operation,
        datasets,
        fits,
        methods,
        models,
        rows,
        report,
        separation,
        aliases,
        samples,
        page,
    ):  # the busiest first
        app.include_router(routes.router)
    problems.install(app, lambda path: openapi.allowed_methods(app, path))
    app.add_middleware(DirectRoutes, app, inference.router.routes)  # the last one added is the outermost
    app.add_middleware(OriginGuard, settings, context.keyring)
    memory = Memory(settings.max_bytes_in_flight, store.connection.has_many_tenants)
    app.add_middleware(Observation, metrics, log, memory)
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    app.add_route("/openapi.json", openapi.endpoint(app), include_in_schema=False)
    return app


def from_environment() -> FastAPI:
    """The service as the `MELM_*` variables describe it."""
    settings = ServiceSettings.from_environment(os.environ)
    logs.configure(settings.log_level)
    app = create_app(open_engine(settings), CeleryDispatcher(settings), settings)
    spare_garbage_collection()
    return app


def spare_garbage_collection() -> None:
    """Exclude permanent objects from garbage collection, and collect more rarely.

    Decoded JSON has thousands of lists without cycles; traversing them took a quarter of the time of a request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTION_THRESHOLD)
