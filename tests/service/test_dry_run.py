"""A dry run: what would be read of a table, told by every front end, with nothing stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from melm.remote import Client
from tests.service.api import Api

CSV = {"Content-Type": "text/csv"}
TABLE = b"a,b,zip,y\n3,0.5,01234,u\n1,oops,01234,u\n2,1.5,01236,v\n5,1.6,01239,v\n\n4,x,01240,v\n6,7,01240,v\n" + (
    b"7,8,01240,v\n8,9,01240,u\n9,9,01240,u\n9,1,01240,u\n"
)


def dry_run(client: httpx2.Client, content: bytes, **query: Any) -> Any:
    answer = client.post("/v1/datasets", content=content, params={"dry_run": "true", **query}, headers=CSV)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_columns_classes_and_problems(client: httpx2.Client) -> None:
    before = client.get("/v1/datasets").json()["data"]
    reading = dry_run(client, TABLE)
    assert client.get("/v1/datasets").json()["data"] == before
    assert reading["dialect"] == {"encoding": "utf-8", "delimiter": ",", "decimal": "."}
    assert (reading["n_rows"], reading["is_complete"], reading["is_target_given"]) == (10, True, False)
    assert {each["name"]: each["role"] for each in reading["columns"]} == {
        "a": "numeric",
        "b": "numeric",
        "zip": "categorical",
        "y": "target",
    }
    assert reading["target"]["name"] == "y"
    assert [each["name"] for each in reading["other_targets"]] == ["zip", "a"]
    assert reading["classes"] == [{"label": "u", "n_rows": 5}, {"label": "v", "n_rows": 5}]
    b = reading["columns"][1]
    assert (b["n_missing"], b["missing_share"], b["examples"]) == (2, 0.2, ["0.5", "1.5", "1.6"])
    wrong, question, missing = reading["problems"]
    assert (missing["level"], missing["fixes"][0]["value"]) == ("warning", {"b": "ignore"})
    assert (wrong["level"], wrong["column"], wrong["count"]) == ("error", "b", 2)
    assert (wrong["rows"], wrong["lines"]) == ([1, 4], [3, 7])
    assert [(fix["parameter"], fix["value"]) for fix in wrong["fixes"]] == [
        ("missing_values", "oops"),
        ("columns", {"b": "categorical"}),
    ]
    assert (question["level"], question["fixes"][0]["parameter"], question["fixes"][0]["value"]) == (
        "question",
        "target",
        "y",
    )


def test_the_fixes_settle_the_problems(client: httpx2.Client) -> None:
    options = {"target": "y", "missing_values": ["oops", "x"]}
    assert {problem["level"] for problem in dry_run(client, TABLE, **options)["problems"]} == {"warning"}
    assert dry_run(client, TABLE, drop_missing=True, **options)["problems"] == []
    answer = client.post("/v1/datasets", content=TABLE, params=options, headers=CSV)
    assert answer.status_code == 201, answer.text


def test_names_and_roles_that_do_not_fit_are_problems(client: httpx2.Client) -> None:
    reading = dry_run(client, TABLE, target="why", columns=json.dumps({"a": "nonsense"}))
    details = [problem["detail"] for problem in reading["problems"] if problem["level"] == "error"]
    assert details[0] == "there is no column 'why'"
    assert any("'nonsense' is not a role" in detail for detail in details)
    assert len(reading["columns"]) == 4


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"\xff\xfe\x00\x01"])
def test_what_is_no_table(client: httpx2.Client, content: bytes) -> None:
    reading = dry_run(client, content)
    assert reading["columns"] == []
    assert reading["problems"][0]["level"] == "error"


def test_matrices_and_rows(client: httpx2.Client) -> None:
    generator = np.random.default_rng(0)
    body = {"X": generator.standard_normal((6, 2)).tolist(), "y": list("ababab"), "feature_names": ["p", "q"]}
    answer = client.post("/v1/datasets?dry_run=true", json=body).json()
    assert ([each["name"] for each in answer["columns"]], answer["problems"]) == (["p", "q"], [])
    assert [each["n_rows"] for each in answer["classes"]] == [3, 3]
    rows = [{"p": index % 3, "color": ["red", None, "blue", None][index % 4]} for index in range(8)]
    answer = client.post("/v1/datasets?dry_run=true", json={"rows": rows, "y": [0, 1] * 4}).json()
    assert [(each["role"], each["n_missing"]) for each in answer["columns"]] == [("numeric", 0), ("categorical", 4)]


def test_the_beginning_of_a_large_file(api: Api, client: httpx2.Client, tmp_path: Path) -> None:
    row = f"0.25,{'x' * 1000},u\n0.5,{'y' * 1000},v\n"
    content = b"number,text,y\n" + row.encode() * (9 << 10)
    (tmp_path / "large.csv").write_bytes(content)
    reading = dry_run(client, content)
    assert not reading["is_complete"]
    assert reading["n_rows"] < 18 << 10
    with Client(api.url) as remote:
        inspected = remote.inspect(tmp_path / "large.csv")
    assert (inspected.is_complete, inspected.n_rows) == (False, reading["n_rows"])
    assert dry_run(client, content[: 1 << 20], file_bytes=len(content))["is_complete"] is False
    assert dry_run(client, content[: 1 << 20])["problems"][0]["level"] == "error"  # its last line is cut


def test_all_front_ends_say_the_same(api: Api, client: httpx2.Client, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(TABLE)
    expected = dry_run(client, TABLE)

    def command(*options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from melm.command import main; sys.exit(main())", "inspect", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        )
        return done.stdout

    assert json.loads(command("table.csv", "--json")) == expected
    assert json.loads(command("table.csv", "--json", "--url", api.url)) == expected
    with Client(api.url) as remote:
        inspected = vars(remote.inspect(tmp_path / "table.csv"))
    assert inspected == expected
    said = command("table.csv")
    assert "y (named like a class" in said
    assert "error: column 'b', line 3: 'oops' is not a number" in said
    assert "--missing-values oops" in said
