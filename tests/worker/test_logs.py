import json
import logging
import sys

from worker.logs import JsonFormatter


def test_a_line_is_json_with_ids() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        record = logging.LogRecord("worker", logging.WARNING, "", 0, "lost %s", ("it",), sys.exc_info())
    record.fit_id = "fit_1"
    entry = json.loads(JsonFormatter().format(record))
    assert (entry["message"], entry["level"], entry["fit_id"]) == ("lost it", "warning", "fit_1")
    assert "ValueError: x" in entry["exception"]
    assert "unit" not in entry
