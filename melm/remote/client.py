"""The client of the HTTP service."""

from __future__ import annotations

from itertools import islice
from types import TracebackType
from typing import Self, Unpack

from melm.remote.connection import PATIENCE_SECONDS, HttpConnection
from melm.remote.datasets import Datasets, TableOptions
from melm.remote.display import Displayed, Summary
from melm.remote.fits import Fits
from melm.remote.models import Models
from melm.remote.records import MethodRecord, Reading
from melm.remote.table_body import RowsLike

SHOWN_FITS = 5


class Client(Displayed):
    """A client of a service.

    Parameters
    ----------
    url : str
        The address of the service, such as "http://127.0.0.1:8000".
    api_key : str or None
        The key, if the service requires one; None reads the environment variable MELM_API_KEY.
    patience_seconds : float
        How long requests are retried during an outage of the service before an error is raised.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000")  # doctest: +SKIP
    >>> dataset = client.datasets.upload(X, y)  # doctest: +SKIP
    >>> model = client.fits.submit(dataset, params={"n_components": 2}).wait()  # doctest: +SKIP
    >>> model.predict(X)  # doctest: +SKIP
    """

    def __init__(self, url: str, api_key: str | None = None, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._connection = HttpConnection(url, api_key, patience_seconds)
        self.datasets = Datasets(self._connection)
        self.fits = Fits(self._connection)
        self.models = Models(self._connection)

    def __repr__(self) -> str:
        return f"<Client {self.url}>"

    def _summary(self) -> Summary:
        fits = list(islice(self.fits, SHOWN_FITS))
        return Summary(
            f"Service at {self.url}",
            [] if fits else ["It has no fits yet."],
            header=("fit", "method", "status", "model"),
            rows=[(fit.id, fit.record.method, fit.status, fit.record.model_id or "") for fit in fits],
            calls=("dataset = client.datasets.upload(X, y)", "client.datasets.upload_file(path, target=...)"),
            page=f"{self.url}/",
        )

    @property
    def url(self) -> str:
        """The address of the service; its page in a browser."""
        return self._connection.url

    def methods(self) -> list[MethodRecord]:
        """The methods that a fit can use, with their parameters: names, descriptions, defaults and accepted values."""
        return [MethodRecord.of(document) for document in self._connection.get("/v1/methods")["data"]]

    def inspect(self, rows: RowsLike | str | bytes, **options: Unpack[TableOptions]) -> Reading:
        """How a table would be read, without storing it; see `client.datasets.inspect`."""
        return self.datasets.inspect(rows, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()
