"""Arrays to and from ONNX's tensors, and the forms in which a model may be given.

Every element type that the program knows has an array type: NumPy's own, or one of ml_dtypes for bfloat16 and for
floats and integers of 8, 4 and 2 bits. Bits are kept: a NaN stays the NaN that it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx

from qconform.errors import Error

Array = npt.NDArray[Any]
#: An array, whatever numpy.asarray() makes one of, or a tensor of ONNX.
ArrayLike = Union[Array, npt.ArrayLike, onnx.TensorProto]
#: A model, its serialized bytes, or the path of a file.
Model = Union[onnx.ModelProto, bytes, str, "os.PathLike[str]"]
#: Arrays in the order of the model's inputs, or by their names; None where the model holds them all.
Inputs = Union[Sequence[ArrayLike], Mapping[str, ArrayLike], None]

#: By ONNX's number (TensorProto.DataType), which an installed onnx may be too old to have a name for.
DTYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(kind)
    for number, kind in {
        1: np.float32,
        2: np.uint8,
        3: np.int8,
        4: np.uint16,
        5: np.int16,
        6: np.int32,
        7: np.int64,
        9: np.bool_,
        10: np.float16,
        11: np.float64,
        12: np.uint32,
        13: np.uint64,
        14: np.complex64,
        15: np.complex128,
        16: ml_dtypes.bfloat16,
        17: ml_dtypes.float8_e4m3fn,
        18: ml_dtypes.float8_e4m3fnuz,
        19: ml_dtypes.float8_e5m2,
        20: ml_dtypes.float8_e5m2fnuz,
        21: ml_dtypes.uint4,
        22: ml_dtypes.int4,
        23: ml_dtypes.float4_e2m1fn,
        24: ml_dtypes.float8_e8m0fnu,
        25: ml_dtypes.uint2,
        26: ml_dtypes.int2,
    }.items()
}
_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
#: Types that ONNX packs, and the bits of an element: the first one lies in the lowest bits of the first byte.
_PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
_SIGNED_PACKED = {22, 26}


def dtype_of(number: int) -> np.dtype[Any]:
    """The array type for ONNX's number of an element type."""
    if number not in DTYPES:
        raise Error(f"no arrays for element type {number}", field="data_type", value=str(number))
    return DTYPES[number]


def number_of(dtype: np.dtype[Any], field: str = "dtype") -> int:
    """ONNX's number for an array type."""
    number = _NUMBERS.get(dtype.newbyteorder("=") if dtype.byteorder == ">" else dtype)
    if number is None:
        raise Error(f"no element type of ONNX for arrays of {dtype}", field=field, value=str(dtype))
    return number


def to_array(tensor: onnx.TensorProto) -> Array:
    """The array of a tensor whose values lie in raw_data, as the program writes them."""
    dtype = dtype_of(tensor.data_type)
    shape = tuple(tensor.dims)
    bits = _PACKED_BITS.get(tensor.data_type)
    if bits is None:
        whole: Array = np.frombuffer(tensor.raw_data, dtype=dtype).reshape(shape).copy()
        return whole
    stored = np.frombuffer(tensor.raw_data, dtype=np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    elements = ((stored[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)
    elements = elements[: int(np.prod(shape, dtype=np.int64))]
    if tensor.data_type in _SIGNED_PACKED:  # as numbers: how ml_dtypes keeps them in a byte is its own business
        sign = 1 << (bits - 1)
        numbers: Array = ((elements.astype(np.int8) ^ sign) - sign).astype(dtype).reshape(shape)
        return numbers
    unpacked: Array = elements.astype(np.uint8).view(dtype).reshape(shape)
    return unpacked


def from_array(value: ArrayLike, name: str = "", field: str = "array") -> onnx.TensorProto:
    """A tensor of ONNX with its values in raw_data. A tensor is taken as it is, under this name."""
    if isinstance(value, onnx.TensorProto):
        tensor = onnx.TensorProto()
        tensor.CopyFrom(value)
        tensor.name = name
        return tensor
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise Error(f"expected an array: {error}", field=field, value=type(value).__name__) from error
    number = number_of(array.dtype, field)
    array = array.astype(DTYPES[number], copy=False)  # of the other byte order
    bits = _PACKED_BITS.get(number)
    stored = array.tobytes() if bits is None else _packed(array, bits)
    return onnx.TensorProto(dims=array.shape, data_type=number, raw_data=stored, name=name)


def _packed(array: Array, bits: int) -> bytes:
    elements = np.frombuffer(array.tobytes(), dtype=np.uint8) & ((1 << bits) - 1)
    each = 8 // bits
    padded = np.zeros(-(-elements.size // each) * each, dtype=np.uint8)
    padded[: elements.size] = elements
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(padded.reshape(-1, each) << shifts, axis=1).astype(np.uint8).tobytes())


def parse_tensor(serialized: bytes) -> Array:
    """The array of a serialized tensor."""
    return to_array(onnx.TensorProto.FromString(serialized))


def serialized_inputs(inputs: Inputs) -> list[bytes]:
    """Tensors for the inputs of a model: with names where these were given."""
    if inputs is None:
        return []
    if isinstance(inputs, Mapping):
        return [from_array(value, name, f"inputs[{name!r}]").SerializeToString() for name, value in inputs.items()]
    return [from_array(value, "", f"inputs[{i}]").SerializeToString() for i, value in enumerate(inputs)]


def serialized_model(model: Model) -> bytes:
    """The bytes of a model. What a file keeps in other files is read."""
    if isinstance(model, bytes):
        return model
    try:
        if not isinstance(model, onnx.ModelProto):
            model = onnx.load(os.fspath(model))
        serialized: bytes = model.SerializeToString()
        return serialized
    except OSError as error:
        raise Error(error.strerror or str(error), field=str(error.filename or model), value=str(model)) from error
    except Exception as error:  # protobuf's exceptions have no common base across its versions
        raise Error(f"expected an ONNX model: {error}", field="model", value=type(model).__name__) from error
