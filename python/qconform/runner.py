"""Runs the program on backends of Python: run, replay, explain, shrink."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Optional, Union

import onnx

from qconform import _program, backends, html, words
from qconform import report as reports
from qconform._fork_server import ForkServer
from qconform.cases import Case
from qconform.errors import Error
from qconform.evaluate import Verdict
from qconform.progress import Watcher, watched
from qconform.progress import run as watch
from qconform.report import Defect, Element, Finding, Report

_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]

#: What stands for a case: a file, a case of a suite, a finding, or a model whose inputs are all initializers.
CaseLike = Union[str, "os.PathLike[str]", Case, Finding, onnx.ModelProto]


#: Names that the program takes in front of a backend.
_ALIAS = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,47}")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run, which has written the report of what was judged by then."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"interrupted; the report of {report.cases:,} cases is in {report.folder}")
        #: of the cases that were judged; its backends do not conform, for others were not
        self.report = report


@dataclass(frozen=True)
class Opened:
    """A backend that the program can reach by `name`, for now."""

    name: str
    shown: str
    #: in the place of a replay line that works in this process alone; None where the program's does
    replay: Optional[str]


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that fails as a case does."""

    case: str
    ending: words.Ending
    runs: int
    steps: int
    #: shapes and attributes of the case, and of the smallest
    before: str
    after: str
    verdict: words.VerdictKind
    detail: str
    worst: Optional[Element]
    #: the smallest case; None where the case does not fail
    file: Optional[Path]
    replay: str
    document: Mapping[str, Any] = field(repr=False)

    def facts(self) -> list[tuple[str, str]]:
        """What is known of it, as pairs of a word and a text."""
        verdict = f"{self.verdict}: {self.detail}" if self.detail else self.verdict
        facts = [
            ("before", self.before),
            ("after", self.after),
            ("search", f"{self.runs:,} runs, {self.steps:,} reductions; {self.ending}"),
            ("verdict", verdict),
            ("worst", str(self.worst or "")),
            ("written", str(self.file or "")),
            ("replay", self.replay),
        ]
        return [(word, text) for word, text in facts if text]

    def __str__(self) -> str:
        return "\n".join([self.case, *(f"  {word:<9} {text}" for word, text in self.facts())])

    def _repr_html_(self) -> str:
        return html.facts([("case", self.case), *self.facts()])


@dataclass(frozen=True)
class Explanation:
    """Why a backend is wrong on a case, and how sure that is."""

    case: str
    verdict: words.VerdictKind
    detail: str
    #: empty of a failure without values
    status: Literal[words.Status, ""]
    signature: str
    #: of the best explanation
    defects: tuple[Defect, ...]
    #: in which cases it fails
    when: tuple[str, ...]
    #: where its wrong elements lie
    where: str
    #: of the cases that were made to test it, and of these how many it reproduces
    tested: int
    reproduced: int
    #: the least part of a graph that fails too
    failing_part: str
    document: Mapping[str, Any] = field(repr=False)

    def facts(self) -> list[tuple[str, str]]:
        """What is known of it, as pairs of a word and a text."""
        verdict = f"{self.verdict}: {self.detail}" if self.detail else self.verdict
        causes = "; and ".join(f"{defect.description} (rule {defect.rule})" for defect in self.defects)
        support = f"reproduces {self.reproduced:,} of {self.tested:,} cases" if self.defects else ""
        facts = [
            ("verdict", verdict),
            ("why", f"{self.status}: {causes}" if causes else self.status),
            ("support", support),
            ("when", ", ".join(self.when)),
            ("where", self.where),
            ("look at", ", ".join(defect.stages for defect in self.defects)),
            ("known", ", ".join(defect.evidence for defect in self.defects if defect.evidence)),
            ("failing part", self.failing_part),
        ]
        return [(word, text) for word, text in facts if text]

    def __str__(self) -> str:
        return "\n".join([self.case, *(f"  {word:<9} {text}" for word, text in self.facts())])

    def _repr_html_(self) -> str:
        return html.facts([("case", self.case), *self.facts()])


