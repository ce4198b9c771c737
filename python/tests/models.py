"""Small models that several tests use."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def model(nodes, inputs, outputs, opset=21, initializers=None):
    """A model of nodes; inputs and outputs are {name: (ONNX type, shape)}, initializers {name: array}."""
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in (initializers or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def quantize(scale=2.0, shape=(6,), zero_point=None, **attributes):
    """QuantizeLinear of a float32 x."""
    zero_point = np.uint8(10) if zero_point is None else zero_point
    return model(
        [helper.make_node("QuantizeLinear", ["x", "y_scale", "y_zero_point"], ["y"], **attributes)],
        {"x": (TensorProto.FLOAT, shape)},
        {"y": (TensorProto.UINT8, shape)},
        initializers={"y_scale": np.float32(scale), "y_zero_point": zero_point},
    )


def convolution(x_scale=0.5, w_scale=0.5, y_scale=0.5, **attributes):
    """QLinearConv of one channel with a kernel of one element; x is uint8 of shape [1, 1, 1, N]."""
    names = ["x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point"]
    held = {
        "x_scale": np.float32(x_scale),
        "x_zero_point": np.uint8(0),
        "w": np.ones((1, 1, 1, 1), np.int8),
        "w_scale": np.float32(w_scale),
        "w_zero_point": np.int8(0),
        "y_scale": np.float32(y_scale),
        "y_zero_point": np.uint8(100),
    }
    return model(
        [helper.make_node("QLinearConv", names, ["y"], **attributes)],
        {"x": (TensorProto.UINT8, [1, 1, 1, None])},
        {"y": (TensorProto.UINT8, None)},
        initializers=held,
    )


def softmax(size=4):
    """A graph of floats: DequantizeLinear and Softmax."""
    return model(
        [
            helper.make_node("DequantizeLinear", ["q", "scale"], ["x"]),
            helper.make_node("Softmax", ["x"], ["y"], axis=-1),
        ],
        {"q": (TensorProto.UINT8, [1, size])},
        {"y": (TensorProto.FLOAT, [1, size])},
        initializers={"scale": np.float32(0.125)},
    )
