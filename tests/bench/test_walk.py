"""The number of files that a fit passes, in ARCHITECTURE.md and as traced."""

import re

from bench.walk import PAGE, SENTENCE, sentence, walk

SLACK = 6  # a file more or less need not touch the page


def test_the_page_states_what_tracing_counts() -> None:
    names = walk()
    assert {"worker/engine/runner.py", "worker/engine/scripts/next.lua", "melm/search/path.py"} <= names
    assert "worker/engine/reconcile.py" not in names
    stated, counted = SENTENCE.search(PAGE.read_text()), sentence(names)
    assert stated is not None
    for said, found in zip(re.findall(r"\d+", stated[0]), re.findall(r"\d+", counted), strict=True):
        assert abs(int(said) - int(found)) <= SLACK, f"ARCHITECTURE.md: {stated[0]!r}, but a fit {counted}."
