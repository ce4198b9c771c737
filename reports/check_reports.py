"""Runs qconform in several ways and checks every report it writes against the JSON Schema.

usage: check_reports.py SCHEMA QCONFORM PLANTED [EMULATOR...]

PLANTED is the program with broken kernels in place of the real ones, whose reports hold findings.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("Python's jsonschema (4.0 or later) is missing: install the package python3-jsonschema")


def runs(qconform, planted):
    """Command lines without --out, and the exit code that each must have."""
    yield [qconform, "run", "--suite", "random", "--cases", "50", "--backend", "scalar"], 0
    yield [qconform, "run", "--suite", "conformance", "--backend", "scalar"], 0
    yield [qconform, "run", "--suite", "random", "--cases", "20", "--profile", "ort-f32", "--backend", "scalar@ort-f32"], 0
    yield [qconform, "run", "--suite", "relations", "--cases", "30", "--backend", "scalar"], 0
    yield [planted, "run", "--suite", "relations", "--cases", "60", "--backend", "pair-sat-i16"], 1
    for kernel in ("pad-raw-zero", "pair-sat-i16", "past-end", "before-start"):
        yield [planted, "run", "--suite", "random", "--cases", "200", "--backend", "scalar", "--backend", kernel], 1


def broken(report):
    """Reports that differ from a right one in one place, and are wrong."""

    def altered(change):
        result = copy.deepcopy(report)
        change(result)
        return result

    yield altered(lambda r: r.update(version=2))
    yield altered(lambda r: r.pop("seed"))
    yield altered(lambda r: r["suites"][0].update(digest="xyz"))
    yield altered(lambda r: r["hazards"][0].pop("cases"))
    yield altered(lambda r: r["hazards"][0].update(id="No Id"))
    yield altered(lambda r: next(h for h in r["hazards"] if h["by"])["by"][0].update(elements=0))
    yield altered(lambda r: next(iter(r["backends"][0]["operators"].values()))["verdicts"].update(fine=1))
    yield altered(lambda r: next(iter(r["backends"][0]["operators"].values()))["verdicts"].pop("pass"))
    yield altered(lambda r: r["suites"][0].pop("coverage"))
    yield altered(lambda r: r["suites"][0]["coverage"].append({"model": "x"}))
    yield altered(lambda r: r["seconds"].update(total=-1))
    yield altered(lambda r: r["environment"].update(user="someone"))


def main(schema_path, qconform, planted, emulator):
    schema = json.loads(pathlib.Path(schema_path).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    problems, reports = [], []
    with tempfile.TemporaryDirectory() as folder:
        for command, expected in runs(qconform, planted):
            done = subprocess.run(emulator + command + ["--out", folder], capture_output=True, text=True, check=False)
            shown = " ".join(command[1:])
            if done.returncode != expected:
                problems.append(f"{shown}: exit code {done.returncode}, expected {expected}\n{done.stdout}{done.stderr}")
                continue
            report = json.loads((pathlib.Path(folder) / "report.json").read_text(encoding="utf-8"))
            reports.append(report)
            problems += [f"{shown}: {e.json_path}: {e.message}" for e in validator.iter_errors(report)]
            if (expected == 1) != bool(report["findings"]):
                problems.append(f"{shown}: exit code {expected} with {len(report['findings'])} findings")
    if reports:
        problems += [f"the schema accepts broken report {i}" for i, r in enumerate(broken(reports[0])) if validator.is_valid(r)]
    print("\n".join(problems + [f"{len(reports)} reports, {len(problems)} problems"]))
    return 1 if problems or not reports else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
