"""Runs campaigns that coverage guides, and checks what becomes of what their engine finds.

usage: guided_check.py PROGRAM CHECK [--target FUZZ_TARGET]

CHECK is one of the functions below, without "check_". All but `real` stand a script in for the fuzz target, which
tells and leaves what libFuzzer would.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import stat
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from campaign_check import Problem, Program, require, require_gone  # noqa: E402

# As the fuzz target, it describes itself, replays a file, or forks a process that keeps inputs until it is killed.
STAND_IN = r"""#!/bin/sh
case " $* " in
  *" --describe "*) echo "qconform-fuzz-target differential ${STAND_IN_ENGINE:-libfuzzer} 0.1.0 ${STAND_IN_COMMIT:-none}"; exit 0 ;;
  *" -fork="*) ;;
  *" --backend=none "*) exit "${STAND_IN_ALONE:-0}" ;;
  *) echo "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1"
     echo "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/kernel.cc:12:3 in run"; exit 1 ;;
esac
work=tmp/libFuzzerTemp.FuzzWithFork$$.dir
mkdir -p "$work/C1"
[ -z "$STAND_IN_ARTIFACT" ] || cp "$STAND_IN_ARTIFACT" artifacts/crash-1
[ -z "$STAND_IN_FAILING" ] || cp "$STAND_IN_FAILING" failing/1-1
cp seeds/seed-0001 "$work/C1/kept-by-a-job"
printf '#50\tNEW    cov: 9 ft: 9 corp: 1/1b\n' >"$work/1.log"
[ -z "$STAND_IN_ENDS" ] || { echo "out of order"; exit 3; }
while :; do
  echo "#${STAND_IN_RUNS:-1000}: cov: 321 ft: 4321 corp: 12 exec/s 10 oom/timeout/crash: 0/0/0 time: 1s job: 1 dft_time: 0"
  sleep 0.2
done
"""


class Guided:
    """A campaign with a stand-in, in a folder of its own."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.target = folder / "stand-in"
        self.target.write_text(STAND_IN, encoding="utf-8")
        self.target.chmod(self.target.stat().st_mode | stat.S_IXUSR)
        self.out = folder / "out"

    def arguments(self, *more, duration="2s", backend="scalar"):
        return ["fuzz", "--engine", "libfuzzer", "--fuzz-target", str(self.target), "--backend", backend, "--seed", "7",
                "--for", duration, "--out", str(self.out), *more]

    def run(self, expected, *more, environment=None, **options):
        # A campaign that begins anew puts aside what there was.
        output = self.program.run(expected, *self.arguments(*more, **options), env=dict(os.environ, **(environment or {})))
        require_gone(str(self.target))
        return output

    def report(self):
        return json.loads((self.out / "report.json").read_text(encoding="utf-8"))


def signatures(report):
    return {finding["signature"] for finding in report["findings"]}


def failing_case(program, folder):
    """A case that pad-raw-zero gets wrong, as the model that a target would keep."""
    program.run(1, "fuzz", "--backend", "defect:pad-raw-zero", "--seed", "7", "--cases", "512", "--out", str(folder / "seeded"))
    return folder / "seeded" / "F1.onnx"


def check_report(program, folder, _):
    """Kept inputs are the cases of the report, and what a job found before it was killed is among them."""
    guided = Guided(program, folder)
    guided.run(0)
    report = guided.report()
    engine = report["campaign"]["engine"]
    require(engine["name"] == "libfuzzer" and engine["executions"] == 1050, f"the engine did {engine}")
    require(engine["edges"] == 321 and engine["features"] == 4321, f"coverage is {engine}")
    require(report["suites"][0]["name"] == "libfuzzer" and report["suites"][0]["cases"] == engine["kept"],
            f"suites are {report['suites']}")
    require((guided.out / "libfuzzer" / "corpus" / "kept-by-a-job").exists(), "what a job had found is lost")
    require(not list((guided.out / "libfuzzer" / "tmp").iterdir()), "the engine's temporary files are left")
    require(report["campaign"]["runs"][0]["ended"] == "time", f"runs are {report['campaign']['runs']}")

    guided.run(0, "--resume", environment={"STAND_IN_RUNS": "500"})
    again = guided.report()["campaign"]
    require(again["engine"]["executions"] == 1600 and len(again["runs"]) == 2, f"after --resume: {again['engine']}")
    require(again["engine"]["kept"] >= engine["kept"], "inputs went lost")
    output = program.run(2, "fuzz", "--resume", "--backend", "scalar", "--cases", "512", "--out", str(guided.out))
    require("--engine" in output, f"going on with another engine says: {output}")
    output = program.run(2, "report", "merge", str(guided.out), "-o", str(folder / "merged"))
    require("--engine" in output, f"merging says: {output}")

    guided.run(0)
    require((guided.out / "libfuzzer.previous" / "corpus" / "kept-by-a-job").exists(), "what was there is not put aside")


