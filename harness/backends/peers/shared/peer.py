"""Runs a peer, a program of the folder above that asks one runtime, as a backend of qconform.

    python3 -I -S -B harness/backends/peers/shared/peer.py NAME ROOT [WORD [KEY=VALUE]...]

NAME.py computes cases with the packages of ROOT/site, which scripts/library-root made:

    from peer import Unsupported, serve

    def answer(case):
        if case.op == "Conv":
            raise Unsupported("why the runtime's interface cannot express it")
        return runtime.compute(case.model)  # a NumPy array, or a list of one for each output of the graph

    serve("Runtime " + runtime.__version__, answer, pinned={"threads": 1, "precision": "float32"})

Exceptions of the runtime are its refusal of the case. Without the capability "units" a program gets cases of one node
alone. `pinned` is what the program sets so that answers do not depend on the machine, for reports. The protocol is in docs/adding-a-backend.md.
"""

import functools
import importlib.util
import os
import struct
import sys

HEADER = struct.Struct("<4sII")  # what it is, number of the case, bytes that follow
PROTOCOL = 1
LONGEST_TEXT = 190
# What stands behind the @ of the backend's name.
WORD = sys.argv[3] if len(sys.argv) > 3 else ""
SETTINGS = dict(setting.split("=", 1) for setting in sys.argv[4:])


class Unsupported(Exception):
    """The runtime's interface cannot express the case."""


class Case:
    """A model whose inputs are all initializers; `node` is its first, and the only one without "units"."""

    def __init__(self, data):
        import onnx

        self.data = data
        self.model = onnx.load_model_from_string(data)
        self.node = self.model.graph.node[0]
        self.op = self.node.op_type
        self.opset = max((o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")), default=1)
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute}

    @functools.cached_property
    def tensors(self):
        """The node's inputs as TensorProto, None for one that is omitted."""
        named = {tensor.name: tensor for tensor in self.model.graph.initializer}
        return [named[name] if name else None for name in self.node.input]

    @functools.cached_property
    def inputs(self):
        """The node's inputs as NumPy arrays, None for one that is omitted."""
        from onnx import numpy_helper

        return [None if tensor is None else numpy_helper.to_array(tensor) for tensor in self.tensors]

    def input(self, position):
        return self.inputs[position] if position < len(self.inputs) else None

    @functools.cached_property
    def fed(self):
        """What an application feeds, as TensorProto by name: x, or with "fed-inputs" the graph's declared inputs."""
        names = [value.name for value in self.model.graph.input] or [self.node.input[0]]
        held = {tensor.name: tensor for tensor in self.model.graph.initializer}
        return {name: held[name] for name in names}

    def fed_model(self):
        """The model with what is fed as inputs of its graph alone, as in a network: a runtime may fold constants."""
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        held = [tensor for tensor in model.graph.initializer if tensor.name not in self.fed]
        del model.graph.initializer[:], model.graph.input[:]
        model.graph.initializer.extend(held)
        for name, x in self.fed.items():
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, x.data_type, x.dims))
        return model


def tensor_of(output):
    """The TensorProto of a NumPy array, of types that only ml_dtypes or older releases of onnx name too."""
    import numpy
    import onnx
    from onnx import numpy_helper

    if isinstance(output, onnx.TensorProto):
        return output
    array = numpy.asarray(output)
    if array.dtype.names:  # what onnx before 1.19 calls a float8: a structure of one byte, whose field names it
        return onnx.TensorProto(
            data_type=onnx.TensorProto.DataType.Value(array.dtype.names[0].upper()),
            dims=array.shape,
            raw_data=array.tobytes(),
        )
    return numpy_helper.from_array(numpy.array(array, order="C", copy=True))


class Connection:
    """qconform's pipes. What the runtime prints goes to stderr."""

    to_qconform = None

    def __init__(self):
        self.input = os.fdopen(os.dup(0), "rb")
        self.output = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def put(self, kind, number, payload):
        self.output.write(HEADER.pack(kind, number, len(payload)) + payload)
        self.output.flush()

    def cases(self):
        while header := self.input.read(HEADER.size):
            _, number, size = HEADER.unpack(header)
            yield number, self.input.read(size)


def reason_of(error):
    """On one line; of a long text the first part that a compiler calls an error, else the end."""
    text = " ".join(str(error).split())
    if len(text) > LONGEST_TEXT:
        start = text.find("error: ")
        text = text[start : start + LONGEST_TEXT] if start >= 0 else "... " + text[-LONGEST_TEXT:]
    return text if isinstance(error, Unsupported) else f"{type(error).__name__}: {text}"


def messages_of(answer, case):
    """What is sent for the case, as kinds and payloads."""
    try:
        outputs = answer(case)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        payloads = [tensor_of(output).SerializeToString() for output in outputs]
    except Unsupported as error:
        return [(b"SKIP", reason_of(error).encode())]
    except Exception as error:
        return [(b"DENY", reason_of(error).encode())]
    return [(b"PART", payload) for payload in payloads[:-1]] + [(b"DONE", payloads[-1])]


def serve(title, answer, capabilities=(), pinned=None):
    """Says hello as `title` and answers cases until there are no more. Capabilities: docs/adding-a-backend.md."""
    connection = Connection.to_qconform
    lines = [title, *capabilities, *(f"pinned {name}={value}" for name, value in (pinned or {}).items())]
    connection.put(b"HELO", PROTOCOL, "\n".join(lines).encode())
    for number, data in connection.cases():
        for kind, payload in messages_of(answer, Case(data)):
            connection.put(kind, number, payload)


def main():
    name, root = sys.argv[1:3]
    Connection.to_qconform = Connection()  # before the first import: some print
    sys.path.insert(0, os.path.join(root, "site"))
    sys.modules["peer"] = sys.modules["__main__"]
    shared = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(shared)
    # Its folder is not in sys.path: "import openvino" does not mean openvino.py.
    path = os.path.join(os.path.dirname(shared), name + ".py")
    specification = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(program)
    except ImportError as error:
        sys.exit(f"{root} lacks a package: {error}")


if __name__ == "__main__":
    main()
