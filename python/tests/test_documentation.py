"""The examples of docs/python.md, and the example programs."""

import ast
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import samples

import qconform
from qconform import _program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
FIVE_LINES = BLOCKS[0]
ONNX_RUNNER = next(block for block in BLOCKS if "onnx_runner" in block)
OTHERS = [block for block in BLOCKS if block not in (FIVE_LINES, ONNX_RUNNER)]


@pytest.fixture
def small_corpus(small_suite, monkeypatch):
    """The suite corpus is this file: examples stay as they are, and are fast."""
    folder = small_suite.parent / "corpus"
    folder.mkdir()
    small_suite.rename(folder / "small.json")
    monkeypatch.setenv("QCONFORM_CORPUS", str(folder))
    return folder


def test_the_page_has_its_examples():
    assert len(BLOCKS) == 8


def test_the_first_example_is_five_lines():
    assert len(FIVE_LINES.strip().replace("\n\n", "\n").splitlines()) == 5


def test_the_readme_has_the_same_five_lines():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    if "import qconform" not in readme:
        pytest.skip("README.md does not speak of Python yet")
    assert FIVE_LINES in readme


def test_five_lines(small_corpus, tmp_path, monkeypatch):
    # ReferenceEvaluator as the lines name it, and one that is wrong.
    (tmp_path / "lines.py").write_text(FIVE_LINES)
    done = run_file(tmp_path / "lines.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "F1 not-rejected (D7)" in done.stdout
    assert "replay    qconform replay " in done.stdout


def run_file(file):
    return subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, cwd=file.parent, timeout=300, check=False
    )


def a_convolution():
    """What an example speaks of: a model with x, and an output of four dimensions."""
    for case in qconform.cases("random"):
        if case.operator == "QLinearConv":
            y = case.reference()[0]
            if y.ndim == 4 and all(extent > place for extent, place in zip(y.shape, (0, 3, 1, 1))):
                return {"model": case.model, "x": case.inputs[0], "y": y, "qconform": qconform}
    raise AssertionError("no such case")


def test_an_explained_example_is_there():
    assert sum("qconform.explain(" in example for example in OTHERS) == 1


@pytest.mark.parametrize(
    "example", [pytest.param(e, marks=[pytest.mark.slow] if "qconform.explain(" in e else []) for e in OTHERS]
)
def test_examples_of_the_page(example, capsys):
    names = {"__name__": "example", **(a_convolution() if "import" not in example else {})}
    exec(compile(example, "docs/python.md", "exec"), names)
    for name, value in names.items():
        if name.startswith("test_"):
            value()


def test_the_example_of_onnx_runner(tmp_path, monkeypatch, small_suite):
    module = types.ModuleType("my.module")
    module.Backend = samples.ReferenceBackend
    monkeypatch.setitem(sys.modules, "my", types.ModuleType("my"))
    monkeypatch.setitem(sys.modules, "my.module", module)
    monkeypatch.chdir(tmp_path)
    _program.run(
        ["export", "--suite", str(small_suite), "--format", "onnx-test", "--admissible", "-o", str(tmp_path / "cases")]
    )
    names = {"__name__": "example"}
    exec(compile(ONNX_RUNNER, "docs/python.md", "exec"), names)
    tests = [name for name in dir(names["OnnxBackendNodeModelTest"]) if name.startswith("test_")]
    assert len(tests) == 8  # on two devices; the case that must be refused is left out


def test_the_numpy_backend_is_right_on_what_it_takes(small_corpus):
    file = ROOT / "python" / "examples" / "numpy_backend.py"
    assert len(file.read_text().splitlines()) <= 40
    sys.path.insert(0, str(file.parent))
    try:
        import numpy_backend

        report = qconform.run(numpy_backend.compute, "random", cases=400, explain=False, shrink=False)
    finally:
        sys.path.remove(str(file.parent))
    assert report.conforms, str(report)
    assert report.backends[0].count("pass") >= 20


def test_examples_say_how_they_are_run():
    for file in (ROOT / "python" / "examples").glob("*.py"):
        text = ast.get_docstring(ast.parse(file.read_text()))
        assert f"python3 {file.name}" in text, file
        assert os.path.relpath(file, ROOT / "docs") in PAGE
