"""The reference, the sets of right values and verdicts of models with inputs."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import qconform
from models import convolution, model, quantize, softmax

# A tie at 1 + 1/2, saturation at both ends, and NaN, for which any value is right (rule Q5).
X = np.array([3.0, 5.0, -1000.0, 1000.0, 0.0, 2.0], np.float32)


def test_reference_of_one_operator():
    (y,) = qconform.reference(quantize(), [X])
    assert y.dtype == np.uint8
    assert y.tolist() == [12, 12, 0, 255, 10, 11]


def test_takes_models_and_inputs_in_several_forms(tmp_path):
    wanted = qconform.reference(quantize(), [X])[0].tolist()
    path = tmp_path / "model.onnx"
    onnx.save(quantize(), path)
    for form in (quantize().SerializeToString(), path, str(path)):
        assert qconform.reference(form, [X])[0].tolist() == wanted
    assert qconform.reference(quantize(), {"x": X})[0].tolist() == wanted
    assert qconform.reference(quantize(), [onnx.numpy_helper.from_array(X, "any")])[0].tolist() == wanted


def test_reads_values_that_a_model_keeps_in_other_files(tmp_path):
    held = quantize(shape=(600,), zero_point=np.arange(600).astype(np.uint8), axis=0, scale=[1.0] * 600)
    path = tmp_path / "model.onnx"
    onnx.save(held, path, save_as_external_data=True, size_threshold=0)
    zeros = np.zeros(600, np.float32)
    assert np.array_equal(qconform.reference(path, [zeros])[0], np.arange(600).astype(np.uint8))


def test_a_profile_chooses_the_answer():
    tie = np.array([[[[1, 3, 5, 7]]]], np.uint8)  # 100 + 1/2, 101 + 1/2, ...
    (exact,) = qconform.reference(convolution(y_scale=0.5), [tie])
    assert exact.ravel().tolist() == [100, 102, 102, 104]
    (away,) = qconform.reference(convolution(y_scale=0.5), [tie], profile="tflite-single-rounding")
    assert away.ravel().tolist() == [101, 102, 103, 104]
    strict = qconform.judge(convolution(), [tie], away, profile="correctly-rounded")
    assert not strict
    assert strict.wrong_elements == 2


def test_members_are_listed_where_there_are_few():
    tie = np.array([[[[1, 2]]]], np.uint8)
    (sets,) = qconform.admissible(convolution(), [tie], profile="fixed-point")
    assert sets[0, 0, 0, 0].members == (100, 101)
    assert [100 in sets[0, 0, 0, 0], 102 in sets[0, 0, 0, 0]] == [True, False]
    assert str(sets[0, 0, 0, 0]) == "{100, 101}"
    assert sets[0, 0, 0, 1].members == (101,)
    assert sets.low.ravel().tolist() == [100, 101]
    assert sets.high.ravel().tolist() == [101, 101]
    assert sets.is_determined.ravel().tolist() == [False, True]
    assert sets.exact((0, 0, 0, 0)).startswith("0 + 1/2") or "1/2" in sets.exact((0, 0, 0, 0))


def test_floats_of_a_graph_have_intervals():
    q = np.array([[0, 1, 2, 3]], np.uint8)
    (sets,) = qconform.admissible(softmax(), [q])
    (y,) = qconform.reference(softmax(), [q])
    values = sets[0, 1]
    assert values.members is None
    with pytest.raises(TypeError):
        iter(values)
    assert values.text.startswith("[")
    assert sets.low[0, 1] <= y[0, 1] <= sets.high[0, 1]
    assert sets.low[0, 1] < sets.high[0, 1]
    assert y[0, 1] in values
    assert np.nextafter(sets.low[0, 1], np.float32(-1)) not in values
    assert sets.contains(sets.low).all()
    assert sets.contains(sets.high).all()
    assert not sets.contains(np.nextafter(sets.high, np.float32(2))).any()


def test_what_the_rules_leave_open_has_any_value():
    x = np.array([np.nan, 1.0], np.float32)
    (sets,) = qconform.admissible(quantize(shape=(2,)), [x])
    assert sets[0].any_value
    assert sets[0].members is None
    assert (sets.low[0], sets.high[0]) == (0, 255)
    assert 17 in sets[0]
    assert sets.is_determined.tolist() == [False, True]


@pytest.mark.parametrize("profile", ["conformance", "correctly-rounded", "dml-doc", "fixed-point", "ort-f32"])
def test_sets_hold_exactly_what_the_judge_calls_right(profile):
    """All 256 values of each element, both ways, and one element at a time."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (1, 1, 1, 24)).astype(np.uint8)
    scales = {"x_scale": 0.37, "w_scale": 0.11, "y_scale": 0.083}
    (sets,) = qconform.admissible(convolution(**scales), [x], profile=profile)
    (y,) = qconform.reference(convolution(**scales), [x], profile=profile)
    for value in range(256):
        told = sets.contains(np.full_like(x, value))
        for place in np.ndindex(x.shape):
            assert (value in sets[place]) == told[place]
    place = (0, 0, 0, 7)
    for value in range(256):
        changed = y.copy()
        changed[place] = value
        verdict = qconform.judge(convolution(**scales), [x], changed, profile=profile)
        assert bool(verdict) == (value in sets[place])


