"""Runs qconform bench on tiny layers and checks what it writes against the JSON Schema. No time is judged.

usage: check_bench.py SCHEMA QCONFORM [EMULATOR...]
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from json_schema import Schema, read_json  # noqa: E402

LAYERS = ["--layers", "3x3 8->8 @6", "--layers", "3x3/2 8 @6 depthwise", "--layers", "5 4->6 @9 dilation 2"]


def runs():
    """Arguments, and the exit code that they must give."""
    yield ["--backend", "scalar", "--against", "scalar@ort-f32,defect:pair-sat-i16", *LAYERS], 0
    yield ["--backend", "scalar", "--layout", "nhwc", "--types", "s8s8", "--x-zero-point", "-3", *LAYERS], 0
    yield ["--backend", "defect:pair-sat-i16", "--against", "scalar", "--types", "u8s8", *LAYERS], 1


# What makes a right result a wrong one.
BROKEN = (
    lambda r: r.update(version=2),
    lambda r: r.update(layout="chwn"),
    lambda r: r.pop("cpus"),
    lambda r: r["layers"][0]["timings"][0].pop("verdict"),
    lambda r: r["layers"][0]["timings"][0]["seconds"].update(minimum=-1),
    lambda r: r["layers"][0]["timings"][0]["seconds"].update(rounds=[]),
    lambda r: r["layers"][0]["ratios"][0].pop("counts"),
    lambda r: r["layers"][0].update(kind="pooling"),
    lambda r: r["means"][0].update(layers="some"),
    lambda r: r["environment"].update(user="someone"),
)


def inconsistencies(result):
    """What the schema cannot say."""
    names = [backend["name"] for backend in result["backends"]]
    for layer in result["layers"]:
        if [timing["backend"] for timing in layer["timings"]] != names:
            yield f"{layer['name']}: not a timing for each backend"
        right = {t["backend"]: t["verdict"] in ("pass", "vacuous") for t in layer["timings"]}
        for name in names:
            if right[name] != (name != "defect:pair-sat-i16"):
                yield f"{layer['name']}: {name} was judged {'right' if right[name] else 'wrong'}"
        for ratio in layer["ratios"]:
            if ratio["counts"] != (right[names[0]] and right[ratio["against"]]):
                yield f"{layer['name']}: the ratio against {ratio['against']} counts, or not, against the verdicts"


def main(schema_path, qconform, emulator):
    schema = Schema(schema_path)
    problems, results = [], []
    with tempfile.TemporaryDirectory() as folder:
        for arguments, expected in runs():
            command = [*emulator, qconform, "bench", *arguments, "--time", "0.005", "--out", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            shown = " ".join(arguments)
            if done.returncode != expected:
                problems.append(f"{shown}: exit code {done.returncode}, expected {expected}\n{done.stdout}{done.stderr}")
                continue
            result = read_json(pathlib.Path(folder) / "bench.json")
            results.append(result)
            problems += schema.problems(result, shown)
            problems += [f"{shown}: {problem}" for problem in inconsistencies(result)]
    if results:
        problems += schema.accepted(results[0], BROKEN)
    print("\n".join(problems + [f"{len(results)} results, {len(problems)} problems"]))
    return 1 if problems or not results else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
