#!/usr/bin/env python3
"""Runs the commands that the pages show, and compares what they print with what the pages show.

usage: check_commands.py SOURCE_FOLDER --program QCONFORM [--show] [PAGE...]

A block of code with lines "$ COMMAND" is run: what follows a command up to the next one is what it prints, to standard
output and standard error. All blocks of a page run in one bash, in a temporary folder that has links to what is in
SOURCE_FOLDER; qconform is on the PATH. --show prints what every command of the pages printed.

What a page shows is compared line by line:
  ...            on a line of its own stands for any lines, at the end of a line for any rest of it
  0.4 s          a time is like any other, in whatever unit; rates are compared by their unit alone
Any number of blanks is like one.

Comments right above a block, which no reader sees:
  <!-- not run: REASON -->   its commands cannot run in a test: they are counted
  <!-- needs: NAME, ... -->  run only where each NAME is a program, an available backend or python:MODULE, else counted
  <!-- file: NAME -->        the block is a file, written to the temporary folder at this point
"""

import argparse
import importlib.util
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import page

TIMES = ("ns", "us", "ms", "s", "min", "h")  # which one is printed depends on the machine
VARYING = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)? ?(ns|us|ms|s|min|h|cases/s|cases a second|GMAC/s|GB/s|MiB/s)(?![\w/])")
TOKEN = "<<<command of a page>>>"
PAGE_SECONDS = 300  # a command that hangs
SHOWN = 40  # lines of an output that is not as expected


class Command:
    def __init__(self, number, text):
        self.number, self.text = number, text
        self.expected = []
        self.printed, self.seconds = None, 0.0


def commands_of(block):
    """The commands of a block; none where it has no line "$ COMMAND"."""
    commands, is_continued = [], False
    for i, line in enumerate(block.lines):
        if is_continued:
            commands[-1].text += "\n" + line
        elif line.startswith("$ "):
            commands.append(Command(block.number + i, line[2:]))
        elif commands:
            commands[-1].expected.append(line)
            continue
        else:
            continue
        is_continued = line.endswith("\\")
    return commands


def normal(line):
    """A line without what may differ."""
    def stand_in(match):
        return "N " + ("s" if match.group(1) in TIMES else match.group(1))
    return VARYING.sub(stand_in, " ".join(line.split()))


def trimmed(lines):
    """Without empty lines at both ends."""
    lines = list(lines)
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def line_matches(expected, printed):
    if expected.endswith("..."):
        return printed.startswith(expected.removesuffix("...").rstrip())
    return expected == printed


def first_difference(expected, printed):
    """The first line of the page that the output lacks, "" for lines beyond the page's, None where all match."""
    expected = [normal(line) for line in trimmed(expected)]
    printed = [normal(line) for line in trimmed(printed)]
    # reach: how many printed lines the expected ones so far can stand for
    reach = {0}
    for line in expected:
        if line == "...":
            reach = set(range(min(reach), len(printed) + 1))
        else:
            reach = {i + 1 for i in reach if i < len(printed) and line_matches(line, printed[i])}
        if not reach:
            return line
    return None if len(printed) in reach else ""


def available_backends(root, program):
    listed = subprocess.run([str(program), "list", "backends"], capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, cwd=root).stdout
    return set(re.findall(r"^(\S+) +available\b", listed, re.MULTILINE))


def mark(number):
    """What the script prints before each command, and at its end."""
    return f"printf '\\n%s %d %s\\n' '{TOKEN}' {number} \"$EPOCHREALTIME\""


