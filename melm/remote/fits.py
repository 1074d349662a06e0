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
    """A handle on one fit. `record` is how it stood when the service was last asked."""

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
        """The fit's id: `client.fits.attach(id)` comes back to it from anywhere."""
        return self.record.id

    @property
    def page(self) -> str:
        """Where a browser shows the fit."""
        return page_of(self._connection, "fits", self.id)

    @property
    def status(self) -> Status:
        """queued, running, succeeded, failed or canceled."""
        return self.record.status

    @property
    def model(self) -> Model:
        """The model that the fit left behind."""
        if self.record.model_id is not None:
            return Model(self._connection, self.record.model_id)
        message = self.record.error["message"] if self.record.error else f"{self.id} is {self.status}, without a model."
        raise (FitCanceled if self.status == "canceled" else FitFailed)(self.id, message)

    def refresh(self) -> Fit:
        """Ask how the fit stands now."""
        self.record, _ = look(self._connection, self.id)
        return self

    def wait(
        self,
        timeout_seconds: float | None = None,
        *,
        progress: bool | None = None,
        on_interrupt: OnInterrupt = "detach",
    ) -> Model:
        """Wait for the fit's end, whatever happens to the service meanwhile, and return its model.

        Parameters
        ----------
        timeout_seconds : float or None
            Raise `TimedOut` after this time; the fit goes on.
        progress : bool or None
            Show a bar. None shows it in terminals and notebooks only.
        on_interrupt : {"detach", "cancel", "keep_best"}
            What Ctrl-C does: let the fit go on, cancel it, or end it early and return the best model so far.
            The first two raise `Interrupted`, which says what was done.
        """
        try:
            self._follow(timeout_seconds, progress)
        except KeyboardInterrupt:
            self._interrupt(on_interrupt)
            self._follow(None, progress)
        return self.model

    def events(self, after: str = "0") -> Iterator[Event]:
        """What has happened since the event with the id `after`, and what happens, until the fit has ended."""
        return follow_events(self._connection, self.id, after)

    def preview(self) -> dict[str, Any] | None:
        """Where the best start so far places some of the rows; None where there is none yet."""
        response = self._connection.send("GET", f"/v1/fits/{self.id}/preview")
        return response.json() if response.content else None

    def cancel(self, *, keep_best: bool = False) -> Fit:
        """Stop the fit within seconds; `keep_best` ends it as succeeded with the best start so far, if there is one."""
        path, parameters = f"/v1/fits/{self.id}/cancel", {"keep_best": str(keep_best).lower()}
        self.record = FitRecord.of(self._connection.send("POST", path, params=parameters).json())
        return self

    def retry(self) -> Fit:
        """Go on with a fit that failed or was canceled, from the starts that are done."""
        try:
            self._connection.send("POST", f"/v1/fits/{self.id}/retry")
        except Conflict:
            if not self.refresh().record.is_active:
                raise
            # It goes on already: somebody was faster, or the answer to an earlier try was lost.
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
        """Do what was asked for at Ctrl-C, and say so; returns only where the best model is to be waited for."""
        goes_on = f"{self.id} goes on; client.fits.attach({self.id!r}) comes back to it."
        if on_interrupt == "detach":
            raise Interrupted(self.id, goes_on, canceled=False) from None
        try:
            self.cancel(keep_best=on_interrupt == "keep_best")
        except RemoteError as error:
            message = f"{self.id} could not be canceled ({error}); it may go on."
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
        """Fits of a status or a name, newest first."""
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
        """Submit a fit. An equal one that has succeeded before is the answer at once, unless `force` is set.

        Parameters
        ----------
        dataset : Dataset or str
            The dataset or its id.
        params : mapping or None
            The method's parameters; what is not given is the method's default.
        validation : mapping or None
            `{"folds": 5, "repeats": 1}` is the service's default; None switches validation off.
        name : str or None
            What to call the fit and its model.
        metadata : mapping or None
            Texts of your own, kept with the fit and its model.
        permute_labels : int or None
            Permute the labels by this seed first: a picture of chance to lay beside the real one.
        force : bool
            Fit even when an equal fit has succeeded before.
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
        """A handle on a fit that was submitted earlier, by whomever."""
        return Fit(self._connection, look(self._connection, fit_id)[0])
