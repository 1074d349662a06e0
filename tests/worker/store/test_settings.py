from dataclasses import fields
from pathlib import Path

import pytest

from worker.store.errors import SettingsError
from worker.store.settings import Settings, variable

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def test_variables_override_defaults() -> None:
    settings = Settings.from_environment({"MELM_LEASE_SECONDS": "1.5", "MELM_WINDOW": "3", "OTHER": "x"})
    assert (settings.lease_seconds, settings.window) == (1.5, 3)
    assert settings.sweep_seconds == Settings().sweep_seconds


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan", ""])
def test_a_wrong_variable_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match="MELM_LEASE_SECONDS"):
        Settings.from_environment({"MELM_LEASE_SECONDS": text})


@pytest.mark.parametrize("name", ["MELM_WINDOW", "MELM_MAX_ATTEMPTS", "MELM_WORKER_PROCESSES"])
def test_some_must_be_at_least_one(name: str) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        Settings.from_environment({name: "0"})


@pytest.mark.parametrize("each", fields(Settings), ids=lambda each: each.name)
def test_every_variable_is_documented_with_its_meaning(each: object) -> None:
    name, meaning = each.name, each.metadata["meaning"]  # type: ignore[attr-defined]
    line = next(
        (line for line in OPERATIONS.read_text().splitlines() if line.startswith(f"| `{variable(name)}` |")), ""
    )
    assert meaning in line
