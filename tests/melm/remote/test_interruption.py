"""Ctrl-C during a wait: what was asked for is done, and said. In processes of their own, with the real signal."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from melm.remote import Client, Dataset
from tests.running_service import RunningService
from tests.servers import wait_until

PROGRAM = """
    from melm.remote import Client, Interrupted, fits
    follow = fits.follow
    def follow_and_say_so(*arguments, **options):
        print("waiting", flush=True)
        return follow(*arguments, **options)
    fits.follow = follow_and_say_so
    client = Client({url!r})
    fit = client.fits.attach({fit_id!r})
    try:
        print(fit.wait(on_interrupt={on_interrupt!r}).id)
    except Interrupted as interrupted:
        print(interrupted.canceled, interrupted)
"""


@pytest.mark.parametrize(
    ("on_interrupt", "said", "statuses"),
    [
        ("detach", "False {fit} continues; client.fits.attach('{fit}') returns a handle on it.", {"queued", "running"}),
        ("cancel", "True {fit} was canceled.", {"canceled"}),
        ("keep_best", "{model}", {"succeeded"}),
    ],
)
def test_the_caller_is_never_left_in_doubt(
    service: RunningService, client: Client, long_dataset: Dataset, on_interrupt: str, said: str, statuses: set[str]
) -> None:
    fit = client.fits.submit(
        long_dataset, params={"regularization": None, "n_starts": 300, "seed": 3}, validation=None, force=True
    )
    program = textwrap.dedent(PROGRAM.format(url=service.url, fit_id=fit.id, on_interrupt=on_interrupt))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        wait_until(lambda: fit.refresh().record.progress.starts_done > 0)
        process.send_signal(signal.SIGINT)
        heard = process.stdout.read().replace("waiting\n", "").strip()
    wait_until(lambda: fit.refresh().status in statuses)
    assert heard == said.format(fit=fit.id, model=fit.record.model_id)
    fit.cancel()
