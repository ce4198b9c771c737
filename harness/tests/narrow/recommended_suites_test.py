#!/usr/bin/env python3
"""Holds the suites that are recommended for a user's kernel against the planted kernels of this folder.

usage: recommended_suites_test.py SOURCE_FOLDER PLUGIN_FOLDER QCONFORM PLANTED=RIGHT... [--all CODE_FOLDER]

No page, default of `run`, the gate's step, the action or the pytest plugin recommends suites that let a planted kernel
pass. With --all, suites take minutes too, the right kernels have to pass, and so have the cases that `cover` keeps of a
right kernel to find the plants; CODE_FOLDER has the code of those.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Right under another profile than the default one.
PROFILES = {"nhwc_int8": "tflite"}
LONG = {"conformance"}
CLANG = "clang++-14"
FLAGS = "-std=c++20 -ffp-contract=off -gdwarf-4 -O0 -fPIC -shared -fsanitize-coverage=trace-pc-guard,pc-table,no-prune"


def commands_of(text):
    """The command lines of a page's blocks, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [line for line in lines if re.search(r"(qconform (run|matrix)|gate-step|pytest) .*(plugin:|--qconform-backend)", line)]


def suites_of(command, default):
    """The suites that a command names; files and folders are the reader's own."""
    named = re.findall(r"--(?:qconform-)?suite[ =](\S+)", command) or [default]
    return frozenset(named) if not any("/" in name or name.endswith(".json") for name in named) else None


def found(pattern, file):
    """What a source states as its default."""
    match = re.search(pattern, file.read_text(encoding="utf-8"))
    assert match, f"{file} states no default any more"
    return match[1]


def recommended(source):
    """Where each set of suites is recommended."""
    defaults = {
        "run": found(r'suites\{"(\w+)"\}', source / "harness/cli/judge_suites.h"),
        "action.yml": found(r"  suite:\n.*\n    default: (\w+)", source / "action.yml"),
        "pytest": found(r'self\._option\("suite"\) or \["(\w+)"\]', source / "python/qconform/pytest_plugin.py"),
    }
    places = {}
    for name, default in defaults.items():
        places.setdefault(frozenset([default]), []).append(f"default of {name}")
    pages = [source / "README.md", *sorted(source.glob("docs/**/*.md")), source / "scripts/gate-step"]
    for page in pages:
        for command in commands_of(page.read_text(encoding="utf-8")):
            suites = suites_of(command, defaults["pytest" if "pytest" in command else "run"])
            if suites is not None:
                places.setdefault(suites, []).append(f"{page.relative_to(source)}: {command.strip()}")
    assert sum(map(len, places.values())) > 12, "the pages recommend no commands any more"
    return places


class Kernels:
    def __init__(self, qconform, plugins, out):
        self.qconform, self.plugins, self.out = qconform, plugins, out

    def code_of(self, name, right, suites, *options):
        """The exit code of `run`."""
        command = [self.qconform, "run", "--backend", f"plugin:{self.plugins / name}.so", "--no-explain", "--no-shrink"]
        command += ["--profile", PROFILES.get(right, "conformance"), "--out", str(self.out / name), *options]
        for suite in sorted(suites):
            command += ["--suite", str(suite)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: {ran.stderr}")
        return ran.returncode

    def kept_of(self, right, code):
        """The cases that `cover` keeps of an instrumented right kernel."""
        library, kept = self.out / "cover.so", self.out / f"{right}.json"
        flags = [CLANG, *FLAGS.split(), "-I", str(code.parents[1] / "include"), str(code / f"{right}.cc")]
        subprocess.run([*flags, "-o", str(library)], check=True)
        command = [self.qconform, "cover", "--backend", f"plugin:{library}", "-o", str(kept)]
        subprocess.run(command, check=True, capture_output=True)
        return kept


def main():
    source, plugins, qconform = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    rest = sys.argv[4:]
    code = pathlib.Path(rest[rest.index("--all") + 1]) if "--all" in rest else None
    planted = dict(word.split("=") for word in rest if "=" in word)
    assert planted
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        kernels = Kernels(qconform, plugins, pathlib.Path(folder))
        for suites, places in recommended(source).items():
            if not code and suites & LONG:
                continue
            for name, right in planted.items():
                if kernels.code_of(name, right, suites, "--fail-fast", "1") != 1:
                    faults.append(f"{name} passes {' and '.join(sorted(suites))}, recommended by:\n  " + "\n  ".join(places))
            for right in set(planted.values()) if code else []:
                if kernels.code_of(right, right, suites) != 0:
                    faults.append(f"{right} is right, and fails {' and '.join(sorted(suites))}")
        for name, right in planted.items() if code and shutil.which(CLANG) else []:
            kept = kernels.kept_of(right, code)
            if kernels.code_of(right, right, [kept]) != 0:
                faults.append(f"{right} is right, and fails the cases that cover keeps")
            if kernels.code_of(name, right, [kept]) != 1:
                faults.append(f"{name} passes the cases that cover keeps of {right}")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
