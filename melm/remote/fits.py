"""Fits on the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from melm.remote.connection import HttpConnection
from melm.remote.display import Displayed, Summary
from melm.remote.errors import Conflict, FitCanceled, FitFailed, Interrupted, RemoteError
from melm.remote.following import follow, follow_events, look
from melm.remote.models import Model, page_of
from melm.remote.progress import describe, is_watched, progress_bar
from melm.remote.records import Dataset, Event, FitRecord, Status

OnInterrupt: TypeAlias = Literal["detach", "cancel", "keep_best"]
SERVICE_DEFAULTS: Mapping[str, Any] = MappingProxyType({})


class Fit(Displayed):
    """A handle on a fit. `record` is its state at the last request."""

    def __init__(self, connection: HttpConnection, record: FitRecord) -> None:
        self._connection = connection
        self.record = record

    def __repr__(self) -> str:
        return f"<Fit {self.id} {self.status}>"

    def _summary(self) -> Summary:
        record = self.record
        lines = [", ".join(describe(record))] if record.is_active else []
        if record.error:
            lines.append(record.error["message"])
        if record.is_active:
            calls = ["fit.wait()", "fit.refresh()", "fit.cancel()"]
        else:
            calls = ["fit.model"] if record.model_id else ["fit.retry()"]
        return Summary(
            f"Fit {record.id} by {record.method} to {record.dataset_id}: {record.status}",
            [line for line in lines if line],
            calls=calls,
            page=self.page,
            share_done=record.progress.share_done if record.is_active else None,
        )

    def _picture(self) -> str | None:
        return self.model.plot() if self.status == "succeeded" else None

    @property
    def id(self) -> str:
        """The id of the fit, for `client.fits.attach(id)`."""
        return self.record.id

    @property
    def page(self) -> str:
        """The URL of the fit's page."""
        return page_of(self._connection, "fits", self.id)

    @property
    def status(self) -> Status:
        """The status: queued, running, succeeded, failed or canceled."""
        return self.record.status

    @property
    def model(self) -> Model:
        """The model of the fit; raises `FitEnded` if there is none."""
        if self.record.model_id is not None:
            return Model(self._connection, self.record.model_id)
        message = self.record.error["message"] if self.record.error else f"{self.id} is {self.status}, without a model."
        raise (FitCanceled if self.status == "canceled" else FitFailed)(self.id, message)

    def refresh(self) -> Fit:
        """Update `record` from the service."""
        self.record, _ = look(self._connection, self.id)
        return self

    def wait(
        self,
        timeout_seconds: float | None = None,
        *,
        progress: bool | None = None,
        on_interrupt: OnInterrupt = "detach",
    ) -> Model:
        """Wait until the fit has ended, also through outages of the service, and return its model.

        Parameters
        ----------
        timeout_seconds : float or None
            Raise `TimedOut` after this time; the fit continues.
        progress : bool or None
            Show a progress bar. None shows it only in terminals and notebooks.
        on_interrupt : {"detach", "cancel", "keep_best"}
            What Ctrl-C does: let the fit continue, cancel it, or end it early and return the best model so far.
            The first two raise `Interrupted`.
        """
        try:
            self._follow(timeout_seconds, progress)
        except KeyboardInterrupt:
            self._interrupt(on_interrupt)
            self._follow(None, progress)
        return self.model

    def events(self, after: str = "0") -> Iterator[Event]:
        """Iterate over the events after the one with the id `after`, until the fit has ended."""
        return follow_events(self._connection, self.id, after)

    def preview(self) -> dict[str, Any] | None:
        """Some rows in the projection of the best start so far; None if no start is done yet."""
        response = self._connection.send("GET", f"/v1/fits/{self.id}/preview")
        return response.json() if response.content else None

    def cancel(self, *, keep_best: bool = False) -> Fit:
        """Cancel the fit. With `keep_best` it succeeds with the best start so far, if one is done."""
        path, parameters = f"/v1/fits/{self.id}/cancel", {"keep_best": str(keep_best).lower()}
        self.record = FitRecord.of(self._connection.send("POST", path, params=parameters).json())
        return self

    def retry(self) -> Fit:
        """Continue a failed or canceled fit from the starts that are done."""
        try:
            self._connection.send("POST", f"/v1/fits/{self.id}/retry")
        except Conflict:
            if not self.refresh().record.is_active:
                raise
            # It is already active: another client was faster, or the response to an earlier try was lost.
        return self.refresh()

    def _follow(self, timeout_seconds: float | None, progress: bool | None) -> None:
        if not self.record.is_active:
            return
        is_shown = is_watched() if progress is None else progress
        with progress_bar(self.record, is_shown) as show:
            for record in follow(self._connection, self.id, timeout_seconds, is_watched=is_shown):
                self.record = record
                show(record)

    def _interrupt(self, on_interrupt: OnInterrupt) -> None:
        """Handle Ctrl-C as requested; returns only for "keep_best"."""
        goes_on = f"{self.id} continues; client.fits.attach({self.id!r}) returns a handle on it."
        if on_interrupt == "detach":
            raise Interrupted(self.id, goes_on, canceled=False) from None
        try:
            self.cancel(keep_best=on_interrupt == "keep_best")
        except RemoteError as error:
            message = f"{self.id} could not be canceled ({error}); it may continue."
            raise Interrupted(self.id, message, canceled=False) from error
        if on_interrupt == "cancel":
            raise Interrupted(self.id, f"{self.id} was canceled.", canceled=True) from None


class Fits:
    """`client.fits`: iterate over all, newest first."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Fit]:
        return self.list()

    def list(self, *, status: Status | None = None, name: str | None = None) -> Iterator[Fit]:
        """Fits, newest first; `status` and `name` filter them."""
        for document in self._connection.pages("/v1/fits", status=status, name=name):
            yield Fit(self._connection, FitRecord.of(document))

    def submit(
        self,
        dataset: Dataset | str,
        *,
        method: str = "melm",
        params: Mapping[str, Any] | None = None,
        validation: Mapping[str, Any] | None = SERVICE_DEFAULTS,
        name: str | None = None,
        metadata: Mapping[str, str] | None = None,
        permute_labels: int | None = None,
        force: bool = False,
    ) -> Fit:
        """Submit a fit. An equal fit that has succeeded before is returned instead, unless `force` is set.

        Parameters
        ----------
        dataset : Dataset or str
            The dataset or its id.
        params : mapping or None
            The parameters of the method; others have its defaults.
        validation : mapping or None
            `{"folds": 5, "repeats": 1}` is the service's default; None disables validation.
        name : str or None
            A name for the fit and its model.
        metadata : mapping or None
            Your own key-value pairs, stored with the fit and its model.
        permute_labels : int or None
            Permute the labels with this seed before the fit, to compare it with a fit to the true labels.
        force : bool
            Run the fit even if an equal fit has succeeded before.
        """
        body = {
            "dataset_id": dataset if isinstance(dataset, str) else dataset.id,
            "method": method,
            "params": dict(params or {}),
            "validation": None if validation is None else dict(validation),
            "name": name,
            "metadata": dict(metadata or {}),
            "force": force,
            **({} if permute_labels is None else {"permute_labels": permute_labels}),
        }
        return Fit(self._connection, FitRecord.of(self._connection.send("POST", "/v1/fits", json=body).json()))

    def attach(self, fit_id: str) -> Fit:
        """A handle on a fit that was submitted earlier, also by another client."""
        return Fit(self._connection, look(self._connection, fit_id)[0])
