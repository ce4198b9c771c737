"""Small networks as makers write them, quantized by the tools that people use: writes files into a folder.

usage: exporters.py FOLDER

Runs in an environment of its own (exporters-requirements.txt). Prints a line for each file: its name, or the name and
why the tool made none.
"""

import logging
import sys
from pathlib import Path

import nncf
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType

RANDOM = np.random.default_rng(1)
WIDTH = 32


class Network:
    """Collects nodes and constants; a call returns the name of the node's value."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def normal(self, *shape, scale=0.2):
        return self.constant((RANDOM.normal(0, scale, shape)).astype(np.float32))

    def __call__(self, op_type, *inputs, outputs=1, **attributes):
        names = [f"{op_type}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, name=f"/{op_type}_{len(self.nodes)}", **attributes))
        return names[0]

    def linear(self, x, rows, columns):
        return self("Add", self("MatMul", x, self.normal(rows, columns)), self.normal(columns))

    def save(self, path, name, element_type, shape, y):
        graph = helper.make_graph(
            self.nodes,
            path.stem,
            [helper.make_tensor_value_info(name, element_type, shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        onnx.save(model, path)


def image_network(path):
    """Convolutions with residuals, a depthwise one, pools, a classifier."""
    net = Network()

    def convolution(x, channels, outputs, kernel=3, stride=1, group=1):
        w, b = net.normal(outputs, channels // group, kernel, kernel), net.normal(outputs)
        return net("Conv", x, w, b, pads=[kernel // 2] * 4, strides=[stride, stride], group=group)

    x = net("Relu", convolution("x", 3, 8, stride=2))
    x = net("Relu", net("Add", x, convolution(net("Relu", convolution(x, 8, 8)), 8, 8)))
    y = net("Clip", convolution(x, 8, 16, kernel=1), net.constant(np.float32(0)), net.constant(np.float32(6)))
    x = net("Add", x, convolution(net("HardSigmoid", convolution(y, 16, 16, group=16)), 16, 8, kernel=1))
    x = net("MaxPool", net("Mul", x, net("Sigmoid", x)), kernel_shape=[2, 2], strides=[2, 2])
    x = net("AveragePool", net("Concat", x, convolution(x, 8, 4), axis=1), kernel_shape=[2, 2], strides=[2, 2])
    x = net("Gemm", net("Flatten", net("GlobalAveragePool", x)), net.normal(10, 12), net.normal(10), transB=1)
    net.save(path, "x", TensorProto.FLOAT, ["N", 3, 32, 32], net("Softmax", x))


def encoder(path):
    """A layer of a BERT: embedding, attention with heads, normalizations, Gelu."""
    net = Network()
    heads, length = 4, WIDTH // 4
    split, joined = (net.constant(np.array(shape, np.int64)) for shape in ([0, 0, heads, length], [0, 0, WIDTH]))

    def norm(x):
        return net("LayerNormalization", x, net.normal(WIDTH), net.normal(WIDTH), axis=-1)

    def head(x, order):
        return net("Transpose", net("Reshape", net.linear(x, WIDTH, WIDTH), split), perm=order)

    x = norm(net("Gather", net.normal(50, WIDTH, scale=1), "ids"))
    scores = net("MatMul", head(x, [0, 2, 1, 3]), head(x, [0, 2, 3, 1]))
    scores = net("Softmax", net("Div", scores, net.constant(np.float32(length**0.5))), axis=-1)
    value = net("Transpose", net("MatMul", scores, head(x, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    x = norm(net("Add", x, net.linear(net("Reshape", value, joined), WIDTH, WIDTH)))
    y = net.linear(x, WIDTH, 64)
    erf = net("Erf", net("Div", y, net.constant(np.float32(2**0.5))))
    y = net("Mul", net("Mul", y, net("Add", erf, net.constant(np.float32(1)))), net.constant(np.float32(0.5)))
    x = norm(net("Add", x, net.linear(y, 64, WIDTH)))
    net.save(path, "ids", TensorProto.INT64, ["N", "S"], x)


def decoder(path):
    """A block of a language model: root mean squares, attention, a gated product."""
    net = Network()

    def norm(x):
        mean = net("ReduceMean", net("Mul", x, x), axes=[-1])
        return net("Div", x, net("Sqrt", net("Add", mean, net.constant(np.float32(1e-6)))))

    def product(x, rows, columns):
        return net("MatMul", x, net.normal(rows, columns))

    y = norm("x")
    scores = net("MatMul", product(y, WIDTH, WIDTH), net("Transpose", product(y, WIDTH, WIDTH), perm=[0, 2, 1]))
    scores = net("Softmax", net("Mul", scores, net.constant(np.float32(WIDTH**-0.5))), axis=-1)
    x = net("Add", "x", product(net("MatMul", scores, product(y, WIDTH, WIDTH)), WIDTH, WIDTH))
    gate, up = (product(norm(x), WIDTH, 96) for _ in range(2))
    y = product(net("Mul", net("Mul", gate, net("Sigmoid", gate)), up), 96, WIDTH)
    net.save(path, "x", TensorProto.FLOAT, [1, 12, WIDTH], net("Add", x, y))


def recurrent(path):
    net = Network()
    weights = net.normal(1, 96, 20), net.normal(1, 96, 24), net.normal(1, 192)
    y = net("LSTM", "x", *weights, outputs=3, hidden_size=24)
    y = net.linear(net("Squeeze", y, net.constant(np.array([1], np.int64))), 24, 5)
    net.save(path, "x", TensorProto.FLOAT, [7, 2, 20], y)


NETWORKS = {
    "image": (image_network, lambda: {"x": RANDOM.normal(0, 1, (1, 3, 32, 32)).astype(np.float32)}),
    "encoder": (encoder, lambda: {"ids": RANDOM.integers(0, 50, (1, 16))}),
    "decoder": (decoder, lambda: {"x": RANDOM.normal(0, 1, (1, 12, WIDTH)).astype(np.float32)}),
    "recurrent": (recurrent, lambda: {"x": RANDOM.normal(0, 1, (7, 2, 20)).astype(np.float32)}),
}


class Samples(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def static_forms():
    """The forms of ONNX Runtime's static quantizer, by name."""
    u8, s8, u16, s16, s4 = (getattr(QuantType, f"Q{name}") for name in ("UInt8", "Int8", "UInt16", "Int16", "Int4"))
    for form in QuantFormat:
        yield f"{form.name.lower()}-u8u8", {"quant_format": form, "activation_type": u8, "weight_type": u8}
        yield f"{form.name.lower()}-s8s8", {"quant_format": form, "activation_type": s8, "weight_type": s8}
        channels = {"quant_format": form, "activation_type": u8, "weight_type": s8, "per_channel": True}
        yield f"{form.name.lower()}-u8s8-channels", channels
    yield "qdq-u16u8", {"quant_format": QuantFormat.QDQ, "activation_type": u16, "weight_type": u8}
    yield "qdq-s16s16", {"quant_format": QuantFormat.QDQ, "activation_type": s16, "weight_type": s16}
    yield "qdq-u8s4", {"quant_format": QuantFormat.QDQ, "activation_type": u8, "weight_type": s4}


def makers_of(source, feeds):
    """Functions that quantize the file, by name; each is given the file to write."""

    def static(options):
        return lambda out: quantization.quantize_static(source, out, Samples(feeds), **options)

    return {
        "dynamic": lambda out: quantization.quantize_dynamic(source, out),
        "dynamic-channels": lambda out: quantization.quantize_dynamic(source, out, per_channel=True),
        "nncf": lambda out: onnx.save(nncf.quantize(onnx.load(source), nncf.Dataset(feeds), subset_size=4), out),
        **{tag: static(options) for tag, options in static_forms()},
    }


def write_all(folder):
    for name, (write, draw) in NETWORKS.items():
        source = folder / f"{name}.onnx"
        write(source)
        for tag, make in makers_of(source, [draw() for _ in range(4)]).items():
            out = folder / f"{name}-{tag}.onnx"
            try:
                make(out)
                print(out.name)
            except Exception as error:  # a tool's own limits are no failure of what judges its files
                print(out.name, repr(error).splitlines()[0])
        source.unlink()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    write_all(Path(sys.argv[1]))
