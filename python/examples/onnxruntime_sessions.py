"""ONNX Runtime's Python package as a backend: a session for each case, one thread, all optimizations.

    python3 onnxruntime_sessions.py
"""

import onnxruntime

import qconform


def session(model):
    """A session of a serialized model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    print(qconform.run("onnxruntime_sessions:session", "corpus"))
