"""LiteRT (TensorFlow Lite): quantized CONV_2D and DEPTHWISE_CONV_2D, QUANTIZE, DEQUANTIZE."""

from importlib.metadata import version

import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from geometry import Convolution
from peer import WORD, Unsupported, serve
from tflite_model import TYPES, Model

KERNELS = {"": OpResolverType.AUTO, "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
           "reference": OpResolverType.BUILTIN_REF}  # fmt: skip
CODES = schema.BuiltinOperator


def convolution(case, model):
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = case.inputs[:8]
    m = w.shape[0]
    if x.ndim != 4:
        raise Unsupported(f"CONV_2D has two spatial dimensions, not {x.ndim - 2}")
    g = Convolution(case, x, w)
    if not g.pads_nothing and not g.pads_like_same_upper:
        raise Unsupported("pads other than those of SAME and VALID")
    padding = schema.Padding.VALID if g.pads_nothing else schema.Padding.SAME
    common = dict(padding=padding, strideH=g.strides[0], strideW=g.strides[1],
                  dilationHFactor=g.dilations[0], dilationWFactor=g.dilations[1])  # fmt: skip
    depthwise = g.group > 1 and w.shape[1] == 1 and g.group == x.shape[1]
    # Depthwise filters are [1, H, W, M], others [M, H, W, C / group].
    w = w.transpose(1, 2, 3, 0) if depthwise else w.transpose(0, 2, 3, 1)
    tensors = [model.add((x.shape[0], *x.shape[2:], x.shape[1]), x.dtype, x_scale, x_zero),
               model.add(w.shape, w.dtype, w_scale, w_zero, 3 if depthwise else 0, w)]  # fmt: skip
    # No bias is zeros, as converters write it: several kernels insist on one.
    bias = numpy.zeros(m, numpy.int32) if case.input(8) is None else case.input(8)
    tensors.append(model.add(bias.shape, bias.dtype, x_scale * w_scale, None, 0, bias))
    y = model.add((), y_zero.dtype, y_scale, y_zero)
    if depthwise:
        options = schema.DepthwiseConv2DOptionsT(**common, depthMultiplier=m // g.group)
        return model.build(CODES.DEPTHWISE_CONV_2D, tensors, y, schema.BuiltinOptions.DepthwiseConv2DOptions, options)
    return model.build(CODES.CONV_2D, tensors, y, schema.BuiltinOptions.Conv2DOptions, schema.Conv2DOptionsT(**common))


def linear(case, model):
    x, scale, zero, quantizes = *case.inputs[:2], case.input(2), case.op == "QuantizeLinear"
    if case.attributes.get("block_size", 0) or str(scale.dtype) != "float32":
        raise Unsupported("scales of blocks, or of another type than float32")
    y_type = (zero.dtype if zero is not None else "uint8") if quantizes else "float32"
    if {str(x.dtype), str(y_type)} - set(TYPES) or case.attributes.keys() - {"axis"}:
        raise Unsupported(f"no such types, or attributes: {x.dtype} {y_type} {list(case.attributes)}")
    axis = case.attributes.get("axis", 1) % max(x.ndim, 1) if scale.ndim else 0
    parameters = (scale, zero, axis)
    tensors = [model.add(x.shape, x.dtype, *(() if quantizes else parameters))]
    y = model.add(x.shape, y_type, *(parameters if quantizes else ()))
    return model.build(CODES.QUANTIZE if quantizes else CODES.DEQUANTIZE, tensors, y)


def answer(case):
    if case.op not in ("QLinearConv", "QuantizeLinear", "DequantizeLinear"):
        raise Unsupported(f"no operator for {case.op}")
    x, is_convolution = case.inputs[0], case.op == "QLinearConv"
    content = (convolution if is_convolution else linear)(case, Model())
    run = Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=KERNELS[WORD])
    run.allocate_tensors()
    run.set_tensor(run.get_input_details()[0]["index"], x.transpose(0, 2, 3, 1) if is_convolution else x)
    run.invoke()
    y = run.get_tensor(run.get_output_details()[0]["index"])
    return y.transpose(0, 3, 1, 2) if is_convolution else y


serve(f"LiteRT {version('ai-edge-litert')}", answer, ["assumes-valid"])
