"""Runs qconform in several ways and checks every report it writes against the JSON Schema.

usage: check_reports.py SCHEMA QCONFORM PLANTED [EMULATOR...]

PLANTED is the program with broken kernels in place of the real ones, whose reports hold findings.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from json_schema import Schema, read_json  # noqa: E402


def runs(qconform, planted):
    """Command lines without --out, and the exit code that each must have."""
    yield [qconform, "run", "--suite", "random", "--cases", "50", "--backend", "scalar"], 0
    yield [qconform, "run", "--suite", "conformance", "--backend", "scalar"], 0
    yield [qconform, "run", "--suite", "random", "--cases", "20", "--profile", "ort-f32", "--backend", "scalar@ort-f32"], 0
    yield [qconform, "run", "--suite", "relations", "--cases", "30", "--backend", "scalar"], 0
    yield [planted, "run", "--suite", "relations", "--cases", "60", "--backend", "pair-sat-i16"], 1
    yield [planted, "fuzz", "--cases", "700", "--seed", "7", "--backend", "pad-raw-zero"], 1
    for kernel in ("pad-raw-zero", "pair-sat-i16", "past-end", "before-start"):
        yield [planted, "run", "--suite", "random", "--cases", "200", "--backend", "scalar", "--backend", kernel], 1


# What makes a right report a wrong one.
BROKEN = (
    lambda r: r.update(version=2),
    lambda r: r.pop("seed"),
    lambda r: r["suites"][0].update(digest="xyz"),
    lambda r: r["corner_cases"][0].pop("cases"),
    lambda r: r["corner_cases"][0].update(id="No Id"),
    lambda r: next(h for h in r["corner_cases"] if h["by"])["by"][0].update(elements=0),
    lambda r: next(iter(r["backends"][0]["operators"].values()))["verdicts"].update(fine=1),
    lambda r: next(iter(r["backends"][0]["operators"].values()))["verdicts"].pop("pass"),
    lambda r: r["suites"][0].pop("coverage"),
    lambda r: r["suites"][0]["coverage"].append({"model": "x"}),
    lambda r: r["seconds"].update(total=-1),
    lambda r: r["environment"].update(user="someone"),
)


def rendered(program, file):
    """What is wrong with the forms that are made of a report."""

    def made(*arguments):
        return subprocess.run([*program, "report", *arguments], capture_output=True, text=True, check=False)

    if json.loads(made("summary", "--json", str(file)).stdout) != read_json(file):
        yield "read and written again, it is another report"
    for form, holds in (("summary", "conform"), ("markdown", "### qconform: ")):
        if holds not in made(form, str(file)).stdout:
            yield f"no {form} of it"
    xmllint = shutil.which("xmllint")
    if xmllint is None:
        print("not checked, xmllint is missing (package libxml2-utils): JUnit XML")
        return
    junit = file.parent / "junit.xml"
    made("junit", str(file), "-o", str(junit))
    schema = pathlib.Path(__file__).parent / "schema" / "junit.xsd"
    checked = subprocess.run([xmllint, "--noout", "--schema", schema, junit], capture_output=True, text=True, check=False)
    if checked.returncode != 0:
        yield checked.stderr


def inconsistent_course(report):
    course, cases = report["campaign"]["course"], sum(suite["cases"] for suite in report["suites"])
    if sum(group["cases"] for group in course["groups"]) != cases:
        yield "the groups of blocks have other cases than the campaign"
    if {case["id"] for case in course["corner_cases"]} != {h["id"] for h in report["corner_cases"] if h["cases"] > 0}:
        yield "the corner cases of the course are not those that were reached"
    if any("first_case" not in finding for finding in report["findings"]):
        yield "a finding does not say which case was the first"


def inconsistencies(report):
    """What the schema cannot say of pictures and single cases."""
    for finding in report["findings"]:
        if finding["verdict"] == "wrong" and "picture" not in finding:
            yield f"{finding['id']} has no picture"
        elif "picture" in finding and len(finding["picture"]["wrong"]) != finding["wrong_elements"]:
            yield f"{finding['id']}: its picture has other wrong elements"
    results = report["results"]
    failing = {row for backend in results["backends"] for row in backend["failures"]["row"]}
    if "campaign" in report:
        yield from inconsistent_course(report)
        if not 0 < len(failing) <= results["failing"] or not len(failing) < len(results["id"]) <= results["cases"]:
            yield "the cases listed are no part of those counted"
    elif len(failing) != results["failing"] or len(results["id"]) != results["cases"]:
        yield "the cases listed are not those counted"
    ids = {finding["id"] for finding in report["findings"]}
    for backend in results["backends"]:
        if {len(backend[column]) for column in ("verdict", "tier")} != {len(results["id"])}:
            yield f"{backend['name']}: columns of different lengths"
        if not ids.issuperset(backend["failures"]["finding"]):
            yield f"{backend['name']}: a case counts to a finding that is not there"


def main(schema_path, qconform, planted, emulator):
    schema = Schema(schema_path)
    problems, reports = [], []
    with tempfile.TemporaryDirectory() as folder:
        for command, expected in runs(qconform, planted):
            done = subprocess.run(emulator + command + ["--out", folder], capture_output=True, text=True, check=False)
            shown = " ".join(command[1:])
            if done.returncode != expected:
                problems.append(f"{shown}: exit code {done.returncode}, expected {expected}\n{done.stdout}{done.stderr}")
                continue
            report = read_json(pathlib.Path(folder) / "report.json")
            reports.append(report)
            written = rendered(emulator + command[:1], pathlib.Path(folder) / "report.json")
            problems += [f"{shown}: {what}" for what in written]
            problems += schema.problems(report, shown)
            problems += [f"{shown}: {text}" for text in inconsistencies(report)]
            if (expected == 1) != bool(report["findings"]):
                problems.append(f"{shown}: exit code {expected} with {len(report['findings'])} findings")
    for sample in ("report.json", "campaign.json"):
        problems += schema.problems(read_json(pathlib.Path(__file__).resolve().parent / "samples" / sample), sample)
    if reports:
        problems += schema.accepted(reports[0], BROKEN)
    print("\n".join(problems + [f"{len(reports)} reports, {len(problems)} problems"]))
    return 1 if problems or not reports else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
