"""Puts a case, as it stands in a message, to a Python backend, and makes a message of its answer."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, Optional

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from qconform import _tensors
from qconform.backends import Target, Unsupported, outputs_of

Array = NDArray[Any]
#: A serialized model in, serialized TensorProtos out.
Answer = Callable[[bytes], Sequence[bytes]]


class Declined(Exception):
    """The backend does not implement the case, or the case cannot be put to it."""


class Refused(Exception):
    """The backend's own call raised the exception that is the cause of this one."""


class BadAnswer(Exception):
    """The backend returned what no message can hold: that is no refusal."""


@contextlib.contextmanager
def _putting() -> Iterator[None]:
    """Around what makes a question of a case: a mistake in it is none of the backend's."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise Declined(f"harness: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Around what makes a message of an answer."""
    try:
        yield
    except Exception as error:
        raise BadAnswer(f"the backend's answer is not a list of arrays: {error}") from error


#: Types whose elements lie in raw_data as NumPy has them.
_PLAIN: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype("<f4"),
    TensorProto.UINT8: np.dtype("u1"),
    TensorProto.INT8: np.dtype("i1"),
    TensorProto.UINT16: np.dtype("<u2"),
    TensorProto.INT16: np.dtype("<i2"),
    TensorProto.INT32: np.dtype("<i4"),
    TensorProto.INT64: np.dtype("<i8"),
    TensorProto.BOOL: np.dtype("?"),
    TensorProto.FLOAT16: np.dtype("<f2"),
    TensorProto.DOUBLE: np.dtype("<f8"),
    TensorProto.UINT32: np.dtype("<u4"),
    TensorProto.UINT64: np.dtype("<u8"),
}
#: Types of outputs that ONNX Runtime gives as arrays of that type.
_ORT_PLAIN = {
    f"tensor({name})"
    for name in (
        *("float", "double", "float16", "bool"),
        *("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    )
}
_PLAIN_NUMBERS = {dtype: number for number, dtype in _PLAIN.items()}

#: What the type of an operator's output is that of: the position of an input.
_OUTPUT_LIKE = {"QLinearConv": 7, "QuantizeLinear": 2, "DequantizeLinear": 1}


class Question:
    """A case: a model that declares what is fed to it, and these tensors apart."""

    def __init__(self, data: bytes, feeds_all: bool) -> None:
        """`data` is the model as the message has it: what is fed is an input of the graph and an initializer too."""
        self.model = onnx.ModelProto()
        self.model.ParseFromString(data)
        self._state_output_types()
        graph = self.model.graph
        if feeds_all and len(graph.node) == 1:
            self.tensors = list(graph.initializer)
            del graph.initializer[:]
            del graph.input[:]
            for tensor in self.tensors:
                _declare(tensor, graph.input.add())
        else:
            self.tensors = [self._taken(value.name) for value in graph.input]

    def _taken(self, name: str) -> TensorProto:
        held = self.model.graph.initializer
        taken: TensorProto = held.pop(next(i for i, tensor in enumerate(held) if tensor.name == name))
        return taken

    def hold_what_numpy_lacks(self) -> None:
        """Make inputs of types that NumPy has no name for constants again: most sessions cannot be fed them."""
        graph = self.model.graph
        for position in reversed(range(len(self.tensors))):
            if self.tensors[position].data_type not in _PLAIN:
                graph.initializer.append(self.tensors.pop(position))
                del graph.input[position]

    def _state_output_types(self) -> None:
        """Some runtimes want the type and the rank of an output; how long it is, they find by themselves.

        Of wrong cases these may stay unknown.
        """
        graph = self.model.graph
        if len(graph.node) == 1 and graph.node[0].op_type in (*_OUTPUT_LIKE, "ConvInteger"):
            held = {tensor.name: tensor for tensor in graph.initializer}
            x = held.get(graph.node[0].input[0] if len(graph.node[0].input) > 0 else "")
            output_type = _output_type(graph.node[0], held)
            if x is not None and output_type:
                _declare_rank(output_type, len(x.dims), graph.output[0])
            return
        inferred = onnx.shape_inference.infer_shapes(self.model)
        for output, known in zip(graph.output, inferred.graph.output):
            tensor_type = known.type.tensor_type
            if tensor_type.HasField("shape"):
                _declare_rank(tensor_type.elem_type, len(tensor_type.shape.dim), output)

    @property
    def inputs(self) -> list[Array]:
        """A new array for each input of the graph, which the backend may write to."""
        with _putting():
            return [array_of(tensor) for tensor in self.tensors]

    @property
    def feeds(self) -> dict[str, Array]:
        """The same by name."""
        with _putting():
            return {tensor.name: array_of(tensor) for tensor in self.tensors}


def _output_type(node: onnx.NodeProto, held: Mapping[str, TensorProto]) -> int:
    if node.op_type == "ConvInteger":
        return int(TensorProto.INT32)
    for attribute in node.attribute:
        if attribute.name == "output_dtype" and attribute.i:
            return int(attribute.i)
    position = _OUTPUT_LIKE[node.op_type]
    if position < len(node.input) and node.input[position]:
        like = held.get(node.input[position])
        return 0 if like is None else int(like.data_type)
    return int(TensorProto.UINT8) if node.op_type == "QuantizeLinear" else 0


def _declare_rank(element_type: int, rank: int, value: onnx.ValueInfoProto) -> None:
    tensor_type = value.type.tensor_type
    tensor_type.elem_type = element_type
    tensor_type.shape.SetInParent()
    for _ in range(rank):
        tensor_type.shape.dim.add()


def _declare(tensor: TensorProto, value: onnx.ValueInfoProto) -> None:
    value.name = tensor.name
    tensor_type = value.type.tensor_type
    tensor_type.elem_type = tensor.data_type
    tensor_type.shape.SetInParent()
    for extent in tensor.dims:
        tensor_type.shape.dim.add().dim_value = extent


def array_of(tensor: TensorProto) -> Array:
    """The tensor as an array."""
    dtype = _PLAIN.get(tensor.data_type)
    if dtype is None or not tensor.HasField("raw_data"):
        return _tensors.to_array(tensor)
    array: Array = np.frombuffer(tensor.raw_data, dtype).reshape(tuple(tensor.dims)).copy()
    return array


def message_of(output: Any) -> bytes:
    """An output, an array or what NumPy makes one of, as a serialized TensorProto."""
    message: bytes = _tensor_of(output).SerializeToString()
    return message


def _tensor_of(output: Any) -> TensorProto:
    if isinstance(output, TensorProto):
        return output
    array = np.asarray(output)
    number = _PLAIN_NUMBERS.get(array.dtype)
    if number is None:
        return _tensors.from_array(array, "", "output")
    return TensorProto(data_type=number, dims=array.shape, raw_data=array.tobytes())


def answer_of(target: Target) -> Answer:
    """How `target` answers cases."""
    return functools.partial(_answer, _WAYS[target.kind or "function"], target.object, target.feeds_all)


def _answer(compute: Callable[[Any, Question], Any], object: Any, feeds_all: bool, data: bytes) -> Sequence[bytes]:
    with _putting():
        question = Question(data, feeds_all)
        names = [output.name for output in question.model.graph.output]
    answer = _computed(compute, object, question)
    with _reading():
        messages = [message_of(output) for output in outputs_of(answer, names)]
    # The program judges fewer outputs; a message has room for no others.
    if not 0 < len(messages) <= len(names):
        raise BadAnswer(f"expected {len(names)} outputs, got {len(messages)}")
    return messages


def _computed(compute: Callable[[Any, Question], Any], object: Any, question: Question) -> Any:
    """What the backend returns: its own exceptions alone decline or refuse the case."""
    try:
        return compute(object, question)
    except (Declined, BadAnswer, MemoryError):
        raise
    except (Unsupported, NotImplementedError) as error:
        raise Declined(str(error) or type(error).__name__) from error
    except Exception as error:
        if type(error).__name__ == "BackendIsNotSupposedToImplementIt":  # of onnx.backend.test
            raise Declined(str(error)) from error
        raise Refused(f"{type(error).__name__}: {error}") from error


def _of_function(function: Callable[..., Any], question: Question) -> Any:
    return function(question.model, question.inputs)


def _of_backend(backend: Any, question: Question) -> Any:
    compatible: Optional[Callable[[onnx.ModelProto], bool]] = getattr(backend, "is_compatible", None)
    if compatible is not None and not compatible(question.model):
        raise Unsupported("is_compatible() returns False")
    if callable(getattr(backend, "prepare", None)):
        return backend.prepare(question.model).run(question.inputs)
    return backend.run_model(question.model, question.inputs)


def _of_session(factory: Callable[[bytes], Any], question: Question) -> Any:
    with _putting():
        question.hold_what_numpy_lacks()
        serialized = question.model.SerializeToString()
    session = factory(serialized)
    if callable(getattr(session, "run_with_ort_values", None)):
        return _of_onnxruntime(session, question.feeds)
    return session.run(None, question.feeds)


def _of_onnxruntime(session: Any, feeds: Mapping[str, Array]) -> Any:
    """ONNX Runtime has no arrays for some types of outputs, or gives them as bytes."""
    if all(output.type in _ORT_PLAIN for output in session.get_outputs()):
        return session.run(None, feeds)
    from onnxruntime import OrtValue

    with _putting():
        given = {name: OrtValue.ortvalue_from_numpy(x) for name, x in feeds.items()}
    values = session.run_with_ort_values(None, given)
    with _reading():
        return [_tensor_of_ort(value) for value in values]


def _bits_of(number: int) -> int:
    return _tensors._PACKED_BITS.get(number, 8 * _tensors.dtype_of(number).itemsize)


def _tensor_of_ort(value: Any) -> TensorProto:
    number = value.element_type()
    shape = value.shape()
    elements = int(np.prod(shape, dtype=np.int64))
    size = -(-elements * _bits_of(number) // 8)
    stored = ctypes.string_at(value.data_ptr(), size) if size else b""
    return TensorProto(data_type=number, dims=shape, raw_data=stored)


_WAYS: dict[str, Callable[[Any, Question], Any]] = {
    "function": _of_function,
    "backend": _of_backend,
    "session": _of_session,
}
