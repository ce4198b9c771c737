"""Breaks campaigns in every way that a night can, and checks that nothing is lost.

usage: campaign_check.py PROGRAM CHECK [--kills N] [--blocks N] [--shards N] [--seed N] [--campaigns N | --for SECONDS]
                         [--only FAULT]... [--plugins FOLDER] [--emulator WORD]...

PROGRAM is qconform with planted defects. CHECK is one of the functions below, without "check_": kills, shards,
faults, disturbed, reports, or large.
"""

import argparse
import base64
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

BACKENDS = ["--backend", "scalar", "--backend", "pad-raw-zero"]
JOURNAL = "campaign.journal"
UNEXPLAINED = ["--no-explain", "--no-shrink"]
MARK = b"\x89QCJREC\n"


# Keys of a report that tell of times, machines, paths, and of what was lost on the way.
UNSTEADY = ("seconds", "environment", "runs", "progress", "replay", "lost", "lost_cases", "first_seen", "last_seen")


class Problem(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Problem(text)


class Program:
    def __init__(self, command):
        self.command = command

    def start(self, *arguments, **options):
        return subprocess.Popen(self.command + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, **options)

    def run(self, expected, *arguments, **options):
        process = self.start(*arguments, **options)
        output = process.communicate()[0]
        require(process.returncode == expected,
                f"{' '.join(arguments)}: exit code {process.returncode}, expected {expected}\n{output}")
        return output


def result_of(folder):
    """The report without times, machines, and where its files are."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))

    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in UNSTEADY}
        return [strip(v) for v in value] if isinstance(value, list) else value

    return json.dumps(strip(report), indent=1)


def documents_of(page):
    """The JSON that the page shows, which carries it deflated."""
    packed = page.read_text(encoding="utf-8").split('id="documents">', 1)[1].split("<", 1)[0]
    return zlib.decompress(base64.b64decode(packed)).decode("utf-8")


def cases_of(folder):
    """The finding's cases as they were written."""
    return {p.name: p.read_bytes() for p in sorted(folder.glob("F*.json"))}


def require_same(a, b, text):
    if result_of(a) != result_of(b):
        first, second = result_of(a).splitlines(), result_of(b).splitlines()
        differing = [f"{x} | {y}" for x, y in zip(first, second) if x != y][:5]
        raise Problem(f"{text}: reports differ: {differing}")
    require(cases_of(a) == cases_of(b), f"{text}: the cases of findings differ")


def leftovers(marker):
    """Processes of ours that still run, by a word of their command line."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            text = (folder / "cmdline").read_bytes().decode(errors="replace")
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if folder.name.isdigit() and marker in text and state != "Z" and int(folder.name) != os.getpid():
            found.append(folder.name)
    return found


def require_gone(marker):
    for _ in range(100):
        if not leftovers(marker):
            return
        time.sleep(0.05)
    raise Problem(f"processes are left: {leftovers(marker)}")


def fuzz(out, cases, jobs=2, *more):
    return ["fuzz", *BACKENDS, "--seed", "7", "--cases", str(cases), "--jobs", str(jobs), "--out", str(out), *more]


def is_live(process, folder):
    """Whether it is a campaign under way: with a journal, and processes of its own."""
    try:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8")
        return children.strip() != "" and (folder / JOURNAL).stat().st_size > 0
    except OSError:
        return False


def check_kills(program, folder, options):
    """Killed at random moments and resumed, a campaign ends as one that was left alone."""
    cases = 512 * options.blocks + 100
    started = time.monotonic()
    program.run(1, *fuzz(folder / "whole", cases))
    whole = time.monotonic() - started
    draw = random.Random(options.seed)
    kills, campaigns, idle = 0, 0, 0
    while kills < options.kills:
        out = folder / f"killed-{campaigns}"
        campaigns += 1
        for attempt in range(1000):
            process = program.start(*fuzz(out, cases, 2, "--resume"))
            try:
                process.wait(draw.uniform(0, whole * 0.7) if kills < options.kills else None)
                break
            except subprocess.TimeoutExpired:
                live = is_live(process, out)
                process.send_signal(signal.SIGKILL)
                # One that ended by itself in the meantime was not killed, and one that had not begun proves nothing.
                if process.wait() == -signal.SIGKILL and live:
                    kills += 1
                else:
                    idle += 1
        require(process.returncode == 1, f"exit code {process.returncode}: {process.stdout.read()}")
        require_same(folder / "whole", out, f"campaign {campaigns}")
        require_gone(str(out))
        require(not list(out.rglob("*.part")), f"half-written files are left: {list(out.rglob('*.part'))}")
        shutil.rmtree(out)
        print(f"campaign {campaigns} ends as the one that was left alone, after {kills} kills so far", flush=True)
    print(f"{kills} kills of campaigns under way, {idle} before or behind that, in {campaigns} campaigns of {cases} cases")


def check_shards(program, folder, options):
    """Merged shards are the single run, whichever way they are merged."""
    count = options.shards
    cases = 512 * (count + 4) + 77
    program.run(1, *fuzz(folder / "single", cases))
    shards = [folder / f"shard-{i}" for i in range(1, count + 1)]
    for i, shard in enumerate(shards, 1):
        environment = dict(os.environ)
        arguments = ["--shard", f"{i}/{count}"]
        if i % 3 == 0:
            environment.update(SLURM_ARRAY_TASK_ID=str(9 + i), SLURM_ARRAY_TASK_COUNT=str(count), SLURM_ARRAY_TASK_MIN="10")
            arguments = []
        elif i % 3 == 1:
            environment.update(JOB_COMPLETION_INDEX=str(i - 1))
            arguments = ["--shard-count", str(count)]
        process = program.start(*fuzz(shard, cases, 1, "--no-shrink", *arguments), env=environment)
        output = process.communicate()[0]
        require(process.returncode in (0, 1), f"shard {i}: exit code {process.returncode}\n{output}")
    inputs = [str(shard) for shard in shards]
    program.run(1, "report", "merge", *inputs, "-o", str(folder / "merged"))
    require_same(folder / "single", folder / "merged", f"{count} shards")
    quick = ["--no-explain", "--no-shrink", "-o"]
    program.run(1, "report", "merge", *inputs[count // 2:], *quick, str(folder / "right"))
    program.run(1, "report", "merge", *reversed(inputs[:count // 2 + 2]), *quick, str(folder / "left"))
    program.run(1, "report", "merge", str(folder / "right" / "report.json"), str(folder / "left" / JOURNAL), inputs[1],
                "-o", str(folder / "again"))
    require_same(folder / "single", folder / "again", "overlapping merges of merges")
    program.run(1, "fuzz", *BACKENDS, "--seed", "8", "--cases", "300", "--no-explain", "--no-shrink", "--out",
                str(folder / "other"))
    output = program.run(2, "report", "merge", inputs[0], str(folder / "other"), "-o", str(folder / "no"))
    require("--seed" in output, f"merging campaigns of two seeds says: {output}")


def check_faults(program, folder, _):
    cases = 512 * 6
    whole = folder / "whole"
    program.run(1, *fuzz(whole, cases))
    bytes_ = (whole / JOURNAL).read_bytes()

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        out = folder / number.name
        # One of them builds the whole report.
        process = program.start(*fuzz(out, 10**9, 2, *([] if number == signal.SIGINT else UNEXPLAINED)))
        while not is_live(process, out):
            time.sleep(0.02)
        process.send_signal(number)
        output = process.communicate()[0]
        require(process.returncode in (0, 1) and (out / "report.json").exists(),
                f"after {number.name}: {process.returncode} {output}")
        require_gone(str(out))

    out = folder / "run"
    out.mkdir()
    process = program.start("run", "--suite", "random", "--cases", str(10**8), "--backend", "scalar", cwd=out)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output = process.communicate()[0]
    require(process.returncode == 1 and "interrupted" in output.splitlines()[-1], f"an interrupted run: {output}")
    require((out / "build/reports/run/report.json").exists(), f"an interrupted run has no report: {output}")

    out = folder / "again"
    for _ in range(4):
        program.run(0, "fuzz", "--backend", "scalar", "--seed", "1", "--cases", "100", "--out", str(out))
    old = sorted(path.name for path in out.glob(JOURNAL + ".*"))
    require(old == [JOURNAL + ".previous" + more for more in ("", "-2", "-3")], f"of four campaigns there are {old}")

    out = folder / "news"
    program.run(0, "fuzz", "--backend", "scalar", "--seed", "1", "--cases", "512", "--out", str(out))
    output = program.run(1, *fuzz(out, 512))
    require("2 new causes, 0 met again" in output and "new F1 pad-raw-zero" in output, f"no news: {output}")
    page = out / "report.html"  # a build without Node.js makes none
    require(not page.exists() or '"state":"new"' in documents_of(page), "no news on the page")
    mail = (out / "summary.txt").read_text(encoding="utf-8")
    require(mail.startswith("Subject: qconform: does not conform: pad-raw-zero; 2 new causes, 0 met again") and "F1 pad-raw-zero" in mail, f"no news in the mail: {mail}")
    output = program.run(1, *fuzz(out, 1024))
    require("0 new causes, 2 met again" in output, f"old news: {output}")
    require("new cause" not in program.run(1, *fuzz(out, 512, 2, "--compare", "none")), "news without a comparison")
    before = ["--compare", str(whole / "report.json")]
    output = program.run(0, "fuzz", "--backend", "scalar", "--seed", "1", "--cases", "512", "--out", str(out), *before)
    require("0 new causes, 0 met again, 0 not met, 2 not tested" in output, f"news of another folder: {output}")
    output = program.run(2, *fuzz(out, 512, 2, "--profile", "correctly-rounded", *before))
    require("--compare" in output and "conformance" in output, f"another profile: {output}")

    out = folder / "replaced"
    process = program.start(*fuzz(out, 10**9, 2, *UNEXPLAINED))
    while not is_live(process, out):
        time.sleep(0.02)
    time.sleep(0.5)  # some blocks
    (out / "other").write_text("not a journal", encoding="utf-8")
    os.replace(out / "other", out / JOURNAL)
    output = process.communicate()[0]
    require(process.returncode == 2 and "replaced by another file" in output, f"a replaced journal: {output}")
    require((out / "report.json").exists() and (out / JOURNAL).read_text() == "not a journal", "another's journal was touched")

    out = folder / "tail"
    shutil.copytree(whole, out)
    (out / JOURNAL).write_bytes(bytes_[:-3])
    output = program.run(1, *fuzz(out, cases, 2, "--resume"))
    require("at the end" in output, f"a tail that was cut short is passed over in silence: {output}")
    require_same(whole, out, "after a tail that was cut short")

    out = folder / "middle"
    shutil.copytree(whole, out)
    second = bytes_.index(MARK, bytes_.index(b"suite"))
    damaged = bytearray(bytes_)
    damaged[second - 5] ^= 1
    (out / JOURNAL).write_bytes(damaged)
    output = program.run(2, *fuzz(out, cases, 2, "--resume"))
    require("--repair" in output and "damaged in the middle" in output, f"damage in the middle: {output}")
    require((out / JOURNAL).read_bytes() == bytes(damaged), "a refused journal was changed")
    program.run(2, "report", "merge", str(out), "-o", str(folder / "no"))
    program.run(1, *fuzz(out, cases, 2, "--resume", "--repair"))
    require_same(whole, out, "after a repair")

    process = program.start(*fuzz(folder / "busy", 10**9))
    while not (folder / "busy" / JOURNAL).exists() or (folder / "busy" / JOURNAL).stat().st_size == 0:
        time.sleep(0.02)
    output = program.run(2, *fuzz(folder / "busy", cases))
    require("another campaign" in output, f"two campaigns in one folder: {output}")
    process.kill()
    process.wait()
    require_gone(str(folder / "busy"))

    for option, name in ((["--seed", "8"], "--seed"), (["--backend", "scalar"], "--backend"),
                         (["--profile", "ort-f32"], "--profile"), (["--shard", "1/2"], "--shard"),
                         (["--guard", "full"], "--guard")):
        arguments = ["fuzz", "--resume", "--cases", str(cases), "--out", str(whole), *option]
        output = program.run(2, *arguments)
        require(name in output, f"{' '.join(arguments)} says: {output}")
    program.run(1, "fuzz", "--resume", "--cases", str(cases), "--out", str(whole))

    out = folder / "full"
    limit = len(bytes_) // 2
    output = program.run(2, *fuzz(out, cases), preexec_fn=lambda: full_disk(limit))
    require("cannot be written" in output and JOURNAL in output, f"a full disk: {output}")
    require_gone(str(out))
    program.run(1, *fuzz(out, cases, 2, "--resume"))
    require_same(whole, out, "after a full disk")


def descendants(process):
    """The processes that come from this one, without zombies."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if entry.name.isdigit() and fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [process]
    for known in found:
        found += children.get(known, [])
    return found[1:]


def signal_one(process, draw, number):
    """Sends it to one process that the campaign has started. False where there is none."""
    below = descendants(process.pid)
    if not below:
        return False
    try:
        os.kill(draw.choice(below), number)
    except ProcessLookupError:
        return False
    return True


def kill_one(process, draw, _out):
    signal_one(process, draw, signal.SIGKILL)


def stop_one(process, draw, _out):
    below = descendants(process.pid)
    if below:
        victim = draw.choice(below)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            try:
                os.kill(victim, number)
            except ProcessLookupError:
                return
            time.sleep(draw.uniform(0.05, 1))


def remove_folder(_process, _draw, out):
    shutil.rmtree(out, ignore_errors=True)


def hang_up(process, _draw, _out):
    process.send_signal(signal.SIGHUP)


# What happens to a campaign meanwhile, and what it may have of what. The first three do not keep it from its end.
FAULTS = {
    "kill": (kill_one, None),
    "stop": (stop_one, None),
    "remove-folder": (remove_folder, None),
    "hang-up": (hang_up, None),
    "few-files": (None, lambda draw: (resource.RLIMIT_NOFILE, draw.randrange(8, 40))),
    "small-files": (None, lambda draw: (resource.RLIMIT_FSIZE, draw.randrange(1, 200) << 10)),
    "little-memory": (None, lambda draw: (resource.RLIMIT_AS, draw.randrange(100, 40000) << 20)),
}
GOES_ON = ("kill", "stop", "remove-folder")


def set_limits(limits):
    for name, value in limits:
        resource.setrlimit(name, (value, value))


def disturb(process, faults, draw, out, most):
    """Until it ends, each fault up to `most` times. Returns how many processes were killed."""
    counts = dict.fromkeys(faults, 0)
    pause = draw.uniform(0.05, 0.5)
    while process.poll() is None:
        time.sleep(pause)
        for fault in faults:
            act = FAULTS[fault][0]
            if act and process.poll() is None and counts[fault] < (most if fault in GOES_ON else 1):
                act(process, draw, out)
                counts[fault] += 1
    return counts.get("kill", 0)


def check_disturbed(program, folder, options):
    """Whatever happens to a campaign meanwhile: it ends as one that was left alone, or says why and goes on so later."""
    draw = random.Random(options.seed)
    begun, campaigns, kills, counts = time.monotonic(), 0, 0, {}
    while time.monotonic() - begun < options.seconds if options.seconds else campaigns < options.campaigns:
        faults = draw.sample(options.only or list(FAULTS), k=1 if options.only else draw.choice([1, 1, 2]))
        backends = draw.choice([[], ["--isolation", "all"], ["--isolation", "all", "--backend", "xnnpack"]])
        cases = 512 * draw.randrange(4, 4 + options.blocks)
        whole, out = folder / "whole", folder / "disturbed"

        def command(to, *more):
            return [*fuzz(to, cases, 2, "--timeout", "5", "--no-within", *more), *backends]

        what = f"campaign {campaigns} ({', '.join(faults)}): {' '.join(command(out))}"
        program.run(1, *command(whole))
        limits = [FAULTS[fault][1](draw) for fault in faults if FAULTS[fault][1]]
        process = program.start(*command(out), stdin=subprocess.DEVNULL, preexec_fn=lambda: set_limits(limits))
        kills += disturb(process, faults, draw, out, options.kills)
        output = process.communicate()[0]
        require_gone(str(out))
        if all(fault in GOES_ON for fault in faults):
            require(process.returncode == 1, f"{what}: exit code {process.returncode}\n{output}")
        else:
            require(process.returncode in (0, 1, 2), f"{what}: exit code {process.returncode}\n{output}")
            program.run(1, *command(out, "--resume"))
        require_same(whole, out, f"{what}\n{output}")
        for path in (whole, out):
            shutil.rmtree(path)
        campaigns += 1
        for fault in faults:
            counts[fault] = counts.get(fault, 0) + 1
    told = ", ".join(f"{fault} {count}" for fault, count in sorted(counts.items()))
    print(f"{campaigns} campaigns (seed {options.seed}) end as those left alone: {told}; {kills} processes killed")


def check_reports(program, folder, options):
    """A backend that crashes or hangs while its findings are explained, confirmed and shrunk costs none of them."""
    plugin = ["--backend", f"plugin:{options.plugins}/fickle.so"]
    campaign = ["fuzz", *plugin, "--seed", "7", "--cases", "2048", "--timeout", "0.2", "--out"]
    program.run(1, *campaign, str(folder / "calm"))
    calm = json.loads((folder / "calm" / "report.json").read_text(encoding="utf-8"))
    require(calm["findings"], "the plugin is right")
    failing = sum(finding["cases"] for finding in calm["findings"])
    for mood in ("crash", "hang"):
        out = folder / mood
        shutil.copytree(folder / "calm", out)
        started = time.monotonic()
        program.run(1, *campaign, str(out), "--resume", env=dict(os.environ, FICKLE=mood))
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        require(report["backends"][0]["operators"] == calm["backends"][0]["operators"], f"{mood}: other counts")
        require(sum(finding["cases"] for finding in report["findings"]) == failing, f"{mood}: failures went lost")
        for finding in report["findings"]:
            require(finding["verdict"] == "wrong" and (out / finding["example"]["file"]).exists(), f"{mood}: {finding}")
        require_gone(str(out))
        print(f"{mood}: {len(report['findings'])} findings of {failing} cases after {time.monotonic() - started:.1f} s")
        # A report built meanwhile does not change a later one.
        program.run(1, *campaign, str(out), "--resume")
        require_same(folder / "calm", out, f"after reports with a {mood}")


def full_disk(limit):
    """As a full disk: what is behind the limit cannot be written."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def check_large(program, folder, _):
    """Merging takes the memory of a few blocks, however large journals and reports are."""
    shard = folder / "shard"
    program.run(1, *fuzz(shard, 512 * 8, 1, "--no-shrink"))
    bytes_ = (shard / JOURNAL).read_bytes()
    first = bytes_.index(MARK, 1)
    records = bytes_[first:]
    with open(shard / JOURNAL, "r+b") as journal:
        journal.seek(0, os.SEEK_END)
        while journal.tell() < 1 << 30:
            journal.write(records)
    with open(shard / "report.json", "r+b") as report:
        report.truncate(1 << 30)
    process = program.start("report", "merge", str(shard / "report.json"), "-o", str(folder / "merged"))
    output = process.communicate()[0]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    require(process.returncode == 1, f"merging 1 GiB: exit code {process.returncode} {output}")
    require(peak < 1024, f"merging 1 GiB takes {peak} MiB")
    print(f"a report and a journal of 1 GiB each: {peak} MiB at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("check")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=3)
    parser.add_argument("--for", dest="seconds", type=float)
    parser.add_argument("--only", choices=FAULTS, action="append")
    parser.add_argument("--plugins", default="")
    parser.add_argument("--emulator", action="append", default=[])
    options = parser.parse_args()
    program = Program(options.emulator + [options.program])
    with tempfile.TemporaryDirectory() as folder:
        try:
            globals()["check_" + options.check](program, pathlib.Path(folder), options)
        except Problem as problem:
            sys.exit(str(problem))


if __name__ == "__main__":
    main()
