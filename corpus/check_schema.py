"""Checks every case file below a folder against its JSON Schema: that of case files, or of DirectML descriptions.

usage: check_schema.py SCHEMA_FOLDER FOLDER
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from json_schema import Schema, read_json  # noqa: E402


def case_files(folder, is_directml):
    """As the corpus source finds them: no schemas, no dot files."""
    for path in sorted(folder.rglob("*.json")):
        if path.name.endswith(".schema.json") or path.name.startswith("."):
            continue
        if path.name.endswith(".dml.json") == is_directml:
            yield path


# What makes a right file of cases a wrong one.
BROKEN_CASES = (
    lambda d: d.update(version=2),
    lambda d: d.update(extra=1),
    lambda d: d["cases"][0].pop("id"),
    lambda d: d["cases"][0].update(expectation="good"),
    lambda d: d["cases"][0]["inputs"][0]["data"].append(256),
    lambda d: d["cases"][0]["inputs"][0].update(fill=1),
    lambda d: d["cases"][0]["inputs"][0].update(type="octet"),
    lambda d: d["cases"][0].update(attributes=[{"name": "group", "int": 1, "ints": [1]}]),
    lambda d: d["cases"][0].update(attributes=[{"name": "activations", "strings": ["Tanh", 1]}]),
)

# A right graph of two nodes, and what makes it a wrong one.
GRAPH = {
    "id": "twice",
    "nodes": [
        {"op_type": "QuantizeLinear", "opset_version": 10, "inputs": ["a", "s"], "outputs": ["q"]},
        {"op_type": "DequantizeLinear", "opset_version": 10, "inputs": ["q", "s", ""], "outputs": ["b"]},
    ],
    "inputs": [{"name": "a", "type": "float", "shape": [1], "data": [2.5]}],
    "initializers": [{"name": "s", "type": "float", "shape": [], "data": [1.0]}],
    "outputs": ["b"],
    "recorded_outputs": [{"type": "float", "shape": [1], "data": [2.0]}],
}
BROKEN_GRAPHS = (
    lambda g: g.update(op_type="QuantizeLinear"),
    lambda g: g["nodes"].clear(),
    lambda g: g["nodes"][0].pop("outputs"),
    lambda g: g["inputs"][0].pop("name"),
    lambda g: g.update(inputs=[None]),
    lambda g: g.update(outputs=[]),
    lambda g: g["recorded_outputs"][0].update(name="b"),
)

# The same for DirectML, whose first description is a valid one.
BROKEN_DESCRIPTIONS = (
    lambda d: d.update(version=2),
    lambda d: d.update(format="qconform-cases"),
    lambda d: d["cases"][0].pop("BiasTensor"),
    lambda d: d["cases"][0].update(InputTensor=None),
    lambda d: d["cases"][0].update(GroupCount=-1),
    lambda d: d["cases"][0].update(expectation="good"),
    lambda d: d["cases"][0]["InputTensor"].update(DataType="FLOAT8"),
    lambda d: d["cases"][0]["InputTensor"].update(fill=1),
    lambda d: d["cases"][0]["InputTensor"].pop("data"),
    lambda d: d["cases"][0]["InputTensor"].update(Stride=[1]),
    lambda d: d["cases"].append({"id": "no-rules", "expectation": "invalid"}),
)



def of_graph(change):
    return lambda document: change(document["cases"][0])


# The schema, the files that follow it, the file to try it on, and what it must refuse of that.
FORMATS = (
    ("cases-1.schema.json", False, "padding.json", BROKEN_CASES),
    ("directml-1.schema.json", True, "arithmetic.dml.json", BROKEN_DESCRIPTIONS),
)


def check(schema_path, paths, sample, broken):
    schema = Schema(schema_path)
    documents = {path: read_json(path) for path in paths}
    problems = [problem for path, document in documents.items() for problem in schema.problems(document, path)]
    samples = [d for p, d in documents.items() if p.name == sample]
    if not samples:
        sys.exit(f"no {sample} found to try the schema on")
    problems += schema.accepted(samples[0], broken)
    if sample == "padding.json":
        with_graph = {**samples[0], "cases": [GRAPH]}
        problems += schema.problems(with_graph, "a graph") + schema.accepted(with_graph, map(of_graph, BROKEN_GRAPHS))
    print("\n".join(problems + [f"{schema.name}: {len(documents)} files, {len(problems)} problems"]))
    return len(problems)


def main(schemas, folder):
    problems = 0
    for schema, is_directml, sample, broken in FORMATS:
        problems += check(schemas / schema, case_files(folder, is_directml), sample, broken)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
