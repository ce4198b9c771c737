"""OpenVINO's ONNX frontend and CPU plugin: what an application feeds is an input, everything else is constant."""

import io

import numpy
import openvino
from onnx import TensorProto
from peer import SETTINGS, Unsupported, serve

CORE = openvino.Core()
PRECISION = SETTINGS.get("precision", "f32")
LONG_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
# Without the hint the plugin takes bfloat16 on processors that have it; without the group size it may quantize float
# activations to int8 in front of compressed weights.
PROPERTIES = {
    "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": PRECISION,
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0, "CPU_DENORMALS_OPTIMIZATION": False,
}  # fmt: skip
# Parts that rewrite graphs: products of quantized data in 8 bits, and code made for several nodes at once. The plugin
# does not tell them.
SWITCHES = {}
if SETTINGS.get("low-precision") == "off":
    SWITCHES["LP_TRANSFORMS_MODE"] = False
if SETTINGS.get("snippets") == "off":
    SWITCHES["SNIPPETS_MODE"] = "DISABLE"
ONNX_NAMES = {
    "f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16", "f64": "DOUBLE",
    "i8": "INT8", "u8": "UINT8", "i16": "INT16", "u16": "UINT16", "i32": "INT32", "u32": "UINT32", "i64": "INT64",
    "i4": "INT4", "u4": "UINT4", "u2": "UINT2",
    "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2", "f8e8m0": "FLOAT8E8M0", "f4e2m1": "FLOAT4E2M1",
}  # fmt: skip


def onnx_type(element_type):
    return TensorProto.DataType.Value(ONNX_NAMES[element_type.get_type_name()])


def in_use():
    """The properties as the plugin holds them, of a model that does nothing."""
    x = openvino.opset8.parameter([1], numpy.float32)
    compiled = CORE.compile_model(openvino.Model([openvino.opset8.relu(x)], [x], "none"), "CPU", PROPERTIES)
    return {name: compiled.get_property(name) for name in PROPERTIES}


def answer(case):
    if PINNED["precision"] != LONG_NAMES[PRECISION]:
        raise Unsupported(f"on this processor the plugin computes in {PINNED['precision']}, not in {PRECISION}")
    model = CORE.read_model(io.BytesIO(case.fed_model().SerializeToString()))
    request = CORE.compile_model(model, "CPU", PROPERTIES | SWITCHES).create_infer_request()
    # Bytes, of any type: NumPy lacks some. A tensor of the runtime does not hold what lies under it.
    arrays = {name: numpy.frombuffer(fed.raw_data, numpy.uint8) for name, fed in case.fed.items()}
    for port in model.inputs:
        name = port.any_name
        request.set_tensor(port, openvino.Tensor(arrays[name], case.fed[name].dims, port.element_type))
    request.infer()
    outputs = [request.get_output_tensor(i) for i in range(len(model.outputs))]
    return [TensorProto(data_type=onnx_type(y.element_type), dims=list(y.shape), raw_data=y.data.tobytes())
            for y in outputs]  # fmt: skip


HELD = in_use()
PINNED = {
    "threads": HELD["INFERENCE_NUM_THREADS"],
    "precision": LONG_NAMES[HELD["INFERENCE_PRECISION_HINT"].get_type_name()],
    "dynamic-quantization": HELD["DYNAMIC_QUANTIZATION_GROUP_SIZE"] or "off",
    "subnormals": "flushed" if HELD["CPU_DENORMALS_OPTIMIZATION"] else "kept",
}
serve(f"OpenVINO {openvino.__version__.split('-')[0]}", answer, ["units", "fed-inputs"], PINNED)
