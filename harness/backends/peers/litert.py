"""LiteRT (TensorFlow Lite): quantized CONV_2D and DEPTHWISE_CONV_2D, QUANTIZE, DEQUANTIZE."""

from importlib.metadata import version

import numpy
from ai_edge_litert import schema_py_generated as schema
from geometry import Convolution
from peer import WORD, Unsupported, serve
from tflite_model import TYPES, Model, run

CODES = schema.BuiltinOperator


def convolution(case, model):
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = case.inputs[:8]
    if x.ndim != 4 or x.dtype != w.dtype:
        raise Unsupported("CONV_2D has two spatial dimensions, and x and w of one type")
    g = Convolution(case, x, w)
    if not g.pads_nothing and not g.pads_like_same_upper:
        raise Unsupported("pads other than those of SAME and VALID")
    common = dict(
        padding=schema.Padding.VALID if g.pads_nothing else schema.Padding.SAME, strideH=g.strides[0],
        strideW=g.strides[1], dilationHFactor=g.dilations[0], dilationWFactor=g.dilations[1])  # fmt: skip
    depthwise = g.group > 1 and w.shape[1] == 1 and g.group == x.shape[1]
    m = w.shape[0]  # depthwise filters are [1, H, W, M], others [M, H, W, C / group]
    w = w.transpose(1, 2, 3, 0) if depthwise else w.transpose(0, 2, 3, 1)
    # No bias is zeros, as converters write it: several kernels insist on one.
    bias = numpy.zeros(m, numpy.int32) if case.input(8) is None else case.input(8)
    tensors = [model.add((x.shape[0], *x.shape[2:], x.shape[1]), x.dtype, x_scale, x_zero),
               model.add(w.shape, w.dtype, w_scale, w_zero, 3 if depthwise else 0, w),
               model.add(bias.shape, bias.dtype, x_scale * w_scale, None, 0, bias)]  # fmt: skip
    y = model.add((), y_zero.dtype, y_scale, y_zero)
    if depthwise:
        options = schema.DepthwiseConv2DOptionsT(**common, depthMultiplier=m // g.group)
        return model.build(CODES.DEPTHWISE_CONV_2D, tensors, y, schema.BuiltinOptions.DepthwiseConv2DOptions, options)
    return model.build(CODES.CONV_2D, tensors, y, schema.BuiltinOptions.Conv2DOptions, schema.Conv2DOptionsT(**common))


def linear(case, model):
    x, scale, zero, quantizes = *case.inputs[:2], case.input(2), case.op == "QuantizeLinear"
    y_type = (zero.dtype if zero is not None else "uint8") if quantizes else "float32"
    if scale.dtype != "float32" or case.attributes.keys() - {"axis"} or {str(x.dtype), str(y_type)} - set(TYPES):
        raise Unsupported("other attributes than axis, or types that LiteRT lacks")
    if quantizes and str(x.dtype) != "float32":
        raise Unsupported("QUANTIZE takes float32 or codes")
    parameters = (scale, zero, case.attributes.get("axis", 1) % max(x.ndim, 1) if scale.ndim else 0)
    tensors = [model.add(x.shape, x.dtype, *(() if quantizes else parameters))]
    y = model.add(x.shape, y_type, *(parameters if quantizes else ()))
    return model.build(CODES.QUANTIZE if quantizes else CODES.DEQUANTIZE, tensors, y)


def answer(case):
    if case.op == "QLinearConv":
        return run(convolution(case, Model()), case.inputs[0].transpose(0, 2, 3, 1), WORD).transpose(0, 3, 1, 2)
    if case.op in ("QuantizeLinear", "DequantizeLinear"):
        return run(linear(case, Model()), case.inputs[0], WORD)
    raise Unsupported(f"no operator for {case.op}")


serve(f"LiteRT {version('ai-edge-litert')}", answer, ["assumes-valid"], {"threads": 1, "precision": "float32"})
