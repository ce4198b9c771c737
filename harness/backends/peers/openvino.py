"""OpenVINO's ONNX frontend and CPU plugin: x is the model's input, everything else is constant."""

import io

import numpy
import openvino
from onnx import TensorProto
from peer import serve

CORE = openvino.Core()
SETTINGS = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
ONNX_NAMES = {
    "f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16", "f64": "DOUBLE",
    "i8": "INT8", "u8": "UINT8", "i16": "INT16", "u16": "UINT16", "i32": "INT32", "u32": "UINT32", "i64": "INT64",
    "i4": "INT4", "u4": "UINT4", "u2": "UINT2",
    "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2", "f8e8m0": "FLOAT8E8M0", "f4e2m1": "FLOAT4E2M1",
}  # fmt: skip


def answer(case):
    model = CORE.read_model(io.BytesIO(case.fed_model().SerializeToString()))
    request = CORE.compile_model(model, "CPU", SETTINGS).create_infer_request()
    if model.inputs:
        x = numpy.frombuffer(case.tensors[0].raw_data, numpy.uint8)  # of any type: NumPy lacks some
        request.set_input_tensor(openvino.Tensor(x, case.tensors[0].dims, model.input(0).element_type))
    request.infer()
    y = request.get_output_tensor()
    data_type = TensorProto.DataType.Value(ONNX_NAMES[y.element_type.get_type_name()])
    return TensorProto(data_type=data_type, dims=list(y.shape), raw_data=y.data.tobytes())


serve(f"OpenVINO {openvino.__version__.split('-')[0]}", answer)
