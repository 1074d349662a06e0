import pytest

from worker.engine.upgrade import STEPS, Fields, upgraded
from worker.store.errors import UnknownSchema
from worker.store.records import SCHEMA_VERSION


def test_steps_are_taken_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(fields: Fields) -> Fields:
        return {"schema_version": fields["schema_version"], "new": fields["old"]}

    monkeypatch.setitem(STEPS, SCHEMA_VERSION - 2, renamed)
    monkeypatch.setitem(STEPS, SCHEMA_VERSION - 1, lambda fields: {**fields, "new": fields["new"] + "!"})
    stored = {"schema_version": str(SCHEMA_VERSION - 2), "old": "value"}
    assert upgraded("fit_1", stored) == {"schema_version": str(SCHEMA_VERSION), "new": "value!"}
    assert stored["old"] == "value"


@pytest.mark.parametrize("version", [SCHEMA_VERSION, SCHEMA_VERSION + 1])
def test_present_and_later_versions_stay_as_they_are(version: int) -> None:
    assert upgraded("fit_1", {"schema_version": str(version)}) == {"schema_version": str(version)}


def test_a_version_without_a_step_is_named() -> None:
    with pytest.raises(UnknownSchema, match=rf"'fit_1' has schema version {SCHEMA_VERSION - 1}, which this version"):
        upgraded("fit_1", {"schema_version": str(SCHEMA_VERSION - 1)})
