"""Files of quantizers, judged layer by layer in ONNX Runtime: every quantized node, and nobody accused as stated."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from qconform import _program

PYTHON = Path(__file__).resolve().parents[1]
# Reasons that are no fault of what judges: constants, and outputs that would be right whatever is computed.
FINE = ("constant", "proves nothing")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the tools write, made in an environment of their own."""
    environment = Path(sys.prefix).parent / "python-exporters"
    requirements = PYTHON / "tests" / "exporters-requirements.txt"
    command = [PYTHON.parent / "scripts" / "python-environment", environment, requirements]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    folder = tmp_path_factory.mktemp("exported")
    script = [environment / "bin" / "python", PYTHON / "tests" / "exporters.py", folder]
    written = subprocess.run(script, capture_output=True, text=True, check=True)
    assert len(written.stdout.splitlines()) > 40
    return sorted(folder.glob("*.onnx"))


def judged(file, setting, folder):
    done = _program.run(
        ["model", str(file), "--backend", f"onnxruntime@{setting}", "--no-explain", "--out", str(folder)]
    )
    if "is not available" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@pytest.mark.slow
def test_every_quantized_node_is_judged_and_right_as_stated(files, tmp_path):
    assert len(files) > 40
    for file in files:
        done = judged(file, "disabled", tmp_path)
        assert done.returncode == 0, f"{file.name}: {done.stdout}{done.stderr}"
        document = json.loads((tmp_path / "report.json").read_text())
        (coverage,) = document["backends"][0]["quantized_nodes"]
        others = [part for part in coverage["uncovered"] if not part["reason"].startswith(FINE)]
        assert not others, f"{file.name}: {others}"


@pytest.mark.slow
def test_what_fusion_gets_wrong_is_told_by_layer(files, tmp_path):
    """QLinearSoftmax of ONNX Runtime is off by a step; the layers behind it are fed wrong values, and right."""
    file = next(file for file in files if file.name == "image-qdq-u8u8.onnx")
    done = judged(file, "all", tmp_path)
    assert re.search(r"the first wrong layer: \d+ of \d+, /Softmax|no layer is wrong", done.stdout), done.stdout
