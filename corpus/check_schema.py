"""Checks every case file below a folder against the JSON Schema of case files.

usage: check_schema.py SCHEMA FOLDER
"""

import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("Python's jsonschema (4.0 or later) is missing: install the package python3-jsonschema")


def case_files(folder):
    """As the corpus source finds them: no schemas, no dot files; and no DirectML descriptions, which have no schema."""
    for path in sorted(folder.rglob("*.json")):
        if not path.name.endswith((".schema.json", ".dml.json")) and not path.name.startswith("."):
            yield path


def broken(document):
    """Documents that differ from a right one in one place, and are wrong."""

    def altered(change):
        result = copy.deepcopy(document)
        change(result)
        return result

    yield altered(lambda d: d.update(version=2))
    yield altered(lambda d: d.update(extra=1))
    yield altered(lambda d: d["cases"][0].pop("id"))
    yield altered(lambda d: d["cases"][0].update(expectation="good"))
    yield altered(lambda d: d["cases"][0]["inputs"][0]["data"].append(256))
    yield altered(lambda d: d["cases"][0]["inputs"][0].update(fill=1))
    yield altered(lambda d: d["cases"][0]["inputs"][0].update(type="octet"))
    yield altered(lambda d: d["cases"][0].update(attributes=[{"name": "group", "int": 1, "ints": [1]}]))


def main(schema_path, folder):
    schema = json.loads(pathlib.Path(schema_path).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    problems = 0
    documents = {path: json.loads(path.read_text(encoding="utf-8")) for path in case_files(pathlib.Path(folder))}
    for path, document in documents.items():
        for error in validator.iter_errors(document):
            print(f"{path}: {error.json_path}: {error.message}")
            problems += 1
    samples = [d for p, d in documents.items() if p.name == "padding.json"]
    if not samples:
        sys.exit("no padding.json found to try the schema on")
    for number, document in enumerate(broken(samples[0])):
        if validator.is_valid(document):
            print(f"the schema accepts broken document {number}")
            problems += 1
    print(f"{len(documents)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
