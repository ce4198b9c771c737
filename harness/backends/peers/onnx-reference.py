"""ONNX's own ReferenceEvaluator, on the case as it is."""

import onnx
from onnx.reference import ReferenceEvaluator
from peer import serve


def answer(case):
    return ReferenceEvaluator(case.model).run(None, {})[0]


serve(f"onnx {onnx.__version__}", answer)
