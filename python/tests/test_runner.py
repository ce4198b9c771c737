"""Runs and reports, explanations, smallest cases."""

import html.parser
import json

import pytest
import samples

import qconform


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    from conftest import SMALL_SUITE

    (folder / "small.json").write_text(SMALL_SUITE)
    suite, name = str(folder / "small.json"), "off <by> one & more"
    return qconform.run(samples.off_by_one, suite, out=folder / "out", name=name, explain=False)


def test_a_report(report):
    assert report.conforms is False
    assert report.cases == 5
    assert report.seed == 1
    backend = report.backends[0]
    assert backend.name == "off <by> one & more"
    assert backend.count("wrong") == 3
    result = backend.operators["QuantizeLinear"]
    assert {verdict: count for verdict, count in result.verdicts.items() if count} == {"unsupported": 1}
    assert result.unsupported_reasons == {"only DequantizeLinear without attributes": 1}
    assert backend.operators["DequantizeLinear"].failing == 3
    assert [path.name for path in sorted(report.folder.glob("report.*"))][-1] == "report.json"


def test_a_finding(report):
    finding = report.findings[0]
    assert (finding.id, finding.verdict, finding.operator) == ("F1", "wrong", "DequantizeLinear")
    assert finding.backend == "off <by> one & more"
    assert finding.cases == 3
    assert finding.file.exists()
    assert finding.model_file.exists()
    assert (finding.test_folder / "model.onnx").exists()
    assert finding.worst.distance == 1
    assert "samples:off_by_one" in finding.replay
    assert str(finding).startswith("F1 wrong")
    assert f"replay    {finding.replay}" in str(finding)
    assert qconform.replay(samples.off_by_one, finding).verdict == "wrong"
    assert qconform.replay(samples.dequantize, finding)


def test_the_replay_line_works_in_a_shell(report, monkeypatch):
    import os
    import subprocess

    from qconform import _program

    line = report.findings[0].replay.replace("qconform replay", f"{_program.program()} replay", 1)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(__import__("sys").path))
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1, done.stderr
    assert "elements wrong" in done.stdout


def test_single_cases_of_a_report(report):
    results = {result.id: result for result in report.results()}
    assert results["two"].verdicts == {"off <by> one & more": "wrong"}
    assert results["two"].findings == {"off <by> one & more": "F1"}
    assert results["shapes-differ"].verdicts == {"off <by> one & more": "refused"}
    assert results["shapes-differ"].findings == {}


def test_the_text_calls_the_backend_by_its_name(report):
    text = str(report)
    assert "does not conform: off <by> one & more" in text
    assert "process:" not in text.replace(report.findings[0].replay, "")


