"""Further commands of the program: fuzz, matrix, bisect, model, gate."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

import numpy as np
import onnx

from qconform import report as reports
from qconform import words
from qconform._tensors import ArrayLike
from qconform.progress import Watcher
from qconform.report import Report
from qconform.runner import CaseLike, asked, file_of, folder_for, judged

PathLike = Union[str, "os.PathLike[str]"]
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class MatrixCell:
    """What a cause is in one backend."""

    backend: str
    state: words.CellState
    #: failing ones
    cases: int = 0
    #: id in the report
    finding: str = ""
    replay: str = ""


@dataclass(frozen=True)
class MatrixRow:
    """A cause of failure in the backends of one library."""

    library: str
    operator: str
    verdict: words.VerdictKind
    signature: str
    cells: tuple[MatrixCell, ...]
    #: signatures of the same cases in other backends
    also: tuple[str, ...] = ()
    #: the first and the last backend that has it, where one before or after is right
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class Matrix:
    """Causes of failure by backend. `print(matrix)` shows the table."""

    rows: tuple[MatrixRow, ...]
    report: Report

    def __str__(self) -> str:
        return str(self.report)


@dataclass(frozen=True)
class Release:
    """What one backend makes of the case."""

    backend: str
    version: str
    verdict: words.VerdictKind
    detail: str


@dataclass(frozen=True)
class TurningPoint:
    """Two neighbours among the backends that compute the case: one is right, and the other is not."""

    change: words.Turn
    before: str
    after: str


@dataclass(frozen=True)
class Bisection:
    """Which release broke a case, and which mended it."""

    releases: tuple[Release, ...]
    changes: tuple[TurningPoint, ...]


@dataclass(frozen=True)
class Change:
    """One difference between two reports."""

    effect: words.Effect
    #: the kind of change (docs/gate.md)
    what: str
    backend: str
    operator: str
    #: of a finding; else the suite, corner case, relation or layer
    signature: str
    #: conditions under which the finding occurs
    region: str
    #: id in the new report
    finding: str
    text: str

    def __str__(self) -> str:
        place = " ".join(word for word in (self.backend, self.operator) if word)
        return f"{self.effect}: {place}: {self.text}" if place else f"{self.effect}: {self.text}"


@dataclass(frozen=True)
class Cause:
    """A cause of failure in either report."""

    state: words.CauseState
    backend: str
    operator: str
    verdict: words.VerdictKind
    signature: str
    text: str
    findings: tuple[str, ...]
    findings_before: tuple[str, ...]
    cases: int
    cases_before: int


@dataclass(frozen=True)
class Gate:
    """How a report differs from a baseline. It is true where nothing got worse."""

    passes: bool
    same_cases: bool
    #: the worst first
    changes: tuple[Change, ...]
    causes: tuple[Cause, ...]
    document: Mapping[str, Any] = field(repr=False)

    def __bool__(self) -> bool:
        return self.passes

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes)) or "nothing changed"


def fuzz(
    backend: Any,
    *,
    cases: Optional[int] = None,
    for_: Optional[str] = None,
    name: Optional[str] = None,
    waivers: Optional[PathLike] = None,
    out: Optional[PathLike] = None,
    progress: Union[bool, Watcher, None] = None,
    **options: Any,
) -> Report:
    """Judge backends on drawn cases, until there are `cases` or the time `for_` is over: "90s", "10m", "8h".

    Without either it runs until Ctrl-C, which raises `qconform.Interrupted` with the report. The options are those of
    `qconform fuzz`, and the other arguments those of `qconform.run`.
    """
    given = {"cases": cases, "for": for_, **options}
    return judged("fuzz", backend, given, name=name, waivers=waivers, out=out, progress=progress)


def matrix(
    backends: Any,
    suites: Union[str, Sequence[str]] = "conformance",
    *,
    waivers: Optional[PathLike] = None,
    out: Optional[PathLike] = None,
    progress: Union[bool, Watcher, None] = None,
    **options: Any,
) -> Matrix:
    """Judge releases or backends side by side, the oldest first. The options are those of `qconform matrix`."""
    report = judged("matrix", backends, {"suite": suites, **options}, waivers=waivers, out=out, progress=progress)
    document = json.loads((report.folder / "matrix.json").read_text(encoding="utf-8"))
    names = _names_in(report)
    replays = {finding.id: finding.replay for finding in report.findings}
    rows = []
    for row in document["rows"]:
        for cell in row["cells"]:
            cell.update(backend=names[cell["backend"]], replay=replays.get(cell.get("finding"), ""))
        row.update({key: names.get(row[key], row[key]) for key in ("library", "since", "until") if key in row})
        rows.append(_made(MatrixRow, dict(row, cells=[_made(MatrixCell, cell) for cell in row["cells"]])))
    return Matrix(tuple(rows), report)


def bisect(backends: Any, case: CaseLike, *, progress: Union[bool, Watcher, None] = None, **options: Any) -> Bisection:
    """Find which of some backends, the oldest first, broke a case: a range of releases, or a list.

    The options are those of `qconform bisect`.
    """
    with file_of(case) as file:
        text, opened = asked("bisect", [file], backends, {"json": True, **options}, progress)
    document = json.loads(text)
    names = {one.name: one.shown for one in opened}
    releases = [dict(entry, backend=names.get(entry["backend"], entry["backend"])) for entry in document["backends"]]
    changes = [
        TurningPoint(entry["change"], *(names.get(entry[key], entry[key]) for key in ("before", "in")))
        for entry in document["changes"]
    ]
    return Bisection(tuple(_made(Release, entry) for entry in releases), tuple(changes))


def model(
    model: Union[PathLike, onnx.ModelProto],
    backend: Any = "onnxruntime@all",
    *,
    inputs: Union[PathLike, Sequence[PathLike], Mapping[str, ArrayLike], None] = None,
    out: Optional[PathLike] = None,
    progress: Union[bool, Watcher, None] = None,
    **options: Any,
) -> tuple[Report, ...]:
    """Run a whole model in ONNX Runtime, and judge each quantized layer on the inputs that reached it.

    backend: ONNX Runtime and its setting, or a list of them.
    inputs: arrays by the names of the model's inputs, or files of them; else they are drawn.
    options: those of `qconform model`.

    There is a report for each setting and sample; its `layers` are those of the model.
    """
    folder = folder_for(out)
    with file_of(model) as file, _files_of(inputs) as files:
        given = {"inputs": files, "out": folder, **options}
        text, opened = asked("model", [file], backend, given, progress)
    names = {one.name: one.shown for one in opened}
    parts = re.split(r"^(?=qconform \d)", text, flags=re.M)[1:]
    written = [Path(file).parent for file in re.findall(r"^report (.*)$", text, re.M)]
    return tuple(reports.read(folder, part, names, {}) for folder, part in zip(written, parts))


def gate(report: Union[Report, PathLike], baseline: Union[Report, PathLike], **options: Any) -> Gate:
    """Compare a report with a baseline: reports, or files of them. The options are those of `qconform gate`."""
    change, before = (one.folder / "report.json" if isinstance(one, Report) else one for one in (report, baseline))
    document = json.loads(asked("gate", [change], [], {"baseline": before, "json": True, **options})[0])
    names = {name: shown for one in (baseline, report) for name, shown in _names_in(one).items()}
    for entry in [*document["changes"], *document["causes"]]:
        entry["backend"] = names.get(entry["backend"], entry["backend"])
    return Gate(
        passes=document["passes"],
        same_cases=document["same_cases"],
        changes=tuple(_made(Change, entry) for entry in document["changes"]),
        causes=tuple(_made(Cause, entry) for entry in document["causes"]),
        document=document,
    )


def _names_in(report: Union[Report, PathLike]) -> dict[str, str]:
    """How a report calls its backends, by the names that its file has for them."""
    if not isinstance(report, Report):
        return {}
    written = json.loads((report.folder / "report.json").read_text(encoding="utf-8"))["backends"]
    return {entry["name"]: backend.name for entry, backend in zip(written, report.backends)}


def _made(kind: type[_Made], entry: Mapping[str, Any]) -> _Made:
    """The object whose fields the entry of a document has."""
    names = [one.name for one in dataclasses.fields(kind)]  # type: ignore[arg-type]
    values = {name: entry[name] for name in names if name in entry}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


@contextlib.contextmanager
def _files_of(inputs: Any) -> Iterator[Any]:
    """The inputs of a model as files, while the `with` lasts."""
    if not isinstance(inputs, Mapping):
        yield inputs
        return
    with tempfile.TemporaryDirectory(prefix="qconform-") as folder:
        file = Path(folder) / "inputs.npz"
        arrays: dict[str, Any] = {name: np.asarray(array) for name, array in inputs.items()}
        np.savez(file, **arrays)
        yield file