class Run:
    """A run of pages with one program."""

    def __init__(self, root, program, shows, available, cache):
        self.root, self.program, self.shows, self.available, self.cache = root, program, shows, available, cache
        self.problems, self.not_run = [], {}
        self.count = 0

    def is_here(self, name):
        if name.startswith("python:"):
            return importlib.util.find_spec(name.removeprefix("python:")) is not None
        return name in self.available or shutil.which(name) is not None

    def reason_not_to_run(self, block):
        for comment in block.comments:
            kind, _, text = comment.partition(":")
            if kind == "not run":
                return text.strip()
            if kind == "needs":
                missing = [name for name in map(str.strip, text.split(",")) if not self.is_here(name)]
                if missing:
                    return f"{', '.join(missing)} not here"
        return None

    def page(self, path):
        each = page.Page(path)
        commands, script = [], []
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for index, block in enumerate(each.blocks):
                script += self._file_of(block, folder / f"file{index}")
                in_block = commands_of(block)
                reason = self.reason_not_to_run(block) if in_block else None
                if reason:
                    self.not_run[reason] = self.not_run.get(reason, 0) + len(in_block)
                    continue
                for command in in_block:
                    script.append(f"{mark(len(commands))}; (exit $page_status)\n{command.text}\npage_status=$?")
                    commands.append(command)
            if commands:
                self._run(script, commands, folder)
        self._judge(path, commands)

    @staticmethod
    def _file_of(block, path):
        for comment in block.comments:
            if comment.startswith("file:"):
                name = comment.removeprefix("file:").strip()
                path.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
                return [f"mkdir -p {shlex.quote(os.path.dirname(name) or '.')} && "
                        f"cp {shlex.quote(str(path))} {shlex.quote(name)}"]
        return []

    def _run(self, script, commands, folder):
        work, programs = folder / "work", folder / "bin"
        work.mkdir()
        programs.mkdir()
        (programs / "qconform").symlink_to(self.program)
        (programs / "python3").symlink_to(sys.executable)
        for entry in self.root.iterdir():
            if entry.name not in ("build", ".git"):
                (work / entry.name).symlink_to(entry)
        environment = dict(os.environ, HOME=str(folder), LC_ALL="C.UTF-8", TERM="dumb",
                           QCONFORM_CORPUS=str(self.root / "corpus"), QCONFORM_CACHE=self.cache,
                           PATH=f"{programs}:{os.environ['PATH']}", PWD=str(work))
        lines = ["exec 2>&1", "page_status=0", *script, mark(len(commands))]
        (folder / "script").write_text("\n".join(lines) + "\n", encoding="utf-8")
        with open(folder / "printed", "wb") as printed:
            process = subprocess.Popen(["bash", str(folder / "script")], stdin=subprocess.DEVNULL, stdout=printed,
                                       stderr=subprocess.STDOUT, cwd=work, env=environment, start_new_session=True)
            try:
                process.wait(PAGE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
        text = (folder / "printed").read_text(encoding="utf-8", errors="replace").replace(str(work), ".")
        parts = re.split(r"\n" + re.escape(TOKEN) + r" (\d+) ([\d.]+)\n", text)
        times = [float(part) for part in parts[2::3]]
        for i, output in enumerate(parts[3::3]):
            if i < len(commands):
                commands[i].printed = output.split("\n")
                commands[i].seconds = (times[i + 1] if i + 1 < len(times) else time.time()) - times[i]

    def _judge(self, path, commands):
        name = path.relative_to(self.root) if self.root in path.parents else path
        for command in commands:
            self.count += 1
            if command.printed is None:
                self.problems.append(f"{name}:{command.number}: $ {command.text}\n  an earlier command did not end")
                continue
            printed = trimmed(command.printed)
            if self.shows:
                print(f"{name}:{command.number}: {command.seconds:.1f} s\n$ {command.text}", *printed, sep="\n")
            line = first_difference(command.expected, printed)
            if line is not None:
                what = f"the output lacks this line of the page: {line}" if line else "the output has lines that the page lacks"
                rest = [f"  ({len(printed) - SHOWN} more lines)"] if len(printed) > SHOWN else []
                self.problems.append("\n".join([f"{name}:{command.number}: $ {command.text}", f"  {what}", "  it printed:",
                                                *(f"    {each}" for each in printed[:SHOWN]), *rest]))

    def summary(self):
        skipped = [f"  not run: {number} commands: {reason}" for reason, number in sorted(self.not_run.items())]
        # Processor time: the machine may have other things to do.
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = usage.ru_utime + usage.ru_stime
        return "\n".join([f"{self.count} commands ran in {seconds:.1f} s of processor time, "
                          f"{sum(self.not_run.values())} were not run, {len(self.problems)} problems", *skipped])


# Pages and how many problems each has: the check is checked before it is believed.
SAMPLES = (
    ("    $ echo a; echo b\n    a\n    b\n", 0), ("    $ echo a; echo b\n    a\n", 1), ("    $ echo a\n    b\n", 1),
    ("    $ echo a\n", 1), ("    $ true\n    a\n", 1), ("    $ seq 9\n    1\n    ...\n    9\n", 0),
    ("    $ seq 9\n    1\n    ...\n    8\n", 1), ("    $ seq 9\n    ...\n    8\n    ...\n", 0), ("```console\n$ echo a\nb\n```\n", 1),
    ("    $ echo in 0.4 s\n    in 12 s\n", 0), ("    $ echo in 0.4 s\n    in 12 ms\n", 0),
    ("    $ echo 0.4 MiB/s\n    12 GB/s\n", 1), ("    $ echo 3 cases\n    4 cases\n", 1),
    ("    $ false\n    $ echo $?\n    1\n", 0), ("    $ echo a >&2\n    a\n", 0), ("    $ echo a \\\n    b\n    a b\n", 0),
    ("    $ x=1\n\ntext\n\n    $ echo $x\n    1\n", 0), ("    $ echo a  b c\n    a b ...\n", 0), ("    $ echo a c\n    a b ...\n", 1),
    ("<!-- not run: hours -->\n    $ false-program\n", 0), ("<!-- needs: no-such-program -->\n\n    $ false-program\n", 0),
    ("<!-- needs: bash -->\n    $ echo a\n    b\n", 1), ("<!-- needs: bash -->\n\n    $ echo a\n    b\n", 1),
    ("<!-- needs: python:no_such_module -->\n    $ false-program\n", 0), ("<!-- needs: python:json -->\n    $ echo a\n", 1),
    ("<!-- file: a/b.c -->\n```c\nint x;\n```\n\n    $ cat a/b.c\n    int x;\n", 0),
    ("    a block without commands\n", 0), ("    $ exit 3\n    $ echo a\n    a\n", 1),
)


def unnoticed(root, program):
    """Samples that are judged wrongly."""
    with tempfile.TemporaryDirectory() as folder:
        for i, (text, expected) in enumerate(SAMPLES):
            path = pathlib.Path(folder) / f"{i}.md"
            path.write_text("# Sample\n\n" + text, encoding="utf-8")
            run = Run(root, program, False, set(), folder)
            run.page(path)
            if len(run.problems) != expected:
                yield f"the check itself: {len(run.problems)} problems, expected {expected}: {text!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--program", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--show", action="store_true", help="print what the commands printed")
    parser.add_argument("pages", nargs="*", type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options.root, options.program, options.show, available_backends(options.root, options.program),
                  os.environ.get("QCONFORM_CACHE", folder))
        for path in options.pages or page.pages_of(options.root):
            run.page(path)
    run.problems += unnoticed(options.root, options.program)
    print("\n".join([*run.problems, run.summary()]))
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