class Tags(html.parser.HTMLParser):
    """Checks that all tags are closed, and that nothing is a script."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "style", "link", "img", "br")
        assert all(not name.startswith("on") for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def text_of(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags.text


def test_notebook_forms(report, small_suite):
    finding = report.findings[0]
    text = text_of(report._repr_html_())
    assert "off <by> one & more" in text
    assert finding.replay in text
    assert text.count("F1") >= 1
    assert "DequantizeLinear" in text
    assert finding.worst.admissible in text_of(finding._repr_html_())
    verdict = qconform.replay(lambda model, inputs: samples.off_by_one(model, inputs), finding)
    assert "wrong" in text_of(verdict._repr_html_())
    assert "right" not in text_of(verdict._repr_html_())


@pytest.mark.slow
def test_an_explanation(tmp_path):
    # Rounds after adding the zero point, as several runtimes do.
    report = qconform.run("defect:zp-before-round", "corpus", explain=False, out=tmp_path)
    finding = next(found for found in report.findings if found.operator == "QLinearConv")
    explanation = qconform.explain("defect:zp-before-round", finding, max_cases=200)
    assert explanation.status == "explained"
    assert explanation.defects[0].id == "zp-before-round"
    assert explanation.tested > 0
    assert explanation.reproduced == explanation.tested
    assert "zero point is added before rounding" in str(explanation)
    assert "zero point is added before rounding" in text_of(explanation._repr_html_())


def test_the_smallest_case(tmp_path):
    case = {
        "format": "qconform-cases",
        "version": 1,
        "cases": [
            {
                "id": "twelve",
                "op_type": "DequantizeLinear",
                "opset_version": 19,
                "inputs": [
                    {"name": "x", "type": "uint8", "shape": [3, 4], "data": list(range(12))},
                    {"name": "x_scale", "type": "float", "shape": [], "data": [0.7]},
                    {"name": "x_zero_point", "type": "uint8", "shape": [], "data": [5]},
                ],
            }
        ],
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case))
    backend = lambda model, inputs: samples.odd_zero_points(model, inputs)  # noqa: E731
    shrunk = qconform.shrink(backend, file, out=tmp_path / "smallest.json")
    assert shrunk.ending == "minimal"
    assert shrunk.steps > 0
    assert shrunk.verdict == "wrong"
    assert "x uint8 [3]" in shrunk.after
    assert shrunk.file == tmp_path / "smallest.json"
    assert qconform.replay(backend, shrunk.file).elements == 3
    assert "[3]" in text_of(shrunk._repr_html_())


def test_nothing_to_shrink_or_explain(small_suite):
    case = next(iter(qconform.cases(str(small_suite))))
    backend = lambda model, inputs: samples.dequantize(model, inputs)  # noqa: E731
    shrunk = qconform.shrink(backend, case)
    assert (shrunk.ending, shrunk.file, shrunk.replay) == ("does-not-fail", None, "")
    explanation = qconform.explain(backend, case)
    assert (explanation.verdict, explanation.status) == ("pass", "")


def test_a_case_may_be_a_model(small_suite):
    case = next(iter(qconform.cases(str(small_suite))))
    model = case.model
    import numpy as np
    import onnx.numpy_helper

    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([3, 5], np.uint8), "x"))
    assert qconform.replay(lambda model, inputs: samples.dequantize(model, inputs), model)


def test_two_backends_side_by_side(small_suite):
    others = lambda model, inputs: samples.off_by_one(model, inputs)  # noqa: E731
    report = qconform.run(["samples:dequantize", others], str(small_suite), explain=False, shrink=False)
    assert [backend.conforms for backend in report.backends] == [True, False]
    assert [finding.backend for finding in report.findings] == [report.backends[1].name]
    replay = report.findings[0].replay
    assert replay == f"qconform.replay(backend, {str(report.findings[0].file)!r})"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"suites": "no-such-suite"}, "--suite"),
        ({"profile": "no-such-profile"}, "--profile"),
        ({"timeout": -1}, "--timeout"),
        ({"seed": -1}, "--seed"),
        ({"waivers": "/no/such/file"}, "/no/such/file"),
        ({"min_judge": 0.5}, "--min-judge"),
    ],
)
def test_mistakes_are_errors(arguments, field):
    with pytest.raises(qconform.Error) as caught:
        qconform.run("scalar", **{"suites": "corpus", **arguments})
    assert field in f"{caught.value.field} {caught.value}"


def test_every_option_of_the_program_is_an_argument(tmp_path, small_suite):
    qconform.run("scalar", str(small_suite), out=tmp_path, context=1, expect_fused=False, valid_only=True)
    command = json.loads((tmp_path / "report.json").read_text())["command"]
    assert command[0] == "run"
    assert command[command.index("--context") + 1] == "1"
    assert "--valid-only" in command
    assert "--expect-fused" not in command


def test_several_backends_have_their_own_names():
    with pytest.raises(qconform.Error) as caught:
        qconform.run(["scalar", "avx2"], name="both")
    assert caught.value.field == "name"


def test_backends_of_one_name_are_told_apart(tmp_path):
    from conftest import SMALL_SUITE

    (tmp_path / "small.json").write_text(SMALL_SUITE)
    chosen = [
        lambda model, inputs: samples.dequantize(model, inputs),
        lambda model, inputs: samples.off_by_one(model, inputs),
    ]
    report = qconform.run(chosen, str(tmp_path / "small.json"), out=tmp_path / "out", explain=False, shrink=False)
    first, second = (backend.name for backend in report.backends)
    assert second == f"{first} #2"
    assert {finding.backend for finding in report.findings} == {second}


def test_the_onnxruntime_of_this_environment_is_judged(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from conftest import SMALL_SUITE

    (tmp_path / "small.json").write_text(SMALL_SUITE)
    report = qconform.run("onnxruntime@all", str(tmp_path / "small.json"), out=tmp_path / "out")
    assert report.backends[0].name == "onnxruntime@all"
    assert report.backends[0].version == onnxruntime.__version__
    assert report.backends[0].count("pass") > 0
    with pytest.raises(qconform.Error, match='"onnxruntime@al": no word "al"'):
        qconform.run("onnxruntime@al", "corpus", out=tmp_path / "none")
