"""tinygrad's OnnxRunner on its CPU device, which compiles with the system's clang."""

import os
import shutil

CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
os.environ.setdefault("CC", next(filter(shutil.which, CLANGS), "clang"))
os.environ.setdefault("DEV", "CPU:CLANG")
os.environ["CACHELEVEL"] = "0"  # leave nothing in the user's folders
os.environ["THREADS"] = "0"
os.environ["FLOAT16"] = "0"

from importlib.metadata import version

from onnx import TensorProto
from peer import serve
from tinygrad import Tensor, dtypes
from tinygrad.nn.onnx import OnnxRunner

TYPES = {
    dtypes.float32: "FLOAT", dtypes.float16: "FLOAT16", dtypes.bfloat16: "BFLOAT16", dtypes.float64: "DOUBLE",
    dtypes.int8: "INT8", dtypes.uint8: "UINT8", dtypes.int16: "INT16", dtypes.uint16: "UINT16",
    dtypes.int32: "INT32", dtypes.uint32: "UINT32", dtypes.int64: "INT64", dtypes.uint64: "UINT64",
    dtypes.fp8e4m3: "FLOAT8E4M3FN", dtypes.fp8e5m2: "FLOAT8E5M2",
}  # fmt: skip
WORDS = {1: dtypes.uint8, 2: dtypes.uint16}


def tensor_of(y):
    y_type = TYPES[y.dtype]
    if y.dtype in (dtypes.bfloat16, dtypes.fp8e4m3, dtypes.fp8e5m2):
        y = y.contiguous().bitcast(WORDS[y.dtype.itemsize])
    data_type = TensorProto.DataType.Value(y_type)
    return TensorProto(data_type=data_type, dims=y.shape, raw_data=bytes(y.data()))


def answer(case):
    outputs = OnnxRunner(Tensor(case.data))({})
    return [tensor_of(outputs[output.name]) for output in case.model.graph.output]


serve(f"tinygrad {version('tinygrad')}", answer, ["units"], {"threads": 1, "precision": "float32"})
