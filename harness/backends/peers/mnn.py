"""MNN: its ONNX converter, then its CPU session."""

import os
import tempfile
from importlib.metadata import version

import _tools  # MNN.tools.mnnconvert without what reports its use to a server
import MNN
import numpy
from onnx import TensorProto
from peer import Unsupported, serve

FOLDER = tempfile.TemporaryDirectory()
TYPES = {"float": TensorProto.FLOAT, "int": TensorProto.INT32, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


def converted(model):
    source, target = os.path.join(FOLDER.name, "case.onnx"), os.path.join(FOLDER.name, "case.mnn")
    if os.path.exists(target):
        os.remove(target)
    with open(source, "wb") as file:
        file.write(model.SerializeToString())
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "x"])
    if not os.path.exists(target):
        raise Unsupported("the converter does not take the operator")
    return target


def answer(case):
    network = MNN.expr.load_as_dict(converted(case.fed_model()))
    print(network, network["y"].dtype)
    if "x" in network:
        network["x"].write(case.inputs[0])
    y = network["y"]
    return numpy.array(y.read())


serve(f"MNN {version('mnn')}", answer)