def test_small_floats_and_their_zeros():
    scale = np.float32(1)
    node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=TensorProto.FLOAT8E4M3FN)
    made = model(
        [node],
        {"x": (TensorProto.FLOAT, (3,))},
        {"y": (TensorProto.FLOAT8E4M3FN, (3,))},
        opset=21,
        initializers={"s": scale},
    )
    x = np.array([1.0625, -0.0, 1e9], np.float32)
    (y,) = qconform.reference(made, [x])
    assert y.dtype == ml_dtypes.float8_e4m3fn
    (sets,) = qconform.admissible(made, [x])
    assert all(y[i] in sets[i] for i in range(3))
    assert sets.contains(y).all()
    assert float(sets.low[2]) == 448


def test_a_wrong_output_is_told():
    y = qconform.reference(quantize(), [X])[0]
    right = qconform.judge(quantize(), [X], y)
    assert right
    assert (right.verdict, right.wrong_elements, right.worst) == ("pass", 0, None)
    y[1] = 200
    y[4] = 9
    wrong = qconform.judge(quantize(), [X], [y])
    assert not wrong
    assert (wrong.verdict, wrong.elements, wrong.wrong_elements) == ("wrong", 6, 2)
    assert (wrong.worst.index, wrong.got, wrong.admissible) == ((1,), "200", "{12}")
    assert wrong.worst.distance == 188
    assert "200" in str(wrong)
    assert "200" in wrong._repr_html_()


def test_outputs_by_name_and_of_another_form():
    y = qconform.reference(quantize(), [X])[0]
    assert qconform.judge(quantize(), [X], {"y": y})
    assert qconform.judge(quantize(), [X], y.astype(np.int8)).verdict == "bad-shape"
    assert qconform.judge(quantize(), [X], [y, y]).verdict == "broken-interface"
    assert qconform.judge(quantize(), [X], y[:3]).detail == "output uint8 [3], expected uint8 [6]"
    with pytest.raises(qconform.Error) as caught:
        qconform.judge(quantize(), [X], {"z": y})
    assert caught.value.field == "outputs"


def test_several_outputs():
    made = model(
        [helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero_point"])],
        {"x": (TensorProto.FLOAT, (6,))},
        {"y": (TensorProto.UINT8, (6,)), "scale": (TensorProto.FLOAT, ()), "zero_point": (TensorProto.UINT8, ())},
    )
    outputs = qconform.reference(made, [X])
    assert [output.dtype for output in outputs] == [np.uint8, np.float32, np.uint8]
    assert qconform.judge(made, [X], outputs)
    assert [sets.name for sets in qconform.admissible(made, [X])] == ["y", "scale", "zero_point"]
    outputs[2] = np.uint8(77)
    assert not qconform.judge(made, [X], outputs)


@pytest.mark.parametrize(
    ("call", "field", "value", "rule"),
    [
        (
            lambda: qconform.reference(convolution(pads=[0, 1, 0]), [np.ones((1, 1, 1, 2), np.uint8)]),
            "pads",
            "[0,1,0]",
            "C8",
        ),
        (lambda: qconform.reference(quantize(), [X.astype(np.int16)]), "x", "int16 [6]", "signature"),
        (lambda: qconform.reference(quantize(), [X], profile="nearly"), "profile", "nearly", ""),
        (lambda: qconform.reference(quantize(), [X], overflow="maybe"), "overflow", "maybe", "C17"),
        (lambda: qconform.reference(quantize(), []), "model: inputs", "", ""),
        (lambda: qconform.reference(quantize(), [X, X]), "model: inputs", "", ""),
        (lambda: qconform.reference(quantize(), {"z": X}), "model: inputs", "", ""),
        (lambda: qconform.reference(b"nothing", [X]), "model", "", ""),
        (lambda: qconform.reference("/nowhere/model.onnx", [X]), "/nowhere/model.onnx", "/nowhere/model.onnx", ""),
        (lambda: qconform.reference(quantize(), [["a"]]), "inputs[0]", "<U1", ""),
        (
            lambda: qconform.reference(convolution(y_scale=0.0), [np.ones((1, 1, 1, 2), np.uint8)]),
            "y_scale",
            "float [] 0",
            "C21",
        ),
    ],
    ids=[
        "attribute",
        "type",
        "profile",
        "overflow",
        "missing",
        "too many",
        "unknown",
        "no model",
        "no file",
        "text",
        "open",
    ],
)
def test_errors_name_field_value_and_rule(call, field, value, rule):
    with pytest.raises(qconform.Error) as caught:
        call()
    error = caught.value
    assert (error.field, error.value, error.rule) == (field, value, rule)
    assert error.message
    assert str(error).startswith(f"{field}: ")


def test_a_case_out_of_contract_must_be_refused():
    made = convolution(pads=[0, 1, 0])
    inputs = [np.ones((1, 1, 1, 2), np.uint8)]
    verdict = qconform.judge(made, inputs, np.zeros((1, 1, 1, 2), np.uint8))
    assert (verdict.verdict, verdict.expectation, verdict.rule) == ("not-rejected", "invalid", "C8")
    assert not verdict
    with pytest.raises(qconform.Error) as caught:
        qconform.admissible(made, inputs)
    assert caught.value.rule == "C8"
