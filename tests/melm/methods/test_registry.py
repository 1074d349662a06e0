from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm import methods
from melm.methods import METHODS, discover, fit
from tests.melm.samples import mixture

PAGE = Path(__file__).parents[3] / "docs" / "methods.md"


def test_every_module_of_the_package_is_a_method_or_serves_them_all() -> None:
    modules = {path.stem for path in Path(methods.__file__).parent.glob("*.py")}
    with_method = {type(method).__module__.rpartition(".")[2] for method in METHODS.values()}
    assert modules - with_method == {"__init__", "base", "convergence"}


def test_names_are_those_that_people_ask_for() -> None:
    asked = {"melm", "pca", "cpca", "2epca", "ppca", "ica", "fa", "nmf", "gem", "lda", "nca", "pls", "identity"}
    assert set(METHODS) == asked
    assert next(iter(METHODS)) == "melm"


def test_titles_and_parameter_models_are_distinct() -> None:
    for names in ([m.title for m in METHODS.values()], [m.Parameters.__name__ for m in METHODS.values()]):
        assert len(set(names)) == len(METHODS)


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"method='tsne' is not one of melm, .*pca"):
        fit("tsne", np.eye(4), [0, 0, 1, 1])


def test_importing_the_registry_stays_light() -> None:
    heavy = ("sklearn.decomposition", "sklearn.neighbors", "sklearn.svm", "sklearn.model_selection")
    code = f"import sys, melm.methods; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_the_page_lists_every_method_as_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (yes|no) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(m.name, m.title, "yes" if m.orthonormal else "no") for m in METHODS.values()]


def test_the_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of the page becomes a method by lying in the package; all other examples run in order."""
    page = PAGE.read_text()
    ((file_name, source),) = re.findall(r"<!-- file: (\w+\.py) -->\n```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / file_name).write_text(source)
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    added = discover()
    monkeypatch.delitem(sys.modules, f"melm.methods.{Path(file_name).stem}")
    (name,) = set(added) - set(METHODS)
    monkeypatch.setitem(METHODS, name, added[name])
    X, y = mixture([30, 20], 4)
    model = fit(name, X, y)
    np.testing.assert_allclose(model.projection.T @ model.projection, np.eye(2), atol=1e-12)
    assert model.predict(X).shape == (50,)

    namespace: dict[str, Any] = {}
    for example in re.findall(r"(?<!-->\n)```python\n(.*?)```", page, re.DOTALL):
        exec(example, namespace)  # noqa: S102
    assert "(178, 2)" in capsys.readouterr().out
