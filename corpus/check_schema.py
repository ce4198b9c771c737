"""Checks every case file below a folder against its JSON Schema: that of case files, or of DirectML descriptions.

usage: check_schema.py SCHEMA_FOLDER FOLDER
"""

import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("Python's jsonschema (4.0 or later) is missing: install the package python3-jsonschema")


def case_files(folder, is_directml):
    """As the corpus source finds them: no schemas, no dot files."""
    for path in sorted(folder.rglob("*.json")):
        if path.name.endswith(".schema.json") or path.name.startswith("."):
            continue
        if path.name.endswith(".dml.json") == is_directml:
            yield path


def altered(document, change):
    result = copy.deepcopy(document)
    change(result)
    return result


def broken_cases(document):
    """Documents that differ from a right one in one place, and are wrong."""
    yield altered(document, lambda d: d.update(version=2))
    yield altered(document, lambda d: d.update(extra=1))
    yield altered(document, lambda d: d["cases"][0].pop("id"))
    yield altered(document, lambda d: d["cases"][0].update(expectation="good"))
    yield altered(document, lambda d: d["cases"][0]["inputs"][0]["data"].append(256))
    yield altered(document, lambda d: d["cases"][0]["inputs"][0].update(fill=1))
    yield altered(document, lambda d: d["cases"][0]["inputs"][0].update(type="octet"))
    yield altered(document, lambda d: d["cases"][0].update(attributes=[{"name": "group", "int": 1, "ints": [1]}]))


def broken_descriptions(document):
    """The same for DirectML; the first description is a valid one."""
    yield altered(document, lambda d: d.update(version=2))
    yield altered(document, lambda d: d.update(format="qconform-cases"))
    yield altered(document, lambda d: d["cases"][0].pop("BiasTensor"))
    yield altered(document, lambda d: d["cases"][0].update(InputTensor=None))
    yield altered(document, lambda d: d["cases"][0].update(GroupCount=-1))
    yield altered(document, lambda d: d["cases"][0].update(expectation="good"))
    yield altered(document, lambda d: d["cases"][0]["InputTensor"].update(DataType="FLOAT8"))
    yield altered(document, lambda d: d["cases"][0]["InputTensor"].update(fill=1))
    yield altered(document, lambda d: d["cases"][0]["InputTensor"].pop("data"))
    yield altered(document, lambda d: d["cases"][0]["InputTensor"].update(Stride=[1]))
    yield altered(document, lambda d: d["cases"].append({"id": "no-rules", "expectation": "invalid"}))


# The schema, the files that follow it, the file to try it on, and what it must refuse of that.
FORMATS = (
    ("cases-1.schema.json", False, "padding.json", broken_cases),
    ("directml-1.schema.json", True, "arithmetic.dml.json", broken_descriptions),
)


def check(schema_path, paths, sample, broken):
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    problems = 0
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    for path, document in documents.items():
        for error in validator.iter_errors(document):
            print(f"{path}: {error.json_path}: {error.message}")
            problems += 1
    samples = [d for p, d in documents.items() if p.name == sample]
    if not samples:
        sys.exit(f"no {sample} found to try the schema on")
    for number, document in enumerate(broken(samples[0])):
        if validator.is_valid(document):
            print(f"{schema_path.name} accepts broken document {number}")
            problems += 1
    print(f"{schema_path.name}: {len(documents)} files, {problems} problems")
    return problems


def main(schemas, folder):
    problems = 0
    for schema, is_directml, sample, broken in FORMATS:
        problems += check(schemas / schema, case_files(folder, is_directml), sample, broken)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
