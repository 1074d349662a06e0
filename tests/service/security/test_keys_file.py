"""The file of keys, as `melm keys` changes it beside a running service."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from melm.command import main
from service.security.keys import Keyring, Principal, Scope
from service.security.keys_file import KeysFile
from tests.servers import RedisServer, wait_until
from tests.service.api import api_process
from worker.store.errors import SettingsError

BY_HAND = "# ours; keep\nacme  fit  " + "0" * 64 + "   # the old laptop"


def test_a_key_is_known_until_it_is_revoked(tmp_path: Path) -> None:
    file = KeysFile(tmp_path / "new" / "keys")
    token = file.create("laptop", "acme", Scope.PREDICT)
    other = file.create("server", "acme", Scope.ADMIN)
    assert Keyring(file=file.path).find(token) == Principal("acme", Scope.PREDICT)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert token not in file.path.read_text()
    file.revoke("laptop")
    keyring = Keyring(file=file.path)
    assert keyring.find(token) is None
    assert keyring.find(other) == Principal("acme", Scope.ADMIN)
    assert [path.name for path in file.path.parent.iterdir()] == ["keys"]


def test_lines_written_by_hand_stay(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(BY_HAND)
    path.chmod(0o644)
    file = KeysFile(path)
    file.create("laptop", "acme", Scope.FIT)
    file.revoke("laptop")
    assert path.read_text() == BY_HAND + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640  # the group that could read it still can, others no longer
    file.revoke("00000000")
    assert path.read_text() == "# ours; keep\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "keys")
    KeysFile(tmp_path / "link").create("laptop", "acme", Scope.FIT)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "keys").is_file()


def test_changes_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    names = [f"key-{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: KeysFile(path).create(name, "acme", Scope.FIT), names))
    assert sorted(key.name for key in KeysFile(path).read()) == sorted(names)


@pytest.mark.parametrize("name", ["", "two words", "a/b", "#", "x" * 65, "new\nline", "{tag}", "ключ"])
def test_names_are_plain(tmp_path: Path, name: str) -> None:
    file = KeysFile(tmp_path / "keys")
    with pytest.raises(SettingsError, match="is no key name: at most 64 letters"):
        file.create(name, "acme", Scope.FIT)
    with pytest.raises(SettingsError, match="is no tenant name: at most 64 letters"):
        file.create("laptop", name, Scope.FIT)
    assert not file.path.exists()


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be used"):
        KeysFile(tmp_path / "file" / "keys").create("laptop", "acme", Scope.FIT)
    with pytest.raises(SettingsError, match="cannot be read"):
        KeysFile(tmp_path).read()


class TestCommand:
    def test_the_key_alone_is_printed_and_never_again(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = str(tmp_path / "keys")
        assert main(["keys", "create", "laptop", "--scope", "predict", "--tenant", "acme", "--file", file]) == 0
        created = capsys.readouterr()
        token = created.out.strip()
        assert Keyring(file=Path(file)).find(token) == Principal("acme", Scope.PREDICT)
        assert "only time" in created.err
        assert main(["keys", "list", "--file", file]) == 0
        assert main(["keys", "list", "--json", "--file", file]) == 0
        listed = capsys.readouterr().out
        assert listed.splitlines()[1].split()[:3] == ["laptop", "acme", "predict"]
        [key] = json.loads(listed[listed.index("[") :])
        assert key["created_at"].startswith("20")
        assert token not in listed
        assert Path(file).read_text().split()[2] not in listed
        assert main(["keys", "revoke", "laptop", "--file", file]) == 0
        assert "no key is left: all requests will be refused" in capsys.readouterr().err
        assert Keyring(file=Path(file)).find(token) is None

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["create", "laptop"], "a key named 'laptop' already"),
            (["create", "a b"], "is no key name"),
            (["revoke", "nobody"], "no key named 'nobody'"),
        ],
    )
    def test_what_cannot_be_done_is_said(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
    ) -> None:
        path = tmp_path / "keys"
        KeysFile(path).create("laptop", "acme", Scope.FIT)
        before = path.read_text()
        assert main(["keys", *arguments, "--file", str(path)]) == 3
        assert sentence in capsys.readouterr().err
        assert path.read_text() == before

    def test_the_file_is_that_of_the_settings(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("MELM_KEYS_FILE", str(tmp_path / "named"))
        assert main(["keys", "create", "laptop"]) == 0
        monkeypatch.delenv("MELM_KEYS_FILE")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert main(["keys", "create", "laptop"]) == 0
        assert (tmp_path / "named").is_file()
        assert (tmp_path / "melm" / "keys").is_file()


def test_keys_rotate_beside_a_running_service(server: RedisServer, folder: Path, tmp_path: Path) -> None:
    file = KeysFile(tmp_path / "keys")
    old = file.create("old", "acme", Scope.FIT)
    with api_process(server.url, folder / "rotated.log", keys_file=file.path) as api:
        with api.client(old) as client:
            body = {"X": [[1.0], [2.0], [3.0], [4.0]], "y": ["a", "a", "b", "b"], "name": "rotated"}
            dataset = client.post("/v1/datasets", json=body).json()
            new = file.create("new", "acme", Scope.FIT)
            with api.client(new) as renewed:
                wait_until(lambda: renewed.get("/v1/fits").status_code == 200)
                file.revoke("old")
                wait_until(lambda: client.get("/v1/fits").status_code == 401)
                assert renewed.get(f"/v1/datasets/{dataset['id']}").json()["name"] == "rotated"
        log = api.log.read_text()
    assert old not in log
    assert new not in log
