"""Checks a file of waivers against its JSON Schema, and that the schema refuses wrong ones.

usage: check_schema.py SCHEMA FILE
"""

import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("Python's jsonschema (4.0 or later) is missing: install the package python3-jsonschema")


def broken(document):
    """Documents that differ from a right one in one place, and are wrong."""
    changes = [
        lambda d: d.update(version=2),
        lambda d: d.update(extra=1),
        lambda d: d["waivers"][0].pop("reason"),
        lambda d: d["waivers"][0].update(reason=""),
        lambda d: d["waivers"][0].update(verdict="pass"),
        lambda d: d["waivers"][0].update(expires="soon"),
        lambda d: d["waivers"][0]["versions"].pop("to"),
        lambda d: d["waivers"][0].update(signature={}),
        lambda d: d["waivers"][0]["signature"].update(defects=["half-away"]),
        lambda d: d["waivers"][0]["signature"]["cases"][0].update(case="12"),
    ]
    for change in changes:
        result = copy.deepcopy(document)
        change(result)
        yield result


def main(schema_path, file):
    schema = json.loads(pathlib.Path(schema_path).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    document = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    problems = [f"{file}: {e.json_path}: {e.message}" for e in validator.iter_errors(document)]
    if not problems:
        problems = [f"accepted: broken document {i}" for i, d in enumerate(broken(document)) if validator.is_valid(d)]
    return "\n".join(problems)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]) or 0)
