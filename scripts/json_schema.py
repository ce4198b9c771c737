"""What the checks of JSON documents share: a schema, what breaks it, and that it refuses altered documents."""

import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("Python's jsonschema (4.0 or later) is missing: install the package python3-jsonschema")


class Schema:
    """A JSON Schema (2020-12), itself checked."""

    def __init__(self, path):
        self.name = pathlib.Path(path).name
        rules = read_json(path)
        Draft202012Validator.check_schema(rules)
        self.validator = Draft202012Validator(rules)

    def problems(self, document, name):
        """One line for each place of the document, which the lines call `name`, that is not as it should be."""
        return [f"{name}: {error.json_path}: {error.message}" for error in self.validator.iter_errors(document)]

    def accepted(self, document, changes):
        """One line for each change that makes the right document a wrong one without the schema's notice."""
        accepted = []
        for number, change in enumerate(changes):
            altered = copy.deepcopy(document)
            change(altered)
            if self.validator.is_valid(altered):
                accepted.append(f"{self.name} accepts broken document {number}")
        return accepted


def read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
