"""A pytest plugin: a backend's conformance as tests, one for each rule and each class of features.

    pytest --qconform-backend my.module:Backend --qconform-suite conformance

The suites run once, before the first of these tests; with pytest-xdist the first process that needs the report makes
it, and the others wait. A test fails with the smallest case of each finding among its cases, and with the line that
runs that case again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar, Union

import pytest

from qconform import report as reports
from qconform import runner
from qconform._classes import classes_of
from qconform.cases import cases as cases_of
from qconform.errors import Error
from qconform.report import CaseResult, Finding, Report
from qconform.words import VerdictKind

#: Verdicts by which a backend shows that it is right.
_RIGHT: tuple[VerdictKind, ...] = ("pass", "refused")
_MOST_FINDINGS = 5

#: Id and summary of a case: ids are unique within a file of cases alone.
Key = tuple[str, str]

_Made = TypeVar("_Made")

_RUN = pytest.StashKey["_Run"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the group "qconform"."""
    group = parser.getgroup("qconform", "conformance of a quantized backend")
    group.addoption(
        "--qconform-backend", metavar="BACKEND", help="make tests for it: module:attribute, or a name of the program"
    )
    group.addoption(
        "--qconform-suite", metavar="SUITE", action="append", help="suite of cases, may be repeated (conformance)"
    )
    group.addoption("--qconform-seed", metavar="N", type=int, default=1, help="seed of everything random (1)")
    group.addoption("--qconform-cases", metavar="N", type=int, help="number of cases of suites that are drawn")
    group.addoption("--qconform-profile", metavar="PROFILE", help="which right answers to admit")
    group.addoption("--qconform-timeout", metavar="SECONDS", type=float, default=10, help="for a case (10)")
    group.addoption("--qconform-valid-only", action="store_true", help="leave out cases that are out of contract")
    group.addoption("--qconform-no-explain", action="store_true", help="do not look for the defects behind failures")
    group.addoption("--qconform-waivers", metavar="FILE", help="known discrepancies: their tests are xfailed")
    group.addoption("--qconform-out", metavar="DIR", help="folder for the report, and the cases of its findings")


