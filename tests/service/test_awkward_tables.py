"""Awkward files have one reading, by whichever door they come: HTTP, a form, the page, the client, the command line."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

import service
from melm.command import parser
from melm.command.failure import CommandError
from melm.command.table_file import TableFile
from melm.remote import Client
from melm.remote.errors import Invalid
from melm.tables.content_hash import content_hash
from tests.awkward_tables import AWKWARD, REFUSED, Awkward
from tests.service.api import Api

MEDIA_TYPES = {
    "csv": "text/csv",
    "tsv": "text/csv",
    "json": "application/json",
    "npz": "application/x-npz",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
PAGE = """
import { readFile } from "node:fs/promises";
import { asFile, read, upload } from "./tables.js";
globalThis.sessionStorage = { getItem: () => null };
const { url, files } = JSON.parse(await readFile(process.argv[2], "utf8"));
const { fetch } = globalThis;
globalThis.fetch = (path, options) => fetch(`${url}/${path}`, options);
const answers = {};
for (const { name, path, settings } of files) {
  const chosen = new Blob([await readFile(path)]);
  chosen.name = path;
  const file = { ...asFile(chosen), name, settings };
  const errors = (await read(file)).problems.filter(({ level }) => level === "error");
  const stored = await upload(file).catch((problem) => problem);
  answers[name] = { content_hash: stored.content_hash ?? null, errors: errors.map(({ detail }) => detail) };
}
console.log(JSON.stringify(answers));
"""


@pytest.fixture(scope="module")
def folder_of_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("awkward")
    for awkward in AWKWARD:
        path_of(folder, awkward).write_bytes(awkward.content)
    for name, (content, _) in REFUSED.items():
        (folder / f"{name}.csv").write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def by_page(api: Api, folder_of_files: Path) -> Any:
    """What the modules of the page make of all files, in Node."""
    web = Path(service.__file__).parent / "web"
    for module in ("tables.js", "api.js"):
        shutil.copy(web / module, folder_of_files / module)
    (folder_of_files / "package.json").write_text('{"type": "module"}')
    (folder_of_files / "page.js").write_text(PAGE)
    files = [
        {"name": each.name, "path": str(path_of(folder_of_files, each)), "settings": each.options} for each in AWKWARD
    ]
    files += [{"name": name, "path": f"{folder_of_files / name}.csv", "settings": {"target": "y"}} for name in REFUSED]
    (folder_of_files / "files.json").write_text(json.dumps({"url": api.url, "files": files}))
    command = ["node", "page.js", "files.json"]
    return json.loads(subprocess.run(command, cwd=folder_of_files, capture_output=True, text=True, check=True).stdout)


def path_of(folder: Path, awkward: Awkward) -> Path:
    return folder / f"{awkward.name}.{awkward.ending}"


def as_query(options: dict[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in options.items()}


def by_command_line(path: Path, options: dict[str, Any]) -> TableFile:
    """The file as `melm fit` opens it."""
    arguments = ["fit", str(path)]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif isinstance(value, dict):
            arguments += [part for item in value.items() for part in (option, "=".join(item))]
        else:
            arguments += [part for each in (value if isinstance(value, list) else [value]) for part in (option, each)]
    parsed: argparse.Namespace = parser().parse_args(arguments)
    return TableFile(parsed, labeled=True)


@pytest.mark.parametrize("awkward", AWKWARD, ids=lambda awkward: awkward.name)
def test_one_reading(client: httpx2.Client, api: Api, by_page: Any, folder_of_files: Path, awkward: Awkward) -> None:
    path, headers = path_of(folder_of_files, awkward), {"Content-Type": MEDIA_TYPES[awkward.ending]}
    query = as_query(awkward.options)
    answer = client.post("/v1/datasets", content=awkward.content, params=query, headers=headers)
    assert answer.is_success, answer.text
    stored = answer.json()
    assert stored["n_rows"] == awkward.n_rows
    columns = {each["name"]: (each["role"], "ignored") for each in stored["columns"] or []}
    for column in client.get(f"/v1/datasets/{stored['id']}/rows", params={"limit": 3}).json()["columns"]:
        expected = awkward.columns[column["name"]][1]
        columns[column["name"]] = column["role"], column["values"][: len(expected)]
    assert columns == {
        name: (role, list(values) if values else "ignored") for name, (role, values) in awkward.columns.items()
    }

    form = client.post("/v1/datasets", files={"file": (path.name, awkward.content)}, data=query)
    with Client(api.url) as remote:
        uploaded = remote.datasets.upload_file(path, **awkward.options)
    upload = by_command_line(path, awkward.options).training_rows()
    hashes = {
        "form": form.json().get("content_hash"),
        "page": by_page[awkward.name]["content_hash"],
        "client": uploaded.content_hash,
        "command line": content_hash(upload.X, upload.y, upload.feature_names, upload.part),
    }
    assert hashes == dict.fromkeys(hashes, stored["content_hash"])


@pytest.mark.parametrize("name", REFUSED)
def test_one_refusal(client: httpx2.Client, api: Api, by_page: Any, folder_of_files: Path, name: str) -> None:
    content, expected = REFUSED[name]
    answer = client.post("/v1/datasets", content=content, params={"target": "y"}, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 422
    assert any(expected in error["detail"] for error in answer.json()["errors"]), answer.text
    assert by_page[name]["content_hash"] is None
    assert any(expected in detail for detail in by_page[name]["errors"])
    with Client(api.url) as remote, pytest.raises(Invalid) as refused:
        remote.datasets.upload_file(folder_of_files / f"{name}.csv", target="y")
    assert expected in str(refused.value)
    with pytest.raises(CommandError) as failed:
        by_command_line(folder_of_files / f"{name}.csv", {"target": "y"}).training_rows()
    assert expected in str(failed.value)


def test_columns_that_are_only_shown_are_stored_beside_the_same_content(client: httpx2.Client) -> None:
    (awkward,) = (each for each in AWKWARD if each.name == "a column that is only shown")
    headers = {"Content-Type": "text/csv"}
    ids = {}
    for role in ("info", "ignore"):
        query = {"target": "y", "columns": json.dumps({"town": role})}
        stored = client.post("/v1/datasets", content=awkward.content, params=query, headers=headers).json()
        ids[role] = stored["id"]
        assert stored["content_hash"] == client.get(f"/v1/datasets/{ids[role]}").json()["content_hash"]
    assert len(set(ids.values())) == 2
    shown, without = (client.get(f"/v1/datasets/{ids[role]}").json() for role in ("info", "ignore"))
    assert shown["content_hash"] == without["content_hash"]
    page = client.get(f"/v1/datasets/{ids['info']}/rows", params={"rows": [3, 0]}).json()
    assert [each["values"] for each in page["columns"] if each["role"] == "info"] == [["Oslo", "Rom"]]
    fits = [
        client.post(
            "/v1/fits",
            json={"dataset_id": ids[role], "method": "pca", "params": {"n_components": 1}, "validation": None},
            headers={"Prefer": "wait=60"},
        ).json()
        for role in ("info", "ignore")
    ]
    models = [client.get(f"/v1/models/{fit['model_id']}").json() for fit in fits]
    assert [model["dataset_id"] for model in models] == list(ids.values())
    assert models[0]["projection"] == models[1]["projection"]
    assert client.delete(f"/v1/datasets/{ids['info']}").status_code == 204
    again = client.post("/v1/datasets", content=awkward.content, params=as_query(awkward.options), headers=headers)
    assert again.status_code == 201
