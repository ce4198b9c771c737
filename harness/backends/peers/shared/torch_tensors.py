"""PyTorch's tensors from a case's."""

from fractions import Fraction

import numpy
import torch
from peer import Unsupported

TYPES = {"uint8": torch.quint8, "int8": torch.qint8, "int32": torch.qint32}


def tensor(array):
    return torch.from_numpy(numpy.array(array, order="C", copy=True))


def parameters(values, scale, zero, axis):
    """How PyTorch's functions call it, "channel" or "tensor", and their arguments behind the values."""
    zeros = numpy.zeros(scale.shape, numpy.int64) if zero is None else zero.astype(numpy.int64)
    if scale.ndim == 1 and values.ndim > 0 and scale.size == values.shape[axis]:
        return "channel", (tensor(scale), tensor(zeros), axis % values.ndim)
    return "tensor", (float(scale.item()), int(zeros.item()))


def quantized(codes, scale, zero, axis=0):
    """The codes as a quantized tensor."""
    if str(codes.dtype) not in TYPES:
        raise Unsupported("quantized tensors are of uint8, int8 or int32")
    kind, arguments = parameters(codes, scale, zero, axis)
    return getattr(torch, f"_make_per_{kind}_quantized_tensor")(tensor(codes), *arguments)


def real_bias(bias, x_scale, w_scale):
    """The bias in real units, as float32; none is rounded."""
    if bias is None:
        return None
    scales = numpy.broadcast_to(numpy.ravel(w_scale), bias.shape)
    exact = [Fraction(int(b)) * Fraction(float(x_scale.item())) * Fraction(float(w)) for b, w in zip(bias, scales)]
    result = numpy.array([float(value) for value in exact]).astype(numpy.float32)
    if not numpy.isfinite(result).all() or [Fraction(float(value)) for value in result] != exact:
        raise Unsupported("a bias that times x_scale * w_scale is no float32")
    return tensor(result)
