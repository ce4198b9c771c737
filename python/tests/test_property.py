"""Property tests of a function."""

import os
import re
from pathlib import Path

import pytest
import samples

import qconform


@qconform.property(ops=["DequantizeLinear"], cases=30, seed=7)
def test_a_right_function(model, inputs):
    return samples.dequantize(model, inputs)


@qconform.property(ops=["DequantizeLinear"], cases=30, seed=7)
def test_with_a_fixture(tmp_path, model, inputs):
    assert tmp_path.is_dir()
    return samples.dequantize(model, inputs)


class TestOfAClass:
    @qconform.property(ops=["DequantizeLinear"], cases=30, seed=7)
    def test_a_method(self, model, inputs):
        return samples.dequantize(model, inputs)


def failure(test):
    with pytest.raises(AssertionError) as caught:
        test()
    return str(caught.value)


def test_a_failure_shows_the_smallest_case_and_the_seed():
    text = failure(qconform.property(ops=["DequantizeLinear"], cases=30, seed=7, explain=False)(samples.off_by_one))
    assert text.startswith("seed 7: QCONFORM_SEED=7 draws the same cases\nF1 wrong")
    assert "DequantizeLinear on off_by_one" in text
    assert "1 of 1 elements wrong" in text
    assert "qconform.replay(backend, '" in text
    file = text.partition("qconform.replay(backend, '")[2].partition("'")[0]
    assert qconform.replay(samples.off_by_one, file).verdict == "wrong"


def test_a_function_that_declines_all_fails():
    text = failure(qconform.property(ops=["QLinearConv"], cases=5, seed=1)(samples.dequantize))
    assert "no case was computed in a way that proves anything:" in text
    assert "QLinearConv: only DequantizeLinear without attributes (5)" in text


def test_a_crash_is_a_failure_of_the_test():
    def crashes(model, inputs):
        samples.aborts(model, inputs)

    assert "crashed" in failure(qconform.property(ops=["DequantizeLinear"], cases=3, seed=1)(crashes))


def test_graphs_are_drawn_too():
    @qconform.property(ops=["Graph"], suite="graphs", cases=10, seed=8)
    def computed(model, inputs):
        assert len(model.graph.node) > 1
        return samples.reference(model, inputs)

    computed()


def test_the_seed_is_another_one_or_that_of_the_environment(monkeypatch):
    test = qconform.property(ops=["DequantizeLinear"], cases=20, explain=False)(samples.off_by_one)
    monkeypatch.delenv("QCONFORM_SEED", raising=False)
    assert failure(test).partition(":")[0] != failure(test).partition(":")[0]
    monkeypatch.setenv("QCONFORM_SEED", "12")
    assert failure(test).startswith("seed 12:")
    monkeypatch.setenv("QCONFORM_SEED", "twelve")
    with pytest.raises(qconform.Error) as caught:
        test()
    assert (caught.value.field, caught.value.value) == ("QCONFORM_SEED", "twelve")


def test_mistakes_are_told():
    with pytest.raises(qconform.Error) as caught:
        qconform.property()(lambda x: x)
    assert "model and inputs" in str(caught.value)
    with pytest.raises(qconform.Error) as caught:
        qconform.property(ops=["NoSuchOperator"], cases=2, seed=1)(samples.dequantize)()
    assert "NoSuchOperator" in str(caught.value)


def test_a_failing_property_in_pytest(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    pytester.makepyfile(
        """
        import qconform, samples

        @qconform.property(ops=["DequantizeLinear"], cases=20, seed=3, explain=False)
        def test_dequantize(model, inputs):
            return samples.off_by_one(model, inputs)
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*seed 3: QCONFORM_SEED=3 draws the same cases", "*F1 wrong*", "*replay*"])


PLANTED = """
import numpy as np
import qconform, samples
from hypothesis import given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

def wanted(case):
    return case.expectation == "valid"

@settings(max_examples=500, deadline=None, derandomize=False, database=DirectoryBasedExampleDatabase("kept"))
@given(case=qconform.from_cases(ops=["DequantizeLinear"], where=wanted, count=300))
def test_dequantize(case):
    print("asked", repr(case))
    (y,) = case.reference()
    if y.size > 4:
        y = y + 1
    verdict = case.judge([y])
    assert verdict, verdict
"""


def test_hypothesis_finds_the_smallest_case_and_replays_it_first(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    pytester.makepyfile(PLANTED)
    asked = []
    for _ in range(2):
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
        result.assert_outcomes(failed=1)
        asked.append([line[6:] for line in result.outlines if line.startswith("asked ")])
        shown = re.search(r"case=(qconform\.cases\('random'\)\[\d+\]),$", result.stdout.str(), re.M).group(1)
    smallest = eval(shown, {"qconform": qconform})
    pool = [
        one for one in qconform.cases("random") if one.operator == "DequantizeLinear" and one.expectation == "valid"
    ]
    wrong = [case for case in pool[:300] if case.reference()[0].size > 4]
    assert smallest in wrong
    assert sum(len(case.json) < len(smallest.json) for case in wrong) < len(wrong) / 10
    assert asked[0][0] != repr(smallest)
    assert asked[1][0] == repr(smallest)
    assert len(asked[1]) < len(asked[0])


def test_a_case_is_found_by_its_place():
    for case in [*qconform.cases("random", seed=3, count=3), *qconform.cases("corpus", count=3)]:
        assert eval(repr(case), {"qconform": qconform}) == case
    for index in (-1, 10**6):
        with pytest.raises(IndexError, match=f"corpus has no case {index}"):
            qconform.cases("corpus")[index]


def test_what_no_case_is_is_told_when_the_test_runs():
    import hypothesis

    def never(case):
        return False

    strategy = qconform.from_cases("corpus", ops=["QLinearConv"], where=never, count=2)
    with pytest.raises(qconform.Error, match="corpus has no case of QLinearConv that is wanted"):
        hypothesis.find(strategy, lambda case: True)
