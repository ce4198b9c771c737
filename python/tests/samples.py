"""Backends for the tests: right ones, and ones that go wrong in one way each."""

import ctypes
import os
import sys
import time

import onnx
from onnx.backend.base import Backend, BackendRep
from onnx.reference import ReferenceEvaluator

import qconform

SESSIONS = []


def reference(model, inputs):
    """Right on ordinary cases, as far as ONNX's evaluator is."""
    return ReferenceEvaluator(model).run(None, dict(zip([value.name for value in model.graph.input], inputs)))


def dequantize(model, inputs):
    """Right on DequantizeLinear of 8 bits with one scale; declines everything else."""
    node = model.graph.node[0]
    if len(model.graph.node) != 1 or node.op_type != "DequantizeLinear" or node.attribute:
        raise qconform.Unsupported("only DequantizeLinear without attributes")
    values = qconform.node_inputs(model, inputs)
    if len(values) < 3 or str(values[0].dtype) not in ("uint8", "int8") or str(values[1].dtype) != "float32":
        raise qconform.Unsupported("only of 8 bits, with a zero point")
    if values[1].ndim or values[2].ndim or values[2].dtype != values[0].dtype:
        raise qconform.Unsupported("only one scale")
    x, scale, zero_point = values
    return (x.astype("int32") - int(zero_point)).astype("float32") * scale


def off_by_one(model, inputs):
    """Adds 1 to every element."""
    return dequantize(model, inputs) + 1


def identity(_model, inputs):
    return inputs[0]


def speaks(model, inputs):
    """Prints to standard output, by Python and below it."""
    print("a line by Python")
    os.write(1, b"a line by the system\n")
    return off_by_one(model, inputs)


def aborts(_model, _inputs):
    os.abort()


def segfaults(_model, _inputs):
    ctypes.string_at(0)


def exits(_model, _inputs):
    sys.exit(3)


def exits_at_once(_model, _inputs):
    os._exit(4)


def hangs(_model, _inputs):
    time.sleep(1000)


def raises(_model, _inputs):
    raise ValueError("a thing that\nis not so")


def returns_nothing(_model, _inputs):
    return None


def too_many(_model, inputs):
    return [inputs[0], inputs[0]]


def lacks_memory(_model, _inputs):
    raise MemoryError("for a table")


def devours(_model, _inputs):
    held = bytearray(600 << 20)
    for i in range(0, len(held), 4096):
        held[i] = 1
    time.sleep(5)


class ReferenceRep(BackendRep):
    def __init__(self, model):
        self.session = ReferenceEvaluator(model)

    def run(self, inputs, **_):
        return self.session.run(None, dict(zip(self.session.input_names, inputs)))


class ReferenceBackend(Backend):
    """With ONNX's interface, whose checker wants types of outputs."""

    @classmethod
    def prepare(cls, model, device="CPU", **arguments):
        super().prepare(model, device, **arguments)
        return ReferenceRep(model)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


class NeedsAllFed(Backend):
    """Declines models with constants."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        return len(model.graph.initializer) == 0

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return ReferenceRep(model)


def session(serialized):
    """A factory of sessions."""
    return ReferenceEvaluator(onnx.load_model_from_string(serialized))


def odd_zero_points(model, inputs):
    """Wrong where the zero point is odd, of any case of several elements."""
    answer = dequantize(model, inputs)
    zero_point = qconform.node_inputs(model, inputs)[2]
    return answer + 1 if int(zero_point) % 4 == 1 and inputs[0].size > 2 else answer
