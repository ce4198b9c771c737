"""The plugin: tests by rule and feature, the suites run once, findings with their replay lines."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import qconform
from qconform import pytest_plugin
from qconform.report import CaseResult

HERE = str(Path(__file__).parent)


@pytest.fixture
def run(pytester, small_suite, monkeypatch):
    """Runs pytest with the plugin on the small suite."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]))

    def run(backend, *arguments, suite=small_suite):
        plugin = [] if is_installed() else ["-p", "qconform.pytest_plugin"]
        return pytester.runpytest_subprocess(
            *plugin,
            *("--qconform-backend", backend, "--qconform-suite", str(suite), "--qconform-no-explain"),
            *arguments,
        )

    return run


def is_installed():
    """Whether pytest finds the plugin by itself."""
    from importlib.metadata import entry_points

    found = entry_points()
    groups = found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", [])
    return any(entry.name == "qconform" for entry in groups)


OUTCOME = re.compile(r"^(?:\.\./)*qconform\[.*?\]::(.*?) (PASSED|FAILED|SKIPPED|XFAIL)", re.M)


def outcomes(result):
    """By name of the test."""
    return {match[1]: match[2].lower() for match in OUTCOME.finditer(result.stdout.str())}


@pytest.mark.slow
def test_one_test_for_each_rule(run):
    result = run("samples:dequantize", "-v", "--qconform-out", "out")
    assert outcomes(result) == {
        "DequantizeLinear D1": "passed",
        "DequantizeLinear D5": "passed",
        "DequantizeLinear D7": "passed",
        "DequantizeLinear D8": "passed",
        "QuantizeLinear Q2": "skipped",
        "whole run": "passed",
    }
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "qconform: samples:dequantize: detection power on this contract: * of * mutants that apply",
            "qconform: report */out/report.json, page */out/report.html",
        ]
    )


def test_a_failing_class_shows_the_smallest_case(run):
    result = run("samples:odd_zero_points", "-v")
    found = outcomes(result)
    assert found["DequantizeLinear D5"] == "failed"
    assert found["DequantizeLinear D1"] == "passed"
    assert found["DequantizeLinear D8"] == "passed"
    assert found["QuantizeLinear Q2"] == "skipped"
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "1 wrong",
            "F1 wrong*DequantizeLinear on samples:odd_zero_points*1 case",
            "*smallest*y[[]*[]] got *, admissible {*}",
            "*replay*qconform replay *F1.json --backend 'process:* -m qconform.serve *samples:odd_zero_points'",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str()


def test_what_processes_share_is_json(run, pytester):
    result = run("samples:odd_zero_points", "--qconform-out", "out")
    assert result.ret == 1
    folder = pytester.path / "out"
    assert not list(folder.glob("*.pickle"))
    made = json.loads((folder / "pytest-report.json").read_text())["made"]
    again = qconform.report.from_json(made)
    assert again.findings[0].backend == "samples:odd_zero_points"
    assert qconform.report.to_json(again) == made
    classes = json.loads((folder / "pytest-classes.json").read_text())["made"]
    assert all(len(key) == 2 for keys in classes.values() for key in keys)


def test_the_suite_runs_once_with_xdist(run, tmp_path, monkeypatch):
    starts = tmp_path / "starts"
    monkeypatch.setenv("SAMPLES_STARTS", str(starts))
    (tmp_path / "counted.py").write_text(
        "import os, samples\n"
        "with open(os.environ['SAMPLES_STARTS'], 'a') as file: file.write('x')\n"
        "compute = samples.odd_zero_points\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    result = run("counted:compute", "-n", "2")
    result.assert_outcomes(passed=4, failed=1, skipped=1)
    assert starts.read_text() == "x"


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ([], "the report has none of its cases"),
        (["vacuous", "unsupported"], "1 vacuous, 1 unsupported; the report leaves out 1"),
        (["vacuous", "unsupported", "not-asked"], "1 vacuous, 1 unsupported, 1 not-asked$"),
    ],
)
def test_a_class_of_which_the_report_shows_nothing_right_is_skipped(verdicts, reason):
    cases = ["a", "b", "c"]
    results = [CaseResult("s", "o", case, "", {"x": verdict}, {}) for case, verdict in zip(cases, verdicts)]
    report = SimpleNamespace(results=lambda: iter(results), findings=())
    test = SimpleNamespace(run=SimpleNamespace(report=lambda: report), keys={(case, "") for case in cases})
    with pytest.raises(pytest.skip.Exception, match=reason):
        pytest_plugin.ClassTest.runtest(test)


def test_without_options_the_suites_are_those_of_the_default_run(monkeypatch, tmp_path):
    """With cases made for what the backend takes, which alone find some defects of narrow kernels."""
    options = {"backend": "plugin:./mine.so", "out": str(tmp_path), "seed": 1, "timeout": 10}
    config = SimpleNamespace(getoption=lambda name: options.get(name[len("--qconform-") :]))
    given = {}
    monkeypatch.setattr(pytest_plugin.runner, "run", lambda _, suites, **named: given.update(named, suites=suites))
    pytest_plugin._Run(config)._make_report()
    assert given["suites"] == ["conformance"]
    assert given.get("within", True)
    assert given["power"]


@pytest.mark.slow
def test_names_choose_among_the_tests(run):
    result = run("samples:dequantize", "-v", "-k", "D1 or Q2")
    assert set(outcomes(result)) == {"DequantizeLinear D1", "QuantizeLinear Q2"}


@pytest.mark.slow
def test_beside_tests_of_files(run, pytester):
    pytester.makepyfile("def test_mine(): pass")
    run("samples:dequantize").assert_outcomes(passed=6, skipped=1)


@pytest.mark.slow
def test_a_waived_finding_is_an_expected_failure(run, tmp_path, small_suite):
    digest = next(case.digest for case in qconform.cases(str(small_suite)) if case.id == "zero")
    waiver = {
        "id": "odd",
        "backends": ["samples:odd_zero_points"],
        "versions": {"from": "-", "to": "-"},  # the sample has none
        "operator": "DequantizeLinear",
        "verdict": "wrong",
        "signature": {"cases": [{"id": "zero", "case": digest}]},
        "reason": "known since long",
        "reference": "none",
    }
    waivers = tmp_path / "waivers.json"
    waivers.write_text(json.dumps({"format": "qconform-waivers", "version": 1, "waivers": [waiver]}))
    result = run("samples:odd_zero_points", "-rx", "--qconform-waivers", str(waivers))
    result.assert_outcomes(passed=4, xfailed=1, skipped=1)
    result.stdout.fnmatch_lines(["XFAIL*D5*odd: known since long*"])


@pytest.mark.slow
def test_a_backend_that_computes_nothing_fails(run):
    result = run("samples:raises", "-v")
    assert outcomes(result)["whole run"] == "failed"
    assert outcomes(result)["DequantizeLinear D1"] == "skipped"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--qconform-suite", "no-such-suite"], "*no-such-suite*"),
        (["--qconform-profile", "no-such-profile"], "*no-such-profile*"),
    ],
)
def test_mistakes_are_told(run, arguments, message):
    result = run("samples:dequantize", *arguments)
    assert result.ret != 0
    (result.stderr if result.ret == 4 else result.stdout).fnmatch_lines([message])


def test_options_need_a_backend(pytester):
    plugin = [] if is_installed() else ["-p", "qconform.pytest_plugin"]
    result = pytester.runpytest_subprocess(*plugin, "--qconform-suite", "corpus")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--qconform-suite needs --qconform-backend"])
