"""tinygrad's ONNX runner as a backend, on its CPU device, which compiles with the system's clang.

    python3 tinygrad_cpu.py
"""

import os
import shutil

os.environ.setdefault("CC", next(filter(shutil.which, ("clang", *(f"clang-{i}" for i in range(22, 13, -1)))), "clang"))
os.environ.setdefault("DEV", "CPU:CLANG")
os.environ["CACHELEVEL"] = "0"  # leave nothing in the user's folders

import ml_dtypes
import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.nn.onnx import OnnxRunner

import qconform

# Types that NumPy has no name for.
WORDS = {
    dtypes.bfloat16: (dtypes.uint16, ml_dtypes.bfloat16),
    dtypes.fp8e4m3: (dtypes.uint8, ml_dtypes.float8_e4m3fn),
    dtypes.fp8e5m2: (dtypes.uint8, ml_dtypes.float8_e5m2),
}
OF_NUMPY = {np.dtype(given): (word, kind) for kind, (word, given) in WORDS.items()}


def tensor(array):
    """A tensor of tinygrad."""
    if array.dtype in OF_NUMPY:
        word, kind = OF_NUMPY[array.dtype]
        return Tensor(array.view(f"u{array.dtype.itemsize}"), dtype=word).bitcast(kind)
    if array.dtype.name.startswith(("int4", "uint4", "int2", "uint2", "float8", "float4")):
        raise qconform.Unsupported(f"inputs of {array.dtype}")
    return Tensor(array)


def array_of(output):
    """An array of NumPy."""
    if output.dtype in WORDS:
        word, given = WORDS[output.dtype]
        return output.contiguous().bitcast(word).numpy().view(given)
    return output.numpy()


def compute(model, inputs):
    """An answer to a case."""
    names = [value.name for value in model.graph.input]
    runner = OnnxRunner(Tensor(model.SerializeToString()))
    return [array_of(output) for output in runner(dict(zip(names, map(tensor, inputs)))).values()]


if __name__ == "__main__":
    print(qconform.run("tinygrad_cpu:compute", "corpus"))
