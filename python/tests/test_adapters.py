"""Runtimes from PyPI as backends, in an environment of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[1]
RUN = """
import json, sys
import qconform
report = qconform.run(sys.argv[1], "random", cases=int(sys.argv[2]), seed=5, explain=False, shrink=False, within=False)
backend = report.backends[0]
print(json.dumps({"version": backend.version, "verdicts": {kind: backend.count(kind) for kind in sys.argv[3:]},
                  "stopped": backend.stopped, "text": str(report)}))
"""
KINDS = ["pass", "wrong", "bad-shape", "unsupported", "crashed", "exited", "timed-out", "vacuous"]


@pytest.fixture(scope="module")
def interpreter():
    """Python with the runtimes: where QCONFORM_ADAPTERS_PYTHON says, else in an environment that is made here."""
    stated = os.environ.get("QCONFORM_ADAPTERS_PYTHON")
    if stated:
        return stated
    folder = Path(sys.prefix).parent / "python-adapters"
    requirements = PYTHON / "tests" / "adapters-requirements.txt"
    made = subprocess.run(
        [PYTHON.parent / "scripts" / "python-environment", folder, requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    return str(folder / "bin" / "python")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "package", "cases", "right"),
    [
        ("onnxruntime_sessions:session", "onnxruntime", 400, 150),
        ("openvino_cpu:compute", "openvino", 100, 10),
        ("tinygrad_cpu:compute", "tinygrad", 20, 1),
        ("onnx.reference:ReferenceEvaluator", "onnx", 400, 100),
    ],
)
def test_a_runtime(interpreter, backend, package, cases, right):
    done = subprocess.run(
        [interpreter, "-c", RUN, backend, str(cases), *KINDS],
        capture_output=True,
        text=True,
        cwd=PYTHON / "examples",
        timeout=560,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    verdicts = found["verdicts"]
    print(found["text"])
    assert verdicts["pass"] >= right, found["text"]
    # Of ONNX's evaluator that is a finding: scales by channel give y a dimension more.
    assert verdicts["bad-shape"] == 0 or package == "onnx", found["text"]
    assert found["version"].startswith(package) or package in ("openvino", "tinygrad", "onnxruntime"), found["version"]
    assert (verdicts["crashed"], verdicts["exited"], found["stopped"]) == (0, 0, "")
