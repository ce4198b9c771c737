"""IREE: its ONNX importer and compiler, on its CPU backend. Its integers have no sign: y has ONNX's inferred type."""

from importlib.metadata import version

import numpy
from iree import runtime
from iree.compiler import compile_str, ir
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, numpy_helper, shape_inference
from peer import serve

CONFIG = runtime.Config("local-sync")
FLAGS = ["--iree-llvmcpu-target-cpu=host"]


def imported(model):
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=ir.Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    return str(module)


def answer(case):
    model = shape_inference.infer_shapes(case.fed_model())  # the importer wants the types
    binary = compile_str(imported(model), target_backends=["llvm-cpu"], input_type="onnx", extra_args=FLAGS)
    context = runtime.SystemContext(config=CONFIG)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    function = context.modules.module[model.graph.name or "main_graph"]
    results = function(*(numpy.array(numpy_helper.to_array(x), order="C") for x in case.fed.values()))
    outputs = results if isinstance(results, (list, tuple)) else [results]
    return [
        TensorProto(data_type=output.type.tensor_type.elem_type, dims=y.shape, raw_data=y.tobytes())
        for y, output in zip([y.to_host() for y in outputs], model.graph.output)
    ]


serve(f"IREE {version('iree-base-compiler')}", answer, ["units", "fed-inputs"], {"threads": 1, "precision": "float32"})
