"""Runs a campaign as a job array of a real Slurm, kills one task, and holds the merged report to a single run.

usage: scripts/cluster/private-slurm python3 slurm_check.py PROGRAM SCRIPTS

PROGRAM is qconform with planted defects, SCRIPTS the folder scripts/cluster.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from campaign_check import BACKENDS, JOURNAL, Problem, Program, require, require_gone, require_same

TASKS = 8
CASES = 512 * 6 * TASKS + 100
CAMPAIGN = [*BACKENDS, "--seed", "7", "--cases", str(CASES)]
PATIENCE = 1200  # seconds, on a machine that has other things to do


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def facts_of(job):
    """What Slurm says of a job or of one task of an array: {"JobState": "RUNNING", ...}."""
    return dict(re.findall(r"(\w+)=(\S+)", output_of("scontrol", "show", "job", job)))


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        require(time.monotonic() < end, f"waited {PATIENCE} s for {what}")
        time.sleep(0.1)


def is_over(state):
    return state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")


def kill_one(array, folder):
    """Kills the first task that is met at work, with blocks done and others to do, and has Slurm run it again."""
    for number in range(1, TASKS + 1):
        task = f"{array}_{number}"
        journal = folder / "parts" / f"part-{number}" / JOURNAL
        wait_for(f"blocks of task {number}", lambda: (journal.exists() and journal.stat().st_size > 4096)
                 or is_over(facts_of(task)["JobState"]))
        if facts_of(task)["JobState"] != "RUNNING":
            continue
        output_of("scancel", "--full", "--signal=KILL", task)
        wait_for(f"the end of task {number}", lambda: is_over(facts_of(task)["JobState"]))
        if facts_of(task)["JobState"] == "COMPLETED":
            continue
        print(f"killed: task {number}, with {journal.stat().st_size} bytes of journal: {facts_of(task)['JobState']}")
        output_of("scontrol", "requeue", task)
        return task
    raise Problem("every task was done before it could be killed")


def check(program, scripts, folder):
    Program([program]).run(1, "fuzz", *CAMPAIGN, "--out", str(folder / "whole"))
    os.environ["QCONFORM"] = program
    shared = folder / "shared"
    array, merge = output_of(str(scripts / "slurm"), str(TASKS), str(shared), *CAMPAIGN).split()
    killed = kill_one(array, shared)
    wait_for("the merged report", lambda: is_over(facts_of(merge)["JobState"]))
    log = (shared / "log" / "merge.txt").read_text(encoding="utf-8")
    # Exit code 1: the planted defect was found.
    require((shared / "report.json").exists() and facts_of(merge)["ExitCode"] == "1:0", f"merging failed:\n{log}")
    require(facts_of(killed)["Restarts"] == "1", f"task {killed} was not run again")
    for number in range(1, TASKS + 1):
        state = facts_of(f"{array}_{number}")["JobState"]
        require(state == "COMPLETED", f"task {number}: {state}")
    require_same(folder / "whole", shared, "a job array and a single run")
    print(f"{TASKS} tasks, {killed} killed and run again: the merged report is that of a single run")


def main():
    program, scripts = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="slurm-check-") as folder:
        try:
            check(str(program), scripts, pathlib.Path(folder))
            require_gone(folder)
        except (Problem, subprocess.CalledProcessError) as problem:
            print(f"{problem}\n{getattr(problem, 'stderr', '') or ''}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
