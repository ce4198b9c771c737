"""Checks what `identify`, `audit` and `gate` write, and what `--defects` reads, against the JSON Schemas, and that it is read again.

usage: check_documents.py SCHEMA_FOLDER QCONFORM [EMULATOR...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from json_schema import Schema  # noqa: E402


class Checks:
    def __init__(self, schemas, command, folder):
        self.schemas = pathlib.Path(schemas)
        self.command = command
        self.folder = pathlib.Path(folder)
        self.problems = []

    def run(self, arguments, expected):
        """The output of a run, which must end with this exit code."""
        done = subprocess.run(self.command + arguments, capture_output=True, text=True, check=False)
        if done.returncode != expected:
            self.problems.append(f"{' '.join(arguments)}: exit code {done.returncode}, expected {expected}\n{done.stderr}")
        return done.stdout + done.stderr

    def validate(self, schema, text, broken):
        """The document is right; without the member `broken` it is not."""
        rules = Schema(self.schemas / schema)
        document = json.loads(text)
        self.problems += rules.problems(document, schema)
        self.problems += rules.accepted(document, [lambda d: d.pop(broken)])

    def profile(self):
        file = self.folder / "profile.json"
        found = self.run(["identify", "--backend", "defect:half-up", "--json", "-o", str(file)], 0)
        self.validate("identification-1.schema.json", found, "answers")
        self.validate("profile-1.schema.json", file.read_text(encoding="utf-8"), "pins")
        # Nothing here looks at explanations, and learning one for scalar takes most of the run.
        run = ["run", "--suite", "directed", "--cases", "150", "--no-shrink", "--no-explain", "--out", str(self.folder)]
        self.run(run + ["--backend", "defect:half-up", "--profile", str(file)], 0)
        told = self.run(run + ["--backend", "scalar", "--profile", str(file)], 1)
        if f"--profile {file}" not in told:
            self.problems.append("the replay line of a finding does not name the profile")
        self.run(["replay", str(self.folder / "F1.json"), "--backend", "scalar", "--profile", str(file)], 1)
        file.write_text('{"format": "qconform-profile"}', encoding="utf-8")
        if "version" not in self.run(run + ["--backend", "scalar", "--profile", str(file)], 2):
            self.problems.append("the error of a broken profile does not name what is missing")

    def model(self):
        """A learnt model is written, and is a backend that computes the same."""
        file, learnt = self.folder / "unknown.json", self.folder / "learnt.json"
        stated = {"format": "qconform-model", "version": 1, "operator": "ConvInteger",
                  "stage": "w_zero_point.index", "expression": "channel / group_channels"}
        file.write_text(json.dumps(stated), encoding="utf-8")
        run = ["run", "--suite", "random", "--cases", "300", "--no-shrink", "--out", str(self.folder), "--backend"]
        told = self.run([*run, f"defect:{file}"], 1)
        if "behaves as: w_zero_point.index = channel / group_channels" not in told:
            self.problems.append("a run does not tell the model that was learnt")
        self.run(["explain", str(self.folder / "F1.json"), "--backend", f"defect:{file}", "--save-model", str(learnt)], 1)
        self.validate("model-1.schema.json", learnt.read_text(encoding="utf-8"), "expression")
        if json.loads(learnt.read_text(encoding="utf-8"))["expression"] != stated["expression"]:
            self.problems.append("the model that is learnt is not the one that the backend has")
        file.write_text(json.dumps({**stated, "expression": "chanel"}), encoding="utf-8")
        if "expression: w_zero_point.index: expected a name out of channel" not in self.run([*run, f"defect:{file}"], 2):
            self.problems.append("the error of a broken model does not name the field and what there is")

    def defects(self):
        """A file of a user's defects: what the schema takes is read, and what it does not take is refused."""
        file = self.folder / "defects.json"
        stated = {"id": "up-below-zero", "description": "ties go up beside a negative zero point",
                  "operators": ["QuantizeLinear"], "stage": "round", "expression": "half_up", "when": "zero_point < 0",
                  "trigger": "a tie, a negative zero point", "rules": ["Q1"], "evidence": "a test"}
        document = {"format": "qconform-defects", "version": 1, "defects": [stated]}
        self.validate("defects-1.schema.json", json.dumps(document), "defects")
        listed = ["list", "defects", "--json", "--defects", str(file)]
        file.write_text(json.dumps(document), encoding="utf-8")
        last = json.loads(self.run(listed, 0))[-1]
        if last["id"] != stated["id"] or last["expressions"] != ["round = zero_point < 0 ? half_up : half_even"]:
            self.problems.append(f"the list of defects ends with {last}, and not with the one of the file")
        rules = Schema(self.schemas / "defects-1.schema.json")
        for member, value in (("id", "Up Below"), ("operators", []), ("operators", ["Conv"]), ("rules", ["19"]),
                              ("description", ""), ("trigger", ""), ("version", 1)):
            broken = {**document, "defects": [{**stated, member: value}]}
            if not rules.problems(broken, member):
                self.problems.append(f"the schema of defects takes {member} {value!r}")
            file.write_text(json.dumps(broken), encoding="utf-8")
            if member not in self.run(listed, 2):
                self.problems.append(f"the error of a defect with {member} {value!r} does not name it")

    def baseline(self):
        file = self.folder / "audit.json"
        audit = ["audit", "--suite", "random", "--cases"]
        file.write_text(self.run(audit + ["40", "--json"], 1), encoding="utf-8")
        self.validate("audit-1.schema.json", file.read_text(encoding="utf-8"), "audits")
        self.run(audit + ["40", "--baseline", str(file)], 0)
        if "lost: " not in self.run(audit + ["2", "--baseline", str(file)], 1):
            self.problems.append("a lost mutant is not named")


    def gate(self):
        run = ["run", "--suite", "random", "--cases", "120", "--no-shrink", "--out", str(self.folder)]
        report, baseline = self.folder / "report.json", self.folder / "baseline.json"
        self.run(run + ["--backend", "scalar"], 0)
        report.rename(baseline)
        self.run(run + ["--backend", "defect:half-up"], 1)
        gate = ["gate", "--json", "--baseline", str(baseline)]
        for file, expected in ((baseline, 0), (report, 1)):
            self.validate("gate-1.schema.json", self.run([*gate, str(file)], expected), "changes")


def main(schemas, qconform, emulator):
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(schemas, emulator + [qconform], folder)
        checks.profile()
        checks.model()
        checks.defects()
        checks.baseline()
        checks.gate()
    print("\n".join(checks.problems + [f"{len(checks.problems)} problems"]))
    return 1 if checks.problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
