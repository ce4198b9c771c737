"""Arrays become tensors and arrays again, bit for bit, whatever their type and shape."""

import random

import ml_dtypes
import numpy as np
import onnx
import pytest

import qconform
from qconform import _tensors

SHAPES = [(), (0,), (1,), (5,), (3, 7), (2, 0, 3), (2, 3, 4, 5)]
#: Bits of an element that have a meaning, where they are fewer than its bytes hold.
NARROW = {ml_dtypes.uint4: 4, ml_dtypes.int4: 4, ml_dtypes.float4_e2m1fn: 4, ml_dtypes.uint2: 2, ml_dtypes.int2: 2}


def arbitrary_array(number, shape, random_bytes):
    """Any patterns of the type, NaN of any payload among them."""
    dtype = _tensors.dtype_of(number)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind == "b":
        return np.frombuffer(random_bytes(count), np.uint8).reshape(shape) % 2 == 1
    bits = NARROW.get(dtype.type)
    if bits is None:
        return np.frombuffer(random_bytes(count * dtype.itemsize), dtype).reshape(shape)
    patterns = np.frombuffer(random_bytes(count), np.uint8) & ((1 << bits) - 1)
    if dtype.type in (ml_dtypes.int4, ml_dtypes.int2):
        return (patterns.astype(np.int8) - (1 << (bits - 1))).astype(dtype).reshape(shape)
    if dtype.type is ml_dtypes.float4_e2m1fn:
        return patterns.view(dtype).reshape(shape)
    return patterns.astype(dtype).reshape(shape)


@pytest.mark.parametrize("number", sorted(_tensors.DTYPES), ids=lambda number: str(_tensors.DTYPES[number]))
def test_keeps_every_bit(number):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for shape in SHAPES:
        array = arbitrary_array(number, shape, draw.randbytes)
        tensor = _tensors.from_array(array, "t")
        again = _tensors.to_array(tensor)
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert again.tobytes() == array.tobytes()
        assert list(tensor.dims) == list(shape)
        assert tensor.data_type == number
        # ONNX's own reader has the same numbers.
        if number not in (25, 26) or hasattr(onnx.TensorProto, "UINT2"):
            theirs = onnx.numpy_helper.to_array(tensor)
            assert theirs.astype(array.dtype).tobytes() == array.tobytes()


def test_packs_the_first_element_into_the_lowest_bits():
    assert _tensors.from_array(np.array([1, -2, 7], ml_dtypes.int4)).raw_data == bytes([0xE1, 0x07])
    assert _tensors.from_array(np.array([1, 2, 3, 0, 1], ml_dtypes.uint2)).raw_data == bytes([0x39, 0x01])


def test_takes_what_numpy_makes_an_array_of():
    strided = np.arange(24, dtype=np.int32).reshape(4, 6)[::2, ::3]
    assert np.array_equal(_tensors.to_array(_tensors.from_array(strided)), strided)
    assert np.array_equal(_tensors.to_array(_tensors.from_array(np.arange(3, dtype=">f4"))), [0, 1, 2])
    assert _tensors.to_array(_tensors.from_array(np.float32(1.5))).shape == ()
    assert _tensors.to_array(_tensors.from_array([[1.0, 2.0]])).dtype == np.float64


@pytest.mark.parametrize(
    "value", [np.array(["a"]), np.array([object()]), [[1], [1, 2]]], ids=["text", "object", "ragged"]
)
def test_refuses_what_no_tensor_holds(value):
    with pytest.raises(qconform.Error) as caught:
        _tensors.from_array(value, field="inputs[2]")
    assert caught.value.field == "inputs[2]"
    assert caught.value.value


@pytest.mark.parametrize("number", [2, 3, 4, 5, 17, 18, 19, 20, 21, 22, 23, 25, 26])
def test_the_library_reads_and_writes_the_same_elements(number):
    """Through DequantizeLinear with scale 1: y is the number that each element of x stands for."""
    x = arbitrary_array(number, (3, 5), random.Random(number).randbytes)
    node = onnx.helper.make_node("DequantizeLinear", ["x", "x_scale"], ["y"])
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in (("x", number), ("x_scale", 1))],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25)])
    (y,) = qconform.reference(model, [x, np.float32(1)])
    wanted = x.astype(np.float32)
    assert np.array_equal(y, wanted, equal_nan=True)
    case = qconform.Case.from_model(model, [x, np.float32(1)])
    assert case.inputs[0].tobytes() == x.tobytes()
    assert case.inputs[0].dtype == x.dtype
