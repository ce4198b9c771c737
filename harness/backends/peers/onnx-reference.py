"""ONNX's own ReferenceEvaluator, on the case as it is."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's products of matrices

import onnx
from onnx.reference import ReferenceEvaluator
from peer import serve


def answer(case):
    return ReferenceEvaluator(case.model).run(None, {})


serve(f"onnx {onnx.__version__}", answer, ["units"], {"threads": 1, "precision": "as stated"})
