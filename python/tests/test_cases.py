"""Suites give cases, and cases keep what they are in every form."""

import json
import pickle
import threading

import numpy as np
import onnx
import pytest

import qconform
from models import convolution, quantize


def test_the_same_seed_gives_the_same_cases():
    first = list(qconform.cases("random", seed=7, count=20))
    again = list(qconform.cases("random", seed=7, count=20))
    other = list(qconform.cases("random", seed=8, count=20))
    assert len(first) == 20
    assert first == again
    assert {case.digest for case in first} != {case.digest for case in other}


def test_a_case_says_what_it_is():
    corpus = list(qconform.cases("corpus"))
    assert len(corpus) > 2000
    kinds = ("valid", "implementation-defined", "invalid")
    by_expectation = {kind: [case for case in corpus if case.expectation == kind] for kind in kinds}
    assert all(by_expectation.values())
    assert sum(map(len, by_expectation.values())) == len(corpus)
    refused = by_expectation["invalid"][0]
    assert refused.remark.endswith(f"[rule {refused.rules[-1]}]")
    for case in corpus[::100]:
        assert case.source.endswith(".json")
        assert case.rules
        assert case.note
        assert case.operator in str(case)
        assert case.stated in ("unstated", case.expectation)


@pytest.mark.parametrize("suite", ["corpus", "random", "graphs", "directed"])
def test_every_form_is_the_same_case(suite, tmp_path):
    for number, case in enumerate(qconform.cases(suite, count=60)):
        assert qconform.Case.from_json(case.json) == case
        assert pickle.loads(pickle.dumps(case)) == case
        for ending in ("json", "onnx"):
            case.save(tmp_path / f"{number}.{ending}")
            assert qconform.Case.load(tmp_path / f"{number}.{ending}") == case
        # What the model and its inputs are is all that is computed.
        fed = qconform.Case.from_model(case.model, case.inputs)
        assert fed.digest == case.digest
        assert fed.expectation == case.expectation
        if case.expectation == "valid":
            onnx.checker.check_model(case.model)


def test_inputs_are_activations():
    case = qconform.Case.from_model(convolution(), [np.ones((1, 1, 1, 2), np.uint8)])
    assert case.input_names == ("x",)
    assert [value.name for value in case.model.graph.input] == ["x"]
    assert len(case.model.graph.initializer) == 7
    assert case.model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8


def test_a_case_is_judged_like_its_model():
    case = qconform.Case.from_model(quantize(shape=(2,)), [np.array([3, 4], np.float32)])
    (y,) = case.reference()
    assert case.judge([y])
    assert not case.judge(y + 1)
    assert case.admissible()[0].contains(y).all()


def test_skipped_inputs_are_counted(tmp_path):
    relu = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Relu", ["x"], ["y"])],
            "relu",
            [onnx.helper.make_tensor_value_info("x", 1, [2])],
            [onnx.helper.make_tensor_value_info("y", 1, [2])],
        )
    )
    data = tmp_path / "test_relu" / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(relu, data.parent / "model.onnx")
    for name in ("input_0", "output_0"):
        (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.zeros(2, np.float32)).SerializeToString())
    suite = qconform.cases(f"onnx:{tmp_path}")
    assert list(suite) == []
    assert sum(suite.skipped.values()) == 1


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (("nothing",), "suite", "nothing"),
        (("onnx:/nowhere",), "/nowhere", "onnx:/nowhere"),
        (("random", -1), "seed", "-1"),
        (("random", 1 << 64), "seed", str(1 << 64)),
        (("random", 1, -2), "count", "-2"),
    ],
)
def test_what_is_no_suite_is_an_error(arguments, field, value):
    with pytest.raises(qconform.Error) as caught:
        qconform.cases(*arguments)
    assert (caught.value.field, caught.value.value) == (field, value)


def test_case_json_is_read_strictly():
    document = json.loads(next(qconform.cases("corpus")).json)
    document["cases"][0]["surprise"] = 1
    with pytest.raises(qconform.Error) as caught:
        qconform.Case.from_json(json.dumps(document))
    assert caught.value.field.startswith("cases[0]")


def test_threads_may_share_a_case_and_a_suite():
    suite = qconform.cases("random", seed=3, count=200)
    taken, failures = [], []

    def work():
        try:
            for case in suite:
                if case.expectation == "valid":
                    taken.append((case.digest, bool(case.judge(case.reference()))))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(right for _, right in taken)
    alone = {case.digest for case in qconform.cases("random", seed=3, count=200) if case.expectation == "valid"}
    assert {digest for digest, _ in taken} == alone
