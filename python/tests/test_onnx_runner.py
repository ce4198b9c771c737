"""ONNX's own runner on exported cases, and the sets of right values that travel beside them (docs/python.md)."""

import json
import shutil
import unittest
from pathlib import Path

import numpy as np
import onnx
import pytest
import samples

import qconform
import qconform.onnx_runner
from qconform import _program
from qconform._tensors import parse_tensor

COUNT = 12


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Cases that ONNX's evaluator gets right, as folders."""
    out = tmp_path_factory.mktemp("exported")
    arguments = ["--cases", str(COUNT), "--seed", "7", "--format", "onnx-test", "--admissible", "-o", str(out)]
    _program.run(["export", "--suite", "random", *arguments])
    return sorted(out.iterdir())


def result_on(folder, backend=samples.ReferenceBackend):
    """What ONNX's runner finds."""
    result = unittest.TestResult()
    unittest.TestSuite(qconform.onnx_runner.backend_test(backend, folder, __name__).test_suite).run(result)
    return result


@pytest.fixture(scope="module")
def computed(folders, tmp_path_factory):
    """A folder of the cases whose operators ONNX's evaluator has."""
    below = tmp_path_factory.mktemp("computed")
    for folder in folders:
        if is_computed(folder):
            shutil.copytree(folder, below / folder.name)
    return below


def test_onnx_runs_exported_cases(computed):
    result = result_on(computed)
    count = len(list(computed.iterdir()))
    assert count >= 3
    assert result.testsRun - len(result.skipped) == count  # it skips CUDA
    assert (result.errors, result.failures) == ([], [])


class OffByOne(samples.ReferenceBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **arguments):
        prepared = super().prepare(model, device, **arguments)
        right = prepared.run
        prepared.run = lambda inputs, **_: [np.asarray(output) + output.dtype.type(1) for output in right(inputs)]
        return prepared


def test_onnx_sees_a_wrong_answer_and_tells_the_set(computed):
    result = result_on(computed, OffByOne)
    assert len(result.failures) == len(list(computed.iterdir()))
    assert "admissible {'ranges': [[" in result.failures[0][1]


def test_without_sets_onnx_compares_by_itself(computed, tmp_path):
    shutil.copytree(computed, tmp_path / "copy")
    for file in (tmp_path / "copy").glob("*/test_data_set_0/admissible.json"):
        file.unlink()
    assert result_on(tmp_path / "copy", OffByOne).failures != []


def test_a_folder_without_cases_is_an_error(tmp_path):
    with pytest.raises(qconform.Error) as caught:
        qconform.onnx_runner.backend_test(samples.ReferenceBackend, tmp_path)
    assert caught.value.field == "folder"


def answer_of(folder):
    """ONNX's evaluator on a folder."""
    inputs = [
        parse_tensor(file.read_bytes())
        for file in sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda f: int(f.stem[6:]))
    ]
    model = onnx.load(folder / "model.onnx")
    return samples.ReferenceEvaluator(model).run(None, dict(zip([v.name for v in model.graph.input], inputs)))


def is_computed(folder):
    """Whether ONNX's evaluator has the operator's version, and gets it right."""
    try:
        answer_of(folder)
    except Exception:
        return False
    return True


def test_the_sets_are_those_of_the_library(folders):
    compared = 0
    for folder in folders:
        stated = json.loads((folder / "test_data_set_0" / "admissible.json").read_text())
        assert (stated["format"], stated["version"]) == ("qconform-admissible", 1)
        assert stated["expectation"] == "valid"
        inputs = [
            parse_tensor(file.read_bytes())
            for file in sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda f: int(f.stem[6:]))
        ]
        for right, known in zip(stated["outputs"], qconform.admissible(onnx.load(folder / "model.onnx"), inputs)):
            assert (right["name"], right["shape"]) == (known.name, list(known.shape))
            read = qconform.onnx_runner.Admissible(folder / "test_data_set_0" / "admissible.json")
            sets = read.sets(0)
            for place, index in enumerate(np.ndindex(known.shape)):
                assert sets[right["elements"][place]].ranges == known[index].ranges
                assert str(known[index]) != ""
            compared += 1
    assert compared == COUNT


def test_a_case_out_of_contract_has_no_sets(tmp_path):
    (tmp_path / "in").mkdir()
    case = next(case for case in qconform.cases("corpus") if case.expectation == "invalid")
    case.save(tmp_path / "in" / "case.json")
    arguments = ["--format", "onnx-test", "--admissible", "-o", str(tmp_path / "out")]
    _program.run(["export", "--suite", str(tmp_path / "in" / "case.json"), *arguments])
    folder = next(Path(tmp_path / "out").iterdir())
    stated = json.loads((folder / "test_data_set_0" / "admissible.json").read_text())
    assert stated["expectation"] == "invalid"
    assert stated["remark"]["rule"] in case.rules
    assert stated["outputs"] == []
    assert not (folder / "test_data_set_0" / "output_0.pb").exists()


def test_a_case_that_may_be_refused_is_left_out(tmp_path):
    (tmp_path / "in").mkdir()
    cases = [case for case in qconform.cases("corpus") if case.expectation == "implementation-defined"][:30]
    for case in cases:
        case.save(tmp_path / "in" / "case.json")
        arguments = ["--suite", str(tmp_path / "in" / "case.json"), "--format", "onnx-test", "--admissible"]
        _program.run(["export", *arguments, "-o", str(tmp_path / "out")])
        if list((tmp_path / "out").glob("*/test_data_set_0/output_0.pb")):
            break
        shutil.rmtree(tmp_path / "out")
    assert (tmp_path / "out").exists()
    with pytest.raises(qconform.Error, match="output_0"):
        qconform.onnx_runner.backend_test(samples.ReferenceBackend, tmp_path / "out")
