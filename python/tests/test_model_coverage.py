"""What a run says of whole models of a quantizer: the share that it prints is the one that is counted by hand."""

import json
import re

import numpy as np
import onnx
import pytest
import quantized_models

from qconform import _program, report

NOT_JUDGED = {"vacuous", "unsupported", "refused", "not-asked", "crashed", "timed-out", "exited", "out-of-memory",
              "refused-here", "broken-interface", "threw", "not-judged"}  # fmt: skip
BACKENDS = ["scalar", "interpreter", "defect:pair-sat-i16"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    pytest.importorskip("onnxruntime")
    return quantized_models.quantized(tmp_path_factory.mktemp("models"))


def unit_of(graph, quantize):
    """The positions from a QuantizeLinear back to the DequantizeLinear nodes; those quantized ones around another."""
    producers = {name: i for i, node in enumerate(graph.node) for name in node.output}

    def sources(position):
        made = [producers[name] for name in graph.node[position].input if name in producers]
        return {i for i in made if graph.node[i].op_type in ("DequantizeLinear", "DynamicQuantizeLinear")}

    if graph.node[quantize].op_type == "DequantizeLinear":
        readers = [i for i, node in enumerate(graph.node) if set(node.input) & set(graph.node[quantize].output)]
        return {quantize}.union(*(sources(reader) for reader in readers))
    if graph.node[quantize].op_type != "QuantizeLinear":
        return {quantize} | sources(quantize)
    found, open_positions = set(), [quantize]
    while open_positions:
        position = open_positions.pop()
        found.add(position)
        if position != quantize and graph.node[position].op_type == "DequantizeLinear":
            continue
        inputs = graph.node[position].input[:1] if position == quantize else graph.node[position].input
        open_positions += [producers[name] for name in inputs if name in producers and producers[name] not in found]
    return found


def judged_by_hand(graph, document, backend):
    judged = set()
    for result in report._case_results(document):
        if result.verdicts[backend] in NOT_JUDGED:
            continue
        position = int(result.id.rsplit("#", 1)[1])
        judged |= unit_of(graph, position) if ".unit#" in result.id else {position}
    return judged


@pytest.mark.parametrize("name", ["dynamic", "qoperator", "qdq"])
def test_the_share_is_the_one_counted_by_hand(files, name, tmp_path):
    model = onnx.load(files[name])
    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)}
    quantized = quantized_models.quantized_positions(model, feeds)
    arguments = ["run", "--suite", f"model:{files[name]}", "--out", str(tmp_path), "--no-shrink", "--no-explain"]
    done = _program.run([*arguments, *(part for backend in BACKENDS for part in ("--backend", backend))])
    document = json.loads((tmp_path / "report.json").read_text())
    shares = dict(re.findall(r"^judged (\d+ of \d+) quantized nodes? \([\d.]+ %\): (.*)$", done.stdout, re.M))
    for backend in document["backends"]:
        by_hand = len(judged_by_hand(model.graph, document, backend["name"]) & quantized)
        (coverage,) = backend["quantized_nodes"]
        assert (coverage["covered"], coverage["quantized"]) == (by_hand, len(quantized))
        assert backend["name"] in shares[f"{by_hand} of {len(quantized)}"].split(", ")
        listed = sum(part["nodes"] for part in coverage["uncovered"])
        assert by_hand + listed == len(quantized)
        assert coverage["others"] == len(model.graph.node) - len(quantized)
        if 100 * by_hand < 90 * len(quantized):
            assert f"conforms: {backend['name']}" not in done.stdout.replace("does not conform", "")
    assert "not quantized Conv" not in done.stdout
