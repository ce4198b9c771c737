"""Property tests of a function."""

import os
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
