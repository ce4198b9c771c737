"""PyTorch, CPU: quantized convolutions of one of its engines, quantize_per_tensor and _per_channel, dequantize."""

import torch
from geometry import Convolution
from peer import WORD, Unsupported, serve
from torch_tensors import TYPES, parameters, quantized, real_bias, tensor

ENGINES = torch.backends.quantized.supported_engines
QUANTIZED = torch.ops.quantized


def convolution(case):
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = case.inputs[:8]
    rank, g = x.ndim - 2, Convolution(case, x, w)
    if w.dtype != "int8":
        raise Unsupported("weights are int8")
    if y_zero.dtype != x.dtype:
        raise Unsupported("y has the type of x")
    if not 1 <= rank <= 3 or g.begins != g.ends:
        raise Unsupported("more than 3 spatial dimensions, or different pads at begin and end")
    prepack, convolve = getattr(QUANTIZED, f"conv{rank}d_prepack"), getattr(QUANTIZED, f"conv{rank}d")
    bias = real_bias(case.input(8), x_scale, w_scale)
    packed = prepack(quantized(w, w_scale, w_zero), bias, g.strides, g.begins, g.dilations, g.group)
    return convolve(quantized(x, x_scale, x_zero), packed, float(y_scale.item()), int(y_zero.item())).int_repr()


def linear(case):
    (x, scale), zero, axis = case.inputs[:2], case.input(2), case.attributes.get("axis", 1)
    if scale.dtype != "float32" or case.attributes.keys() - {"axis"}:
        raise Unsupported("scales other than float32, or attributes other than axis")
    if case.op == "DequantizeLinear":
        return quantized(x, scale, zero, axis).dequantize()
    y_type = TYPES.get("uint8" if zero is None else str(zero.dtype))
    if x.dtype != "float32" or y_type is None:
        raise Unsupported("quantizes float32 to uint8, int8 or int32")
    kind, arguments = parameters(x, scale, zero, axis)
    return getattr(torch, f"quantize_per_{kind}")(tensor(x), *arguments, y_type).int_repr()


FUNCTIONS = {"QLinearConv": convolution, "QuantizeLinear": linear, "DequantizeLinear": linear}


def answer(case):
    if WORD and WORD not in ENGINES:
        raise Unsupported(f"this build has no engine {WORD}: it has {', '.join(ENGINES)}")
    if case.op not in FUNCTIONS:
        raise Unsupported(f"no operator for {case.op}")
    return FUNCTIONS[case.op](case).numpy()


torch.set_num_threads(1)
torch.set_flush_denormal(False)
torch.set_float32_matmul_precision("highest")  # lower ones allow bfloat16 and TF32
if WORD in ENGINES:
    torch.backends.quantized.engine = WORD
serve(f"PyTorch {torch.__version__.split('+')[0]}", answer, ["assumes-valid"],
      {"threads": torch.get_num_threads(), "precision": "float32", "subnormals": "kept"})  # fmt: skip
