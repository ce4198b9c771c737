"""Apache TVM: its ONNX frontend for Relax, compiled for this CPU by LLVM."""

import numpy
import tvm
from peer import serve
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def answer(case):
    module = from_onnx(case.fed_model(), keep_params_in_input=False)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    y = machine["main"](tvm.runtime.tensor(numpy.array(case.inputs[0], order="C")))
    return y.numpy()


serve(f"TVM {tvm.__version__}", answer)
