import json
import ssl
from typing import Any

import pytest

from tests.servers import RedisServer
from worker.engine.dispatch import BROKER_PREFIX, QUEUE, TASK, CeleryDispatcher, broker_url, celery_app
from worker.store.settings import Settings


def test_a_message_carries_nothing(server: RedisServer, settings: Settings) -> None:
    server.client.delete(BROKER_PREFIX + QUEUE)
    CeleryDispatcher(settings).send(3)
    messages = server.client.lrange(BROKER_PREFIX + QUEUE, 0, -1)
    assert len(messages) == 3
    headers = json.loads(messages[0])["headers"]
    assert (headers["task"], headers["argsrepr"]) == (TASK, "()")
    assert len(messages[0]) < 1000
    server.client.delete(BROKER_PREFIX + QUEUE)


def test_a_broker_that_is_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    CeleryDispatcher(Settings(redis_url="unix:///nowhere")).send()
    assert "no message sent" in caplog.text


def test_nothing_to_send_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    CeleryDispatcher(Settings(redis_url="unix:///nowhere")).send(0)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://user:word@host:1/2", "redis://user:word@host:1/2"),
        ("rediss://host", "rediss://host"),
        ("unix:///run/redis.sock?db=1", "redis+socket:///run/redis.sock?virtual_host=1"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
    ],
)
def test_the_broker_has_its_own_spelling(url: str, expected: str) -> None:
    assert broker_url(url) == expected


@pytest.mark.parametrize(
    ("url", "reqs"),
    [
        ("redis://host", None),
        ("rediss://host", "required"),
        ("rediss://host?ssl_cert_reqs=none", ssl.CERT_NONE),
    ],
)
def test_a_secure_address_is_never_spoken_to_in_the_clear(url: str, reqs: object) -> None:
    with celery_app(Settings(redis_url=url)).connection_for_write() as connection:
        options: Any = connection.ssl or {}
        assert options.get("ssl_cert_reqs") == reqs
