"""Apache TVM: its ONNX frontend for Relax, compiled for this CPU by LLVM."""

import os

os.environ["TVM_NUM_THREADS"] = "1"

import numpy
import tvm
from onnx import numpy_helper
from peer import serve
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def answer(case):
    module = from_onnx(case.fed_model(), keep_params_in_input=False)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    fed = [numpy.array(numpy_helper.to_array(x), order="C") for x in case.fed.values()]
    y = machine["main"](*map(tvm.runtime.tensor, fed))
    return y.numpy() if hasattr(y, "numpy") else [output.numpy() for output in y]


serve(f"TVM {tvm.__version__}", answer, ["units", "fed-inputs"], {"threads": 1, "precision": "float32"})
