"""What a run found, as Python objects: from the report.json that the program writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional, get_args

from qconform import html, words

RIGHT: frozenset[words.VerdictKind] = frozenset(get_args(words.RightVerdict))
FAILING: frozenset[words.VerdictKind] = frozenset(get_args(words.FailingVerdict))


@dataclass(frozen=True)
class Element:
    """A wrong element of an output."""

    index: tuple[int, ...]
    got: str
    #: the right values: "{214}"
    admissible: str
    #: the value before rounding, as integer and fraction; may be empty
    exact: str
    #: to the nearest right value; None where they cannot be compared
    distance: Optional[float]
    #: of several outputs, which
    output: int = 0

    def __str__(self) -> str:
        place = ",".join(map(str, self.index))
        exact = f", exact {self.exact}" if self.exact else ""
        return f"y[{place}] got {self.got}{exact}, admissible {self.admissible}"


@dataclass(frozen=True)
class Defect:
    """A known defect that explains a failure, or comes near it."""

    id: str
    description: str
    rule: str
    #: where to look
    stages: str
    #: public reports of the same
    evidence: str


@dataclass(frozen=True)
class Finding:
    """All failing cases of a backend in an operator that have one cause, with the smallest of them."""

    id: str
    backend: str
    operator: str
    verdict: words.VerdictKind
    #: names the defect, the same from run to run
    signature: str
    cases: int
    detail: str
    elements: int
    wrong_elements: int
    worst: Optional[Element]
    #: empty where none was looked for
    status: Literal[words.Status, ""]
    defects: tuple[Defect, ...]
    #: in which cases it fails
    when: tuple[str, ...]
    #: shapes and attributes of the smallest case
    summary: str
    note: str
    #: what the backend printed
    log: str
    #: of a crash: the signal, and the function
    place: str
    #: the smallest case
    file: Path
    #: the same as a model, and as a folder of ONNX's backend tests
    model_file: Path
    test_folder: Path
    #: the line that runs it again
    replay: str
    document: Mapping[str, Any] = field(repr=False)

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules that it breaks, where they are known."""
        of_defects = tuple(dict.fromkeys(defect.rule for defect in self.defects if defect.rule))
        kind, _, rule = self.signature.partition(":")
        return of_defects or ((rule,) if rule and kind == "not-rejected" else ())

    @property
    def why(self) -> str:
        """The cause, in words."""
        causes = "; and ".join(defect.description for defect in self.defects)
        return f"{self.status}: {causes}" if causes else self.status

    def facts(self) -> list[tuple[str, str]]:
        """What is known of it, as pairs of a word and a text."""
        worst = f"; {self.worst}" if self.worst else ""
        known = ", ".join(defect.evidence for defect in self.defects if defect.evidence)
        facts = [
            ("why", self.why),
            ("when", ", ".join(self.when)),
            ("look at", ", ".join(defect.stages for defect in self.defects)),
            ("known", known),
            ("smallest", self.summary + worst),
            ("what", self.detail),
            ("place", self.place),
            ("printed", self.log.strip().rpartition("\n")[2]),
            ("replay", self.replay),
        ]
        return [(word, text) for word, text in facts if text]

    @property
    def title(self) -> str:
        """One line."""
        rules = f" ({', '.join(self.rules)})" if self.rules else ""
        cases = "1 case" if self.cases == 1 else f"{self.cases:,} cases"
        cause = f", {self.signature}" if self.status else ""
        return f"{self.verdict}{cause}{rules}   {self.operator} on {self.backend}   {cases}"

    def __str__(self) -> str:
        return "\n".join([f"{self.id} {self.title}", *(f"  {word:<9} {text}" for word, text in self.facts())])

    def _repr_html_(self) -> str:
        return html.finding(self)


@dataclass(frozen=True)
class OperatorResult:
    """Cases of one backend in one operator."""

    cases: int
    verdicts: Mapping[words.VerdictKind, int]
    elements: int
    wrong_elements: int
    #: why valid cases were declined, and outputs prove nothing: cases by reason
    unsupported_reasons: Mapping[str, int]
    vacuous_reasons: Mapping[str, int]
    not_judged_reasons: Mapping[str, int]
    #: failing cases in none of the findings: their cause was not determined
    undetermined: int = 0

    @property
    def failing(self) -> int:
        """Cases that mean that the backend does not conform."""
        return sum(count for verdict, count in self.verdicts.items() if verdict in FAILING)