def check_findings(program, folder, _):
    """What fails is found, named and shrunk, whether it was kept or ended a process."""
    case = failing_case(program, folder)
    guided = Guided(program, folder)
    for how in ("STAND_IN_FAILING", "STAND_IN_ARTIFACT"):
        guided.run(1, environment={how: str(case)}, backend="defect:pad-raw-zero")
        report = guided.report()
        require("pad-raw-zero" in signatures(report), f"{how}: found {signatures(report)}")
        require((guided.out / report["findings"][0]["example"]["file"]).exists(), f"{how}: the case is not written")

    output = guided.run(1, environment={"STAND_IN_ARTIFACT": str(case)})
    report = guided.report()
    wanted = "crashed:AddressSanitizer: heap-buffer-overflow in run"
    require(signatures(report) == {wanted}, f"seen by the target alone: {signatures(report)}")
    require("--backend=scalar" in report["findings"][0]["detail"], f"no line to replay it: {output}")

    output = guided.run(2, environment={"STAND_IN_ARTIFACT": str(case), "STAND_IN_ALONE": "1"})
    require("failed by itself" in output, f"a fault of the target's own: {output}")
    require(not guided.report()["findings"], "a fault of the target's own is no finding")


def check_faults(program, folder, _):
    guided = Guided(program, folder)
    output = guided.run(2, environment={"STAND_IN_ENDS": "1"})
    require("exit status 3" in output and "out of order" in output, f"an engine that ends: {output}")
    output = guided.run(2, environment={"STAND_IN_ENGINE": "none"})
    require("without libFuzzer" in output and "scripts/build fuzz" in output, f"a reproducer: {output}")
    output = program.run(2, "fuzz", "--engine", "libfuzzer", "--fuzz-target", "/nowhere", "--for", "1s")
    require("--fuzz-target" in output and "scripts/build fuzz" in output, f"no target: {output}")
    for more, name in ((["--cases", "9"], "--cases"), (["--shard", "1/2"], "--shard"), (["--isolation", "none"], "--isolation")):
        output = program.run(2, *guided.arguments(*more))
        require(name in output, f"{more}: {output}")
    output = program.run(2, "fuzz", "--engine", "afl")
    require("--engine" in output, f"an unknown engine: {output}")

    for ending, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        shutil.rmtree(guided.out)
        process = program.start(*guided.arguments(duration="1h"))
        corpus = guided.out / "libfuzzer" / "tmp"
        while not list(corpus.glob("*/1.log")):
            require(process.poll() is None, "the campaign ended")
            time.sleep(0.05)
        output = program.run(2, *guided.arguments())
        require("another campaign" in output, f"two campaigns in one folder: {output}")
        process.send_signal(ending)
        output = process.communicate()[0]
        require(process.returncode == code, f"after signal {ending}: exit code {process.returncode} {output}")
        require_gone(str(guided.target))
    require((corpus.parent / "tmp").exists(), "a killed campaign leaves its folder")
    guided.run(0, "--resume")
    require((guided.out / "libfuzzer" / "corpus" / "kept-by-a-job").exists(), "what was killed with the campaign is lost")
    require(not list(corpus.iterdir()), "files of the killed campaign are left")


def check_real(program, folder, options):
    """libFuzzer itself: a planted defect is found and named; the reference has no finding."""
    arguments = ["fuzz", "--engine", "libfuzzer", "--fuzz-target", options.target, "--jobs", "2"]
    out = folder / "planted"
    program.run(1, *arguments, "--for", "3s", "--backend", "defect:half-away", "--out", str(out))
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    require("half-away" in signatures(report), f"found {signatures(report)}")
    out = folder / "right"
    program.run(0, *arguments, "--for", "6s", "--backend", "scalar", "--out", str(out))
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    engine = report["campaign"]["engine"]
    require(not report["findings"], f"the reference has findings: {signatures(report)}")
    require(engine["executions"] > 100 and min(engine["features"], engine["edges"]) > 100, f"the engine did {engine}")
    require(engine["crashes"] == 0, f"{engine['crashes']} inputs ended the target")
    require_gone(str(folder))
    require(not list((out / "libfuzzer" / "tmp").iterdir()), "temporary files are left")
    print(f"{engine['executions']} inputs, {engine['edges']} edges, {engine['features']} features, {engine['kept']} kept")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("check")
    parser.add_argument("--target", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            globals()["check_" + options.check](Program([options.program]), pathlib.Path(folder), options)
        except Problem as problem:
            sys.exit(str(problem))


if __name__ == "__main__":
    main()
