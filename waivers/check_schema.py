"""Checks a file of waivers against its JSON Schema, and that the schema refuses wrong ones.

usage: check_schema.py SCHEMA FILE
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from json_schema import Schema, read_json  # noqa: E402


# What makes a right file a wrong one.
BROKEN = (
    lambda d: d.update(version=2),
    lambda d: d.update(extra=1),
    lambda d: d["waivers"][0].pop("reason"),
    lambda d: d["waivers"][0].update(reason=""),
    lambda d: d["waivers"][0].update(verdict="pass"),
    lambda d: d["waivers"][0].update(expires="soon"),
    lambda d: d["waivers"][0]["versions"].pop("to"),
    lambda d: d["waivers"][0].update(signature={}),
    lambda d: d["waivers"][0]["signature"].update(defects=["half-away"]),
    lambda d: d["waivers"][0]["signature"].update(findings=["half-away"]),
    lambda d: d["waivers"][0]["signature"]["cases"][0].update(case="12"),
)


def main(schema_path, file):
    schema = Schema(schema_path)
    document = read_json(file)
    return "\n".join(schema.problems(document, file) or schema.accepted(document, BROKEN))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]) or 0)