def run(
    backend: Any,
    suites: Union[str, Sequence[str]] = "conformance",
    *,
    name: Optional[str] = None,
    seed: int = 1,
    cases: Optional[int] = None,
    profile: Optional[str] = None,
    timeout: float = 10,
    memory_limit: int = 2048,
    valid_only: bool = False,
    within: bool = True,
    fail_fast: Optional[int] = None,
    power: bool = False,
    explain: bool = True,
    shrink: bool = True,
    waivers: Union[str, os.PathLike[str], None] = None,
    out: Union[str, os.PathLike[str], None] = None,
    progress: Union[bool, Watcher, None] = None,
    **options: Any,
) -> Report:
    """Judge a backend, or a list of them, on suites of cases.

    backend: what `qconform.backends` describes. Python objects compute in worker processes.
    suites: names of suites, as `qconform list suites` has them, or files and folders of cases.
    name: how the report calls the backend.
    seed, cases: of suites that are drawn.
    profile: which right answers to admit: `qconform list profiles`.
    timeout, memory_limit: seconds for a case; MiB that a worker may take.
    valid_only: leave out cases that are out of contract.
    within: with conformance, also ask what the backend takes, and draw cases inside that.
    fail_fast: end at this many failing cases.
    power: measure the detection power of the cases that the backend computes.
    explain, shrink: look for the defects behind failures, and for the smallest cases that fail.
    waivers: a file of known discrepancies, which may call a backend as the report does.
    out: the folder for the report; else a new one among the temporary files, which stays.
    progress: a function that is told how far the run has come (`qconform.Progress`); True for a bar of tqdm or a line;
        without it one is shown in terminals and notebooks.
    options: any other option of `qconform run`, as its help has it: thorough=True, context=1, expect_fused=True.

    Ctrl-C raises `qconform.Interrupted`, a KeyboardInterrupt, which has the report of what was judged by then.
    """
    given = {
        "suite": suites,
        "seed": seed,
        "cases": cases,
        "profile": profile,
        "timeout": timeout,
        "memory_limit": memory_limit,
        "valid_only": valid_only,
        "within": within,
        "fail_fast": fail_fast,
        "power": power,
        "explain": explain,
        "shrink": shrink,
        **options,
    }
    return judged("run", backend, given, name=name, waivers=waivers, out=out, progress=progress)


def judged(
    command: str,
    backend: Any,
    options: Mapping[str, Any],
    *,
    name: Optional[str] = None,
    waivers: Union[str, os.PathLike[str], None] = None,
    out: Union[str, os.PathLike[str], None] = None,
    progress: Union[bool, Watcher, None] = None,
) -> Report:
    """The report of a command that judges backends on cases. The arguments are those of run()."""
    folder = folder_for(out)
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(_opened(backend, name))
        aliases = [_alias_of(one, number) for number, one in enumerate(opened, 1)]
        known = None if waivers is None else stack.enter_context(_waivers_for(waivers, opened))
        called = [one.name if alias is None else f"{alias}={one.name}" for alias, one in zip(aliases, opened)]
        given = {"backend": called, "waivers": known, "out": folder, **options}
        text, is_interrupted = _run([command, *_arguments(command, given)], opened, progress)
    report = reports.read(
        folder,
        text,
        {alias: one.shown for alias, one in zip(aliases, opened) if alias is not None},
        {alias: one.replay for alias, one in zip(aliases, opened) if alias is not None and one.replay is not None},
    )
    if is_interrupted:
        raise Interrupted(report)
    return report


def asked(
    command: str,
    operands: Sequence[Union[str, os.PathLike[str]]],
    backend: Any,
    options: Mapping[str, Any],
    progress: Union[bool, Watcher, None] = False,
) -> tuple[str, list[Opened]]:
    """The text that a command prints which writes no report of its own cases, and the backends as the text has them."""
    with _opened(backend) as opened:
        given = {"backend": [one.name for one in opened], **options}
        arguments = [command, *map(str, operands), *_arguments(command, given)]
        return _run(arguments, opened, progress)[0], opened


def folder_for(out: Union[str, os.PathLike[str], None]) -> Path:
    """The folder for what is written: else a new one among the temporary files."""
    return Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="qconform-"))