def pytest_configure(config: pytest.Config) -> None:
    """Tell mistakes in the options at once."""
    if config.getoption("--qconform-backend") is None:
        for name in ("suite", "cases", "out", "waivers", "profile"):
            if config.getoption(f"--qconform-{name}") is not None:
                raise pytest.UsageError(f"--qconform-{name} needs --qconform-backend")
        return
    config.stash[_RUN] = _Run(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of pytest-xdist where the report is, or will be."""
    run = node.config.stash.get(_RUN, None)
    if run is not None:
        node.workerinput["qconform_folder"] = str(run.folder)


@pytest.hookimpl(tryfirst=True)  # so that -k and -m choose among these tests too
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests."""
    run = config.stash.get(_RUN, None)
    if run is None:
        return
    try:
        classes = run.classes()
    except Error as error:
        raise pytest.UsageError(str(error)) from error
    backend = config.getoption("--qconform-backend")
    parent = Conformance.from_parent(session, name=f"qconform[{backend}]", nodeid=f"qconform[{backend}]")
    for name, keys in classes.items():
        items.append(ClassTest.from_parent(parent, name=name, run=run, keys=keys))
    items.append(WholeTest.from_parent(parent, name="whole run", run=run, keys=frozenset().union(*classes.values())))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the suites detect, and where the report is."""
    run = config.stash.get(_RUN, None)
    if run is not None and run.is_there():
        with contextlib.suppress(Error):  # the tests have told it
            for backend in run.report().backends:
                terminalreporter.write_line(f"qconform: {backend.name}: {backend.power}")
        terminalreporter.write_line(f"qconform: report {run.folder / 'report.json'}, page {run.folder / 'report.html'}")


class Conformance(pytest.Collector):
    """What the tests of a backend hang below."""

    def collect(self) -> Iterator[Union[pytest.Item, pytest.Collector]]:
        """Nothing: the tests are added to the session."""
        return iter(())


class ConformanceFailure(Exception):
    """Cases of a class fail."""


class ClassTest(pytest.Item):
    """The cases of one class."""

    def __init__(self, *, run: _Run, keys: AbstractSet[Key], **arguments: Any) -> None:
        """`keys` are those of the class's cases."""
        super().__init__(**arguments)
        self.run = run
        self.keys = keys

    def runtest(self) -> None:
        """Look at what became of the cases."""
        report = self.run.report()
        results = [result for result in report.results() if (result.id, result.summary) in self.keys]
        judge(report, results)
        skip_what_shows_nothing(results, len(self.keys))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Without a traceback, which would show this file."""
        if isinstance(excinfo.value, (ConformanceFailure, Error)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Union[os.PathLike[str], str], Optional[int], str]:
        """How it is called where it fails."""
        return self.parent.name if self.parent else "qconform", None, self.name


class WholeTest(ClassTest):
    """What no class shows: cases that are made for the backend, and a run that was ended."""

    def runtest(self) -> None:
        """Look at the run as a whole."""
        report = self.run.report()
        for backend in report.backends:
            if backend.stopped:
                raise ConformanceFailure(f"stopped: {backend.stopped}\n\n{report}")
        results = [result for result in report.results() if (result.id, result.summary) not in self.keys]
        judge(report, results)
        if not report.conforms and not report.findings:
            raise ConformanceFailure(f"the backend computed nothing that proves anything\n\n{report}")
        if results:
            skip_what_shows_nothing(results, len(results))


def judge(report: Report, results: list[CaseResult]) -> None:
    """Fail or xfail for the findings among the cases."""
    verdicts = Counter(verdict for result in results for verdict in result.verdicts.values())
    ids = {found for result in results for found in result.findings.values()}
    findings = [finding for finding in report.findings if finding.id in ids]
    failing = [finding for finding in findings if not finding.document.get("waiver")]
    if failing:
        raise ConformanceFailure(_failure_text(failing, verdicts))
    if findings:
        waivers = {finding.document["waiver"]["id"]: finding.document["waiver"]["reason"] for finding in findings}
        pytest.xfail("; ".join(f"{waiver}: {reason}" for waiver, reason in waivers.items()))


def skip_what_shows_nothing(results: list[CaseResult], cases: int) -> None:
    """Skip a class none of whose `cases` was shown to be right: a report names at most 20,000 single cases."""
    if not results:
        pytest.skip("the report has none of its cases")
    verdicts = Counter(verdict for result in results for verdict in result.verdicts.values())
    if not any(verdicts[kind] for kind in _RIGHT):
        missing = f"; the report leaves out {cases - len(results):,}" if cases > len(results) else ""
        pytest.skip(f"nothing was shown to be right: {_counts(verdicts)}{missing}")


def _failure_text(findings: list[Finding], verdicts: Counter[VerdictKind]) -> str:
    lines = [f"{_counts(verdicts)}"]
    for finding in findings[:_MOST_FINDINGS]:
        lines += ["", str(finding)]
    if len(findings) > _MOST_FINDINGS:
        lines += ["", f"and {len(findings) - _MOST_FINDINGS} findings more"]
    return "\n".join(lines)


def _counts(verdicts: Counter[VerdictKind]) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())


class _Run:
    """The one run that all tests look at: what a process of pytest-xdist has made, the others read."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._known: dict[str, Any] = {}
        self._report: Optional[Report] = None
        worker = getattr(config, "workerinput", None)
        out = self._option("out")
        if worker is not None:
            self.folder = Path(worker["qconform_folder"])
        else:
            self.folder = Path(out).absolute() if out else Path(tempfile.mkdtemp(prefix="qconform-"))
            for file in self._files.values():
                file.unlink(missing_ok=True)  # of an earlier run

    def _option(self, name: str) -> Any:
        return self._config.getoption(f"--qconform-{name}")

    @property
    def _files(self) -> dict[str, Path]:
        return {name: self.folder / f"pytest-{name}.json" for name in ("classes", "report")}

    def is_there(self) -> bool:
        """Whether the suites have run."""
        return self._files["report"].exists()

    def classes(self) -> dict[str, frozenset[Key]]:
        """The cases of each class."""
        found = self._shared("classes", self._make_classes, _classes_to_json)
        return {name: frozenset((key[0], key[1]) for key in keys) for name, keys in found.items()}

    def report(self) -> Report:
        """What became of the cases."""
        if self._report is None:
            self._report = reports.from_json(self._shared("report", self._make_report, reports.to_json))
        return self._report

    def _shared(self, name: str, make: Callable[[], _Made], to_json: Callable[[_Made], Any]) -> Any:
        """What `make` gives, or the error that it raises, in all processes."""
        if name not in self._known:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self._files[name]
            with _locked(self.folder / "pytest.lock"):
                if not file.exists():
                    text = json.dumps(_result_of(make, to_json))
                    file.with_suffix(".new").write_text(text, encoding="utf-8")
                    file.with_suffix(".new").replace(file)
            self._known[name] = json.loads(file.read_text(encoding="utf-8"))
        if "error" in self._known[name]:
            error = self._known[name]["error"]
            raise Error(error["message"], field=error["field"], value=error["value"], rule=error["rule"])
        return self._known[name]["made"]

    @property
    def _suites(self) -> list[str]:
        return self._option("suite") or ["conformance"]

    def _make_classes(self) -> dict[str, frozenset[Key]]:
        found: dict[str, set[Key]] = {}
        for suite in self._suites:
            if suite == "within":  # made for the backend when it runs: "whole run" has its cases
                continue
            for case in cases_of(suite, seed=self._option("seed"), count=self._option("cases")):
                for name in classes_of(case.operator, case.rules, case.tags, case.source):
                    found.setdefault(name, set()).add((case.id, case.summary))
        return {name: frozenset(keys) for name, keys in sorted(found.items())}

    def _make_report(self) -> Report:
        return runner.run(
            self._option("backend"),
            self._suites,
            seed=self._option("seed"),
            cases=self._option("cases"),
            profile=self._option("profile"),
            timeout=self._option("timeout"),
            valid_only=self._option("valid-only"),
            waivers=self._option("waivers"),
            explain=not self._option("no-explain"),
            power=True,
            out=self.folder,
        )


def _result_of(make: Callable[[], _Made], to_json: Callable[[_Made], Any]) -> dict[str, Any]:
    try:
        return {"made": to_json(make())}
    except Error as error:
        parts = {"message": error.message, "field": error.field, "value": error.value, "rule": error.rule}
        return {"error": parts}


def _classes_to_json(classes: dict[str, frozenset[Key]]) -> dict[str, list[Key]]:
    return {name: sorted(keys) for name, keys in classes.items()}


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """No other process is inside meanwhile."""
    with open(file, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
