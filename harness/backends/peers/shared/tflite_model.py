"""Writes and runs TensorFlow Lite models of one operator, with the schema that ai-edge-litert brings."""

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

# With the XNNPACK delegate, without it, and the plain reference kernels.
KERNELS = {
    "": OpResolverType.AUTO,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}

TYPES = {
    "float32": schema.TensorType.FLOAT32, "float16": schema.TensorType.FLOAT16,
    "bfloat16": schema.TensorType.BFLOAT16, "float64": schema.TensorType.FLOAT64,
    "int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8,
    "int16": schema.TensorType.INT16, "uint16": schema.TensorType.UINT16,
    "int32": schema.TensorType.INT32,
}  # fmt: skip


class Model:
    def __init__(self):
        self.graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[])
        self.buffers = [schema.BufferT()]

    def add(self, shape, dtype, scale=None, zero_point=None, axis=0, data=None):
        """A tensor, its position; with `data` a constant. Of a scale, its values along the axis."""
        quantization = None
        if scale is not None:
            scale = numpy.ravel(scale)
            zeros = numpy.zeros(scale.shape) if zero_point is None else numpy.ravel(zero_point)
            quantization = schema.QuantizationParametersT(
                scale=scale.astype(numpy.float32), zeroPoint=zeros.astype(numpy.int64), quantizedDimension=axis
            )
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            self.buffers.append(schema.BufferT(data=numpy.frombuffer(data.tobytes(), numpy.uint8)))
        position = len(self.graph.tensors)
        self.graph.tensors.append(
            schema.TensorT(
                shape=list(shape), type=TYPES[str(dtype)], buffer=buffer, name=f"t{position}", hasRank=True,
                quantization=quantization,
            )  # fmt: skip
        )
        return position

    def build(self, code, inputs, output, options_type=0, options=None):
        """The bytes of a model with the one operator; its first input is the graph's."""
        operator = schema.OperatorT(
            opcodeIndex=0, inputs=inputs, outputs=[output], builtinOptionsType=options_type, builtinOptions=options
        )
        self.graph.operators, self.graph.inputs, self.graph.outputs = [operator], inputs[:1], [output]
        operator_code = schema.OperatorCodeT(deprecatedBuiltinCode=min(code, 127), builtinCode=code, version=5)
        model = schema.ModelT(version=3, operatorCodes=[operator_code], subgraphs=[self.graph], buffers=self.buffers)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def run(content, x, kernels):
    interpreter = Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=KERNELS[kernels])
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