@dataclass(frozen=True)
class Power:
    """How many defect models, each in one operator as a mutant, the cases detect that a backend computed."""

    killed: int
    #: mutants that some case detects which the backend takes
    apply: int
    #: further mutants of its operators, which no known case that it takes shows
    not_shown: int
    #: those that apply and were not killed
    survivors: tuple[str, ...]

    def __str__(self) -> str:
        return f"detection power on this contract: {self.killed} of {self.apply} mutants that apply"


@dataclass(frozen=True)
class BackendResult:
    """What became of one backend."""

    name: str
    version: str
    kind: str
    conforms: bool
    #: the same in words, "not fused", "nothing was judged"
    conclusion: str
    #: on what it conforms
    scope: str
    seconds: float
    #: why later cases were not sent; empty where all were
    stopped: str
    operators: Mapping[str, OperatorResult]
    #: runs that something outside of the backend ended, by how; each case ran again and was judged by that
    lost: Mapping[str, int]
    #: None where nobody asked for it
    power: Optional[Power] = None

    def count(self, verdict: words.VerdictKind) -> int:
        """Cases with this verdict."""
        return sum(result.verdicts.get(verdict, 0) for result in self.operators.values())


@dataclass(frozen=True)
class CaseResult:
    """What became of one case, by backend."""

    suite: str
    operator: str
    id: str
    summary: str
    verdicts: Mapping[str, words.VerdictKind]
    #: id of the finding that the case counts to, of backends that fail
    findings: Mapping[str, str]


@dataclass(frozen=True)
class Layer:
    """A layer of a model that ran as a whole."""

    id: str
    state: words.LayerState
    #: that were judged
    elements: int
    wrong_elements: int
    worst: Optional[Element]
    #: id of the finding that has it; empty where it is not wrong
    finding: str


