"""Further commands: fuzz, matrix, bisect, model, gate; and the options of all."""

import inspect
import re

import numpy as np
import pytest
import samples

import models
import qconform
from qconform import _program, runner

COMMANDS = {name: getattr(qconform, name) for name in ("run", "fuzz", "matrix", "bisect", "model", "gate")}
#: Options that an argument in Python stands for, by another name or by position.
POSITIONAL = {"backend", "suite", "baseline"}
#: What these have in Python alone.
OF_PYTHON = {"name", "progress"}


def options_in_help(command):
    """The long options, and of each whether it takes a value."""
    told = _program.run([command, "--help"]).stdout.partition("\nOptions:\n")[2]
    found = re.findall(r"^  (?:-\w,)?--([\w-]+)(?:,--[\w-]+)*( [A-Z]+)?", told, re.M)
    return {name: bool(value) for name, value in found if name != "help"}


class Told(Exception):
    """Instead of a run."""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_program_is_an_argument(command, monkeypatch):
    def tell(arguments, environment, watcher):
        raise Told(arguments)

    monkeypatch.setattr(runner, "watch", tell)
    known = options_in_help(command)
    assert len(known) > 5
    operands = {"bisect": ["scalar", "case.json"], "gate": ["report.json", "base.json"]}.get(command, ["scalar"])
    for option, takes_value in known.items():
        if option in POSITIONAL:
            continue
        given = option.replace("-", "_") + ("_" if option == "for" else "")
        if option.startswith("no-") and not takes_value:
            given, value = given[3:], False
        else:
            value = "7" if takes_value else True
        with pytest.raises(Told) as caught:
            COMMANDS[command](*operands, **{given: value})
        (arguments,) = caught.value.args
        assert f"--{option}" in arguments
        if takes_value:
            assert "7" in arguments[arguments.index(f"--{option}") + 1]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_named_argument_is_an_option_of_the_program(command):
    named = {
        name
        for name, parameter in inspect.signature(COMMANDS[command]).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    known = options_in_help(command)
    for name in named - OF_PYTHON:
        option = name.rstrip("_").replace("_", "-")
        assert option in known or f"no-{option}" in known


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_is_none_is_an_error(command):
    operands = {"bisect": ["scalar", "c.json"], "gate": ["r.json", "b.json"], "model": ["m.onnx"]}.get(
        command, ["scalar"]
    )
    with pytest.raises(qconform.Error, match="--no-such-option"):
        COMMANDS[command](*operands, no_such_option=1)


def test_fuzz(tmp_path):
    report = qconform.fuzz("defect:half-away", cases=300, seed=3, out=tmp_path, shrink=False, explain=False)
    assert not report.conforms
    assert (report.cases, report.seed) == (300, 3)
    assert {finding.verdict for finding in report.findings} == {"wrong"}
    assert report.document["command"][0] == "fuzz"


def test_fuzz_of_a_function(tmp_path):
    def mine(model, inputs):
        return samples.off_by_one(model, inputs)

    report = qconform.fuzz(
        mine, cases=200, seed=1, name="mine", out=tmp_path, shrink=False, explain=False, within=False
    )
    assert report.backends[0].name == "mine"
    assert {finding.operator for finding in report.findings} == {"DequantizeLinear"}


def test_matrix(small_suite, tmp_path):
    mine = [samples.dequantize, "samples:off_by_one"]
    matrix = qconform.matrix(mine, str(small_suite), out=tmp_path / "out", explain=False, shrink=False)
    assert [backend.conforms for backend in matrix.report.backends] == [True, False]
    (row,) = matrix.rows
    assert (row.operator, row.verdict, row.library) == ("DequantizeLinear", "wrong", "samples:off_by_one")
    (cell,) = row.cells
    (finding,) = matrix.report.findings
    assert (cell.backend, cell.state, cell.cases) == ("samples:off_by_one", "wrong", 3)
    assert (cell.finding, cell.replay) == ("F1", finding.replay)
    assert "samples:off_by_one: 1 cause in 1 backend" in str(matrix)


def test_bisect(small_suite):
    case = qconform.cases(str(small_suite))[0]
    found = qconform.bisect(["scalar", samples.off_by_one, "avx2"], case)
    assert [release.verdict for release in found.releases] == ["pass", "wrong", "pass"]
    assert found.releases[1].detail == "2 of 2 elements wrong"
    shown = found.releases[1].backend
    assert "process:" not in shown
    assert [(turn.change, turn.before, turn.after) for turn in found.changes] == [
        ("broken", "scalar", shown),
        ("mended", shown, "avx2"),
    ]
    with pytest.raises(qconform.Error, match="or several backends"):
        qconform.bisect("scalar", case)


def test_model(tmp_path):
    pytest.importorskip("onnxruntime")
    softmax = models.softmax()
    softmax.ir_version = 9
    given = {"q": np.array([[1, 2, 3, 4]], np.uint8)}
    settings = ["onnxruntime@all", "onnxruntime@disabled"]
    reports = qconform.model(softmax, settings, inputs=given, out=tmp_path)
    assert [report.backends[0].name for report in reports] == settings
    for report, setting in zip(reports, settings):
        assert report.conforms
        assert [(layer.state, layer.elements, layer.finding) for layer in report.layers] == [("right", 4, "")]
        assert report.layers[0].id in {result.id for result in report.results()}
        assert str(report).count("conforms: ") == 1
        assert f"conforms: {setting}" in str(report)
    with pytest.raises(qconform.Error, match="scalar computes no whole models"):
        qconform.model(softmax, "scalar")


def test_gate(small_suite, tmp_path):
    before, after = (
        qconform.run(backend, str(small_suite), name="mine: of 8 bits", out=tmp_path / str(i), explain=False)
        for i, backend in enumerate((samples.dequantize, samples.off_by_one))
    )
    worse = qconform.gate(after, before)
    assert not worse
    assert worse.same_cases
    assert worse.changes[0].effect == "worse"
    (cause,) = worse.causes
    assert (cause.state, cause.backend, cause.cases, cause.cases_before) == ("new", "mine: of 8 bits", 3, 0)
    assert cause.findings == ("F1",)
    assert "worse: mine: of 8 bits DequantizeLinear: wrong in 3 cases" in str(worse).splitlines()
    better = qconform.gate(before.folder / "report.json", after, store_baseline=tmp_path / "stored.json")
    assert better
    assert [cause.state for cause in better.causes] == ["gone"]
    same = qconform.gate(before, tmp_path / "stored.json")
    assert (bool(same), same.causes, str(same)) == (True, (), "nothing changed")
