"""IREE: its ONNX importer and compiler, on its CPU backend."""

from importlib.metadata import version

import numpy
from iree import runtime
from iree.compiler import compile_str, ir
from iree.compiler.extras import onnx_importer
from onnx import shape_inference
from peer import serve

CONFIG = runtime.Config("local-sync")
FLAGS = ["--iree-llvmcpu-target-cpu=host"]


def imported(model):
    info = onnx_importer.ModelInfo(model)
    context = ir.Context()
    module = info.create_module(context=context).operation
    importer = onnx_importer.NodeImporter.define_function(info.main_graph, module)
    importer.import_all()
    return str(module)


def answer(case):
    binary = compile_str(
        imported(shape_inference.infer_shapes(case.fed_model())), target_backends=["llvm-cpu"], input_type="onnx", extra_args=FLAGS)
    context = runtime.SystemContext(config=CONFIG)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    function = context.modules.module[case.model.graph.name or "main_graph"]
    return function(numpy.array(case.inputs[0], order="C")).to_host()


serve(f"IREE {version('iree-base-compiler')}", answer)
