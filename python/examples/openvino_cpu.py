"""OpenVINO's Python package as a backend: its ONNX frontend and its CPU plugin.

    python3 openvino_cpu.py

OpenVINO has threads, which a fork would lose: it is named below, so that its worker is a new process.
"""

import io

import ml_dtypes
import numpy as np
import openvino

import qconform

CORE = openvino.Core()
SETTINGS = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
# Types that OpenVINO gives as bytes.
DTYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
}
PACKED = ("i4", "u4", "u2", "f4e2m1")


def compute(model, inputs):
    """An answer to a case."""
    compiled = CORE.compile_model(CORE.read_model(io.BytesIO(model.SerializeToString())), "CPU", SETTINGS)
    request = compiled.create_infer_request()
    for place, (port, array) in enumerate(zip(compiled.inputs, inputs)):
        if port.element_type.get_type_name() in PACKED:
            raise qconform.Unsupported("inputs of elements that are packed")
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        request.set_input_tensor(place, openvino.Tensor(data, list(array.shape), port.element_type))
    request.infer()
    outputs = []
    for place in range(len(compiled.outputs)):
        tensor = request.get_output_tensor(place)
        kind = tensor.element_type.get_type_name()
        if kind in PACKED:
            raise qconform.Unsupported("outputs of elements that are packed")
        array = np.array(tensor.data).reshape(list(tensor.shape))
        outputs.append(array.view(DTYPES[kind]) if kind in DTYPES else array)
    return outputs


if __name__ == "__main__":
    print(qconform.run("openvino_cpu:compute", "corpus"))
