"""Datasets on a real service."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from melm.remote import Client, Dataset, Gone, Invalid
from melm.remote.connection import HttpConnection
from melm.typing import AnyArray
from tests.service import samples


def test_what_the_service_has_is_not_sent_again(
    client: Client, dataset: Dataset, irises: tuple[AnyArray, AnyArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    send = HttpConnection.send

    def watched(self: HttpConnection, method: str, path: str, **options: object) -> object:
        sent.append(method)
        return send(self, method, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(HttpConnection, "send", watched)
    X, y = irises
    assert client.datasets.upload(pd.DataFrame(X, columns=samples.FEATURES), pd.Series(y)) == dataset
    assert sent == ["GET"]
    assert client.datasets.upload(X, y).id != dataset.id, "names are part of the content"
    assert sent[1:] == ["GET", "POST"]


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_labels_and_float32_arrive_as_they_are(client: Client, kind: type) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    y: AnyArray = (np.arange(20) % 2).astype(kind)
    first = client.datasets.upload(X, y)
    assert first.dtype == "float32"
    assert first.classes == np.unique(y).tolist()
    assert client.datasets.upload(X, y) == first


def test_list_get_and_delete(client: Client) -> None:
    made = client.datasets.upload(np.random.default_rng(1).normal(size=(6, 2)), list("aabbcc"), name="short-lived")
    assert made.name == "short-lived"
    assert client.datasets[made.id] == made
    assert made in list(client.datasets)
    client.datasets.delete(made.id)
    with pytest.raises(Gone, match="deleted"):
        _ = client.datasets[made.id]


def test_everything_that_is_wrong_is_said_at_once(client: Client) -> None:
    with pytest.raises(Invalid) as caught:
        client.datasets.upload([[1.0, np.nan], [np.inf, 2.0]], ["a", "a"])
    assert [error.pointer for error in caught.value.errors] == ["/X/0/1", "/X/1/0", "/y"]