def _arguments(command: str, options: Mapping[str, Any]) -> list[str]:
    """Options of the program by their names in Python: True sets one, a list repeats it, and False leaves it out, or
    sets "--no-NAME" where the program has that. Behind a keyword of Python stands "_"."""
    known = _program.options(command)
    arguments: list[str] = []
    for name, value in options.items():
        word = name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
            if isinstance(one, bool) and f"--no-{word}" in known:
                arguments += [] if one else [f"--no-{word}"]
            elif one is True:
                arguments.append(f"--{word}")
            elif one is not None and one is not False:
                arguments += [f"--{word}", str(one)]
    return arguments


def replay(
    backend: Any,
    case: CaseLike,
    *,
    profile: Optional[str] = None,
    timeout: float = 10,
    memory_limit: int = 2048,
) -> Verdict:
    """Run one case on a backend, and judge what it does."""
    given = {"profile": profile, "timeout": timeout, "memory_limit": memory_limit, "json": True}
    with file_of(case) as file:
        text, (opened,) = asked("replay", [file], [backend], given)
    document = json.loads(text)
    result = dict(document["results"][0], backend=opened.shown)
    return Verdict.from_document(dict(document, results=[result]))


def explain(
    backend: Any,
    case: CaseLike,
    *,
    profile: Optional[str] = None,
    seed: int = 1,
    max_cases: Optional[int] = None,
    max_seconds: Optional[float] = None,
    timeout: float = 10,
    memory_limit: int = 2048,
) -> Explanation:
    """Say why a backend is wrong on a case; it is run on further cases that tell explanations apart."""
    given = {
        "seed": seed,
        "profile": profile,
        "max_cases": max_cases,
        "max_seconds": max_seconds,
        "timeout": timeout,
        "memory_limit": memory_limit,
        "json": True,
    }
    with file_of(case) as file:
        document = json.loads(asked("explain", [file], [backend], given)[0])
    candidates = document.get("candidates") or [[]]
    support = document.get("support") or {}
    return Explanation(
        case=document["case"],
        verdict=document["verdict"],
        detail=document["detail"],
        status=document.get("status") or "",
        signature=document.get("signature") or "",
        defects=reports.defects(candidates[0]),
        when=tuple((document.get("region") or {}).get("conditions", [])),
        where=(document.get("pattern") or {}).get("description", ""),
        tested=support.get("cases", 0),
        reproduced=support.get("reproduced_cases", 0),
        failing_part=document.get("failing_part") or "",
        document=document,
    )


def shrink(
    backend: Any,
    case: CaseLike,
    *,
    out: Union[str, os.PathLike[str], None] = None,
    profile: Optional[str] = None,
    max_runs: Optional[int] = None,
    max_seconds: Optional[float] = None,
    timeout: float = 10,
    memory_limit: int = 2048,
) -> Shrunk:
    """Find the smallest case that fails as `case` does, and write it to `out`: FILE.json, FILE.onnx, or a folder."""
    file = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="qconform-")) / "smallest.json"
    given = {
        "out": file,
        "profile": profile,
        "max_runs": max_runs,
        "max_seconds": max_seconds,
        "timeout": timeout,
        "memory_limit": memory_limit,
        "json": True,
    }
    with file_of(case) as whole:
        text, (opened,) = asked("shrink", [whole], [backend], given)
    document = json.loads(text)
    line_again = document.get("replay", "")
    if line_again and opened.replay is not None:
        line_again = opened.replay.format(str(file))
    return Shrunk(
        case=document["case"],
        ending=document["ending"],
        runs=document["runs"],
        steps=document["steps"],
        before=document["before"],
        after=document["after"],
        verdict=document["verdict"],
        detail=document["detail"],
        worst=reports.element(document.get("worst")),
        file=Path(document["file"]) if document.get("file") else None,
        replay=line_again,
        document=document,
    )


@contextlib.contextmanager
def _waivers_for(file: Union[str, os.PathLike[str]], opened: Sequence[Opened]) -> Iterator[Path]:
    """The waivers, of backends as the program calls them: a file as long as the `with` lasts."""
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
        for waiver in document["waivers"]:
            waiver["backends"] += [one.name for one in opened if one.shown in waiver["backends"]]
    except (OSError, ValueError, LookupError, TypeError):
        yield Path(file)  # the program says what is wrong with it
        return
    with tempfile.TemporaryDirectory(prefix="qconform-") as folder:
        known = Path(folder) / Path(file).name
        known.write_text(json.dumps(document), encoding="utf-8")
        yield known