@dataclass(frozen=True)
class Report:
    """What a run found. `print(report)` shows the summary, a notebook shows tables."""

    conforms: bool
    backends: tuple[BackendResult, ...]
    findings: tuple[Finding, ...]
    seed: int
    #: cases by suite
    suites: Mapping[str, int]
    #: where report.json, report.html and the cases of the findings lie
    folder: Path
    #: the summary as the program prints it
    text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @property
    def cases(self) -> int:
        """Cases of all suites."""
        return sum(self.suites.values())

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Layers in the order of the model; none where no model ran as a whole."""
        return tuple(
            Layer(
                id=entry["id"],
                state=entry["state"],
                elements=entry["elements"],
                wrong_elements=entry.get("wrong_elements", 0),
                worst=element(entry.get("worst")),
                finding=entry.get("finding", ""),
            )
            for entry in self.document.get("model", {}).get("layers", [])
        )

    def results(self) -> Iterator[CaseResult]:
        """Single cases, at most 20,000: of longer runs the latest passing ones are left out."""
        yield from _case_results(self.document)

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return html.report(self)


def read(folder: Path, text: str, names: Mapping[str, str], replay: Mapping[str, str]) -> Report:
    """The report in `folder`, whose backends the program knows by the keys of `names`.

    `replay` has for some of them what stands in the place of the replay line: "{}" in it is the case's file.
    """
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for finding in document["findings"]:
        pattern = replay.get(finding["backend"])
        if pattern is not None:
            line = pattern.format(str(folder / finding["example"]["file"]))
            text = text.replace(finding["replay"], line)
            finding["replay"] = line
    lines = [str(finding.get("replay", "")) for finding in document["findings"]]
    _rename(document, text, names)
    return _made(document, _renamed_text(text, names, lines), folder)


def _made(document: Mapping[str, Any], text: str, folder: Path) -> Report:
    return Report(
        conforms=document["conforms"],
        backends=tuple(_backend(entry) for entry in document["backends"]),
        findings=tuple(_finding(entry, folder) for entry in document["findings"]),
        seed=document["seed"],
        suites={suite["name"]: suite["cases"] for suite in document["suites"]},
        folder=folder,
        text=text,
        document=document,
    )


def to_json(report: Report) -> dict[str, Any]:
    """The report as another process can make it again."""
    return {"document": report.document, "text": report.text, "folder": str(report.folder)}


def from_json(value: Mapping[str, Any]) -> Report:
    """The report that `to_json` has written."""
    return _made(value["document"], value["text"], Path(value["folder"]))


def _rename(document: dict[str, Any], text: str, names: Mapping[str, str]) -> None:
    for backend in document["backends"]:
        backend["name"] = names.get(backend["name"], backend["name"])
    for finding in document["findings"]:
        finding["backend"] = names.get(finding["backend"], finding["backend"])
    for backend in document.get("results", {}).get("backends", []):
        backend["name"] = names.get(backend["name"], backend["name"])


def _renamed_text(text: str, names: Mapping[str, str], replay_lines: list[str]) -> str:
    """The summary with the names; replay lines keep the command."""
    lines = []
    for line in text.splitlines():
        if not any(replay and replay in line for replay in replay_lines):
            for command, name in names.items():
                line = line.replace(command, name)
        lines.append(line)
    return "\n".join(lines) + "\n"


def element(entry: Optional[Mapping[str, Any]]) -> Optional[Element]:
    """A wrong element, from the documents of the program."""
    if entry is None:
        return None
    return Element(
        index=tuple(entry["index"]),
        got=entry["got"],
        admissible=entry["admissible"],
        exact=entry.get("exact", ""),
        distance=entry["distance"] if isinstance(entry["distance"], (int, float)) else None,
        output=entry.get("output", 0),
    )


def defects(entries: list[Mapping[str, Any]]) -> tuple[Defect, ...]:
    """Defects, from the documents of the program."""
    return tuple(
        Defect(
            id=entry["id"],
            description=entry["description"],
            rule=entry.get("rule", ""),
            stages=", ".join(entry["stages"]) if isinstance(entry["stages"], list) else entry["stages"],
            evidence=entry.get("evidence", ""),
        )
        for entry in entries
    )


def _finding(entry: Mapping[str, Any], folder: Path) -> Finding:
    diagnosis = entry.get("diagnosis") or {}
    example = entry["example"]
    return Finding(
        id=entry["id"],
        backend=entry["backend"],
        operator=entry["operator"],
        verdict=entry["verdict"],
        signature=entry["signature"],
        cases=entry["cases"],
        detail=entry["detail"],
        elements=entry["elements"],
        wrong_elements=entry["wrong_elements"],
        worst=element(entry.get("worst")),
        status=diagnosis.get("status", ""),
        defects=defects(diagnosis.get("defects", [])),
        when=tuple((diagnosis.get("region") or {}).get("conditions", [])),
        summary=example["summary"],
        note=example.get("note", ""),
        log=entry.get("log", ""),
        place=entry.get("place", ""),
        file=folder / example["file"],
        model_file=folder / example["model"],
        test_folder=folder / example["folder"],
        replay=entry["replay"],
        document=entry,
    )


def _backend(entry: Mapping[str, Any]) -> BackendResult:
    return BackendResult(
        name=entry["name"],
        version=entry["version"],
        kind=entry["kind"],
        conforms=entry["conforms"],
        conclusion=entry["conclusion"],
        scope=entry.get("scope", ""),
        seconds=entry["seconds"],
        stopped=entry.get("stopped", ""),
        lost=entry.get("lost", {}),
        operators={name: _operator(result) for name, result in entry["operators"].items()},
        power=_power(entry.get("power")),
    )


def _power(entry: Optional[Mapping[str, Any]]) -> Optional[Power]:
    if entry is None:
        return None
    return Power(entry["killed"], entry["apply"], entry["not_shown"], tuple(entry.get("survivors", [])))


def _operator(entry: Mapping[str, Any]) -> OperatorResult:
    return OperatorResult(
        cases=entry["cases"],
        verdicts=entry["verdicts"],
        elements=entry["elements"],
        wrong_elements=entry["wrong_elements"],
        unsupported_reasons=entry["unsupported_reasons"],
        vacuous_reasons=entry["vacuous_reasons"],
        not_judged_reasons=entry.get("not_judged_reasons", {}),
        undetermined=entry.get("undetermined", 0),
    )


def _case_results(document: Mapping[str, Any]) -> Iterator[CaseResult]:
    results = document.get("results") or {}
    backends = results.get("backends", [])
    found: list[dict[int, str]] = []
    for backend in backends:
        failures = backend["failures"]
        found.append(dict(zip(failures["row"], failures["finding"])))
    for row, case_id in enumerate(results.get("id", [])):
        yield CaseResult(
            suite=results["suites"][results["suite"][row]],
            operator=results["operators"][results["operator"][row]],
            id=case_id,
            summary=results["summary"][row],
            verdicts={b["name"]: results["verdicts"][b["verdict"][row]] for b in backends},
            findings={b["name"]: str(rows[row]) for b, rows in zip(backends, found) if row in rows},
        )
