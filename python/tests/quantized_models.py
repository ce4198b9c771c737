"""Real quantized models: small networks, and what ONNX Runtime's quantizer makes of them."""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, LENGTH = 32, 8


class Network:
    """Collects nodes and weights; every method returns the name of its value."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = self.random.normal(0, 0.3, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def __call__(self, op_type, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=f"{op_type}_{len(self.nodes)}", **attributes))
        return name

    def model(self, shape, y):
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        return model


def transformer():
    """Two layers of width 32, without heads."""
    net = Network(1)
    x = "x"

    def dense(value, columns):
        return net("Add", net("MatMul", value, net.weight(WIDTH, columns)), net.weight(columns))

    def norm(value):
        return net("LayerNormalization", value, net.weight(WIDTH), net.weight(WIDTH))

    for _ in range(2):
        value = norm(x)
        query, key, values = (dense(value, WIDTH) for _ in range(3))
        scores = net("Mul", net("MatMul", query, net("Transpose", key, perm=[0, 2, 1])), net.constant(np.float32(0.17)))
        attended = net("MatMul", net("Softmax", scores, axis=-1), values)
        x = net("Add", x, dense(attended, WIDTH))
        x = net("Add", x, dense(net("Relu", dense(norm(x), WIDTH)), WIDTH))
    return net.model([1, LENGTH, WIDTH], x)


def image_network():
    """Convolutions with biases, a residual sum, pools, a classifier."""
    net = Network(2)

    def convolution(value, channels, kernel, outputs, **attributes):
        return net(
            "Relu", net("Conv", value, net.weight(outputs, channels, kernel, kernel), net.weight(outputs), **attributes)
        )

    stem = convolution("x", 3, 3, 8, pads=[1, 1, 1, 1])
    body = net("Conv", stem, net.weight(8, 8, 3, 3), net.weight(8), pads=[1, 1, 1, 1])
    y = net("MaxPool", net("Add", stem, body), kernel_shape=[2, 2], strides=[2, 2])
    y = net("Concat", y, net("Sigmoid", y), axis=1)
    y = net("Flatten", net("GlobalAveragePool", y))
    y = net("Gemm", y, net.weight(16, 10), net.weight(10))
    return net.model([1, 3, 12, 12], net("Softmax", y))


def quantized(folder):
    """The files of three makers, by name."""
    from onnxruntime import quantization

    class Images(quantization.CalibrationDataReader):
        def __init__(self):
            random = np.random.default_rng(3)
            self.feeds = iter([{"x": random.normal(0, 1, (1, 3, 12, 12)).astype(np.float32)} for _ in range(4)])

        def get_next(self):
            return next(self.feeds, None)

    files = {name: folder / f"{name}.onnx" for name in ("dynamic", "qoperator", "qdq")}
    onnx.save(transformer(), folder / "transformer.onnx")
    onnx.save(image_network(), folder / "images.onnx")
    quantization.quantize_dynamic(
        folder / "transformer.onnx", files["dynamic"], weight_type=quantization.QuantType.QInt8
    )
    for name, form in (("qoperator", quantization.QuantFormat.QOperator), ("qdq", quantization.QuantFormat.QDQ)):
        quantization.quantize_static(
            folder / "images.onnx",
            files[name],
            Images(),
            quant_format=form,
            per_channel=False,
            weight_type=quantization.QuantType.QInt8,
        )
    return files


def is_quantized_name(op_type):
    return op_type != "QuickGelu" and bool(
        re.match(r"Q|Dequantize|DynamicQuantize|.*Integer|MatMulNBits$|GatherBlockQuantized$", op_type)
    )


def quantized_positions(model, feeds):
    """The positions of the quantized nodes: by name, or by the type of what really goes in and out when it runs."""
    import onnxruntime

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    names = [name for node in model.graph.node for name in node.output if name]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    types = dict(zip(names, (value.dtype for value in session.run(names, feeds))))
    types |= {name: value.dtype for name, value in feeds.items()}
    types |= {tensor.name: numpy_helper.to_array(tensor).dtype for tensor in model.graph.initializer}
    narrow = {name for name, dtype in types.items() if dtype in (np.int8, np.uint8)}
    return {
        i
        for i, node in enumerate(model.graph.node)
        if is_quantized_name(node.op_type) or narrow & {*node.input, *node.output}
    }
