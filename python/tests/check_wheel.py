"""What a new user does with an installed wheel, in an environment with nothing else: scripts/wheel runs it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import qconform

HERE = Path(sys.prefix)


def run(*arguments):
    """The output of a command that must succeed."""
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (arguments, result.returncode, result.stdout[-2000:], result.stderr[-2000:])
    return result.stdout


def check_is_installed():
    assert HERE in Path(qconform.__file__).parents, qconform.__file__


def check_functions():
    names = ["x", "y_scale", "y_zero_point"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("QuantizeLinear", names, ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in zip(names, (1, 1, 2))],
        [onnx.helper.make_tensor_value_info("y", 2, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    inputs = [np.array([1, 3, 5], np.float32), np.float32(2), np.uint8(0)]
    (y,) = qconform.reference(model, inputs)
    assert y.tolist() == [0, 2, 2]
    assert qconform.judge(model, inputs, y)
    assert not qconform.judge(model, inputs, y + 1)
    assert qconform.admissible(model, inputs)[0][1].members == (2,)


def check_corpus():
    corpus = sum(1 for _ in qconform.cases("corpus"))
    assert corpus > 2000, corpus
    return corpus


def check_program():
    version = run(str(HERE / "bin" / "qconform"), "--version")
    assert version == run(sys.executable, "-m", "qconform", "--version")
    with tempfile.TemporaryDirectory() as folder:
        run(
            sys.executable,
            "-m",
            "qconform",
            "run",
            "--backend",
            "scalar",
            "--suite",
            "corpus",
            "--no-within",
            "--out",
            folder,
        )
        report = json.loads((Path(folder) / "report.json").read_text())
        assert report["suites"][0]["cases"] > 2000
        # The page is part of the program where Node.js was there when the wheel was built.
        return version.strip(), (Path(folder) / "report.html").exists()


def check_callable():
    """A backend of Python in worker processes, which judges itself by the functions."""
    report = qconform.run(lambda model, inputs: qconform.reference(model, inputs), suites="random", cases=200, seed=5)
    assert report.backends[0].conforms, report.findings


check_is_installed()
check_functions()
cases = check_corpus()
version, has_page = check_program()
check_callable()
page = "with" if has_page else "without"
print(f"{version}, {cases:,} vectors, {page} the page, numpy {np.__version__}, onnx {onnx.__version__}")
