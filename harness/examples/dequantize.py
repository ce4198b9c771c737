#!/usr/bin/python3
"""A complete backend as a process: DequantizeLinear with one scale, in NumPy.

    qconform run --backend "process:python3 harness/examples/dequantize.py" --suite random

Needs the Python packages onnx and numpy (Debian: python3-onnx).
"""

import struct
import sys

import numpy
import onnx
from onnx import numpy_helper

HEADER = struct.Struct("<4sII")  # what it is, number of the case, bytes that follow
PROTOCOL = 1


class Unsupported(Exception):
    pass


def dequantize(node, x, scale, zero_point=None):
    if node.op_type != "DequantizeLinear" or len(node.attribute) > 0:
        raise Unsupported(f"{node.op_type} with attributes {[a.name for a in node.attribute]}")
    if x.dtype not in (numpy.uint8, numpy.int8) or scale.dtype != numpy.float32 or scale.shape != ():
        raise Unsupported(f"{x.dtype} with a scale {scale.dtype} {list(scale.shape)}")
    if zero_point is None:
        zero_point = x.dtype.type(0)
    if zero_point.dtype != x.dtype or zero_point.shape != ():
        raise Unsupported(f"a zero point {zero_point.dtype} {list(zero_point.shape)}")
    return (x.astype(numpy.int32) - int(zero_point)).astype(numpy.float32) * scale


def answer(model_bytes):
    model = onnx.load_model_from_string(model_bytes)
    node = model.graph.node[0]
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    if node.op_type != "DequantizeLinear":
        raise Unsupported(node.op_type)
    if any(tensor.data_type not in (onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.FLOAT)
           for tensor in tensors.values()):
        raise Unsupported("types other than uint8, int8 and float")
    inputs = [numpy_helper.to_array(tensors[name]) if name else None for name in node.input]
    y = numpy.asarray(dequantize(node, *inputs), dtype=numpy.float32)
    return numpy_helper.from_array(y).SerializeToString()


def put(kind, number, payload):
    sys.stdout.buffer.write(HEADER.pack(kind, number, len(payload)) + payload)
    sys.stdout.buffer.flush()


def main():
    put(b"HELO", PROTOCOL, b"dequantize.py 1.0")
    while header := sys.stdin.buffer.read(HEADER.size):
        _, number, size = HEADER.unpack(header)
        model = sys.stdin.buffer.read(size)
        try:
            put(b"DONE", number, answer(model))
        except Unsupported as reason:
            put(b"SKIP", number, str(reason).encode())


if __name__ == "__main__":
    main()
