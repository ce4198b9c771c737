"""A backend in NumPy: QuantizeLinear and DequantizeLinear with one scale, or with one for each slice of an axis.

    python3 numpy_backend.py
"""

import numpy as np

import qconform


def along_axis(parameter, x, axis):
    """The parameter in a shape that NumPy broadcasts: an element for each slice of x along the axis."""
    return parameter if parameter.ndim == 0 else parameter.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def compute(model, inputs):
    """An answer to a case, or Unsupported with the reason."""
    node = model.graph.node[0]
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    if len(model.graph.node) > 1 or node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
        raise qconform.Unsupported("another operator, or several")
    x, scale, *zero_point = qconform.node_inputs(model, inputs)
    if scale.dtype != np.float32 or scale.ndim > 1 or attributes.keys() - {"axis"} or not zero_point:
        raise qconform.Unsupported("another scale, blocks, further attributes, or no zero point")
    codes = zero_point[0].dtype
    if codes not in (np.uint8, np.int8) or x.dtype not in (np.float32, codes):
        raise qconform.Unsupported(f"{x.dtype} beside a zero point of {codes}")
    axis = attributes.get("axis", 1) % max(x.ndim, 1)
    if scale.shape != zero_point[0].shape or (scale.ndim == 1 and (x.ndim == 0 or scale.size != x.shape[axis])):
        raise ValueError("scale and zero point do not fit x")
    scale, zero_point = along_axis(scale, x, axis), along_axis(zero_point[0].astype(np.int32), x, axis)
    if node.op_type == "DequantizeLinear":
        return (x.astype(np.int32) - zero_point).astype(np.float32) * scale
    ends = np.iinfo(codes)
    return np.clip(np.rint(x / scale) + zero_point, ends.min, ends.max).astype(codes)


if __name__ == "__main__":
    print(qconform.run(compute))