@contextlib.contextmanager
def _opened(backend: Any, name: Optional[str] = None) -> Iterator[list[Opened]]:
    """A backend, or each of a list of them, while the `with` lasts."""
    chosen = backend if isinstance(backend, (list, tuple)) else [backend]
    if name is not None and len(chosen) != 1:
        raise Error("a name is for one backend", field="name", value=name)
    with contextlib.ExitStack() as stack:
        yield _told_apart([stack.enter_context(_open(one, name)) for one in chosen])


@contextlib.contextmanager
def _open(backend: Any, name: Optional[str] = None) -> Iterator[Opened]:
    """The backend, as the program can reach it while the `with` lasts."""
    found = backends.resolve(backend, name)
    if isinstance(found, backends.Named):
        yield Opened(found.name, name or found.shown or found.name, None)
    elif found.path is not None:
        yield Opened("process:" + _worker_command(found), found.name, None)
    else:
        with ForkServer(found) as server:
            yield Opened("process:" + server.command, found.name, "qconform.replay(backend, {!r})")


def _told_apart(opened: list[Opened]) -> list[Opened]:
    """The same with a number behind the names that several have: results belong to one of them."""
    seen: collections.Counter[str] = collections.Counter()
    result = []
    for one in opened:
        seen[one.shown] += 1
        number = seen[one.shown]
        result.append(one if number == 1 else replace(one, shown=f"{one.shown} #{number}"))
    return result


def _alias_of(one: Opened, number: int) -> Optional[str]:
    """What the program's report calls the backend; None where that is for the program to say."""
    if one.shown == one.name:
        return None
    return one.shown if _ALIAS.fullmatch(one.shown) else f"python.{number}"


#: The aliases that the program gets for names that are none, in its messages.
_GIVEN_ALIAS = re.compile(r"\bpython\.\d+=")


def _worker_command(target: backends.Target) -> str:
    """Of a new interpreter that imports the object."""
    words = [sys.executable, "-m", "qconform.serve"]
    folder = backends.import_folder(target.path or "")
    if folder is not None:
        words += ["--path", folder]
    if target.kind is not None:
        words += ["--kind", target.kind, "--feeds", "all" if target.feeds_all else "activations"]
    return " ".join(shlex.quote(word) for word in [*words, target.path or ""])


def _run(arguments: Sequence[str], opened: Sequence[Opened], progress: Union[bool, Watcher, None]) -> tuple[str, bool]:
    """What the program prints, and whether Ctrl-C ended it and it had a report to write; exit code 2 raises its error,
    which calls the backends as they are shown."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(_import_path()))
    with watched(progress) as watcher:
        done, is_interrupted = watch(_program.command(arguments), environment, watcher)
    if is_interrupted and done.returncode < 0:
        raise KeyboardInterrupt  # it had nothing to report
    try:
        _program.check(done.returncode, done.stderr, arguments)
    except Error as error:
        raise _named(error, opened) from None
    return done.stdout, is_interrupted


def _import_path() -> list[str]:
    """Where this process finds modules: its workers find the same."""
    return list(dict.fromkeys([os.path.abspath(folder) for folder in sys.path] + [str(_PACKAGE_FOLDER)]))


def _named(error: Error, opened: Sequence[Opened]) -> Error:
    field_name, message, value = error.field, _GIVEN_ALIAS.sub("", error.message), error.value
    for one in opened:
        if one.name in (field_name, value):
            field_name = "backend"
        message = message.replace(one.name, one.shown)
        value = value.replace(one.name, one.shown)
    return Error(message, field=field_name, value=value, rule=error.rule)


@contextlib.contextmanager
def file_of(case: CaseLike) -> Iterator[Path]:
    """The case as a file, while the `with` lasts."""
    if isinstance(case, Finding):
        yield case.file
    elif isinstance(case, (str, os.PathLike)):
        yield Path(case)
    else:
        with tempfile.TemporaryDirectory(prefix="qconform-") as folder:
            if isinstance(case, onnx.ModelProto):
                file = Path(folder) / "case.onnx"
                file.write_bytes(case.SerializeToString())
            else:
                file = Path(folder) / "case.json"
                case.save(file)
            yield file
