"""Reports, findings and verdicts as HTML for notebooks: small tables without scripts, made of text alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Optional

from qconform import words

if TYPE_CHECKING:
    from qconform.report import BackendResult, Finding, Report

# Notebooks have a light or a dark page: no colour is that of the page or of its text.
_GOOD, _BAD, _MUTED = "#1a7f37", "#cf222e", "#6e7781"
_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"
_NUMBER = "text-align:right;padding:2px 12px 2px 0;vertical-align:top"
_CODE = "font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere"

#: Columns of the table of a report, and the verdicts that they count.
_COLUMNS: Mapping[str, Optional[tuple[words.VerdictKind, ...]]] = {
    "right": ("pass",),
    "wrong": None,
    "refused": ("refused",),
    "declined": ("unsupported",),
    "not asked": ("not-asked",),
    "vacuous": ("vacuous",),
    "not judged": ("not-judged",),
}


def conclusion(conforms: bool, text: str) -> str:
    """A line with a mark and a word, and a colour beside them."""
    mark, colour = ("✓", _GOOD) if conforms else ("✗", _BAD)
    return f'<p style="margin:4px 0"><b style="color:{colour}">{mark}</b> {escape(text)}</p>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text; cells that are numbers stand to the right."""
    lines = [f"<tr>{''.join(_cell(cell, 'th') for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(_cell(cell, 'td') for cell in row)}</tr>" for row in rows]
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs of a word and a text."""
    rows = [
        f'<tr><th scope="row" style="{_CELL};color:{_MUTED};font-weight:normal">{escape(word)}</th>'
        f'<td style="{_CELL};{_CODE}">{escape(text)}</td></tr>'
        for word, text in pairs
    ]
    return f'<table style="border-collapse:collapse">{"".join(rows)}</table>'


def finding(found: Finding) -> str:
    """A finding: its line, and below it what is known."""
    title = f'<p style="margin:4px 0"><b>{escape(found.id)}</b> {escape(found.title)}</p>'
    return f"<div>{title}{facts(found.facts())}</div>"


def report(made: Report) -> str:
    """A report: the conclusion, cases by verdict, and findings to be unfolded."""
    parts = [_backend(backend) for backend in made.backends]
    if made.findings:
        count = len(made.findings)
        parts.append(f'<p style="margin:8px 0 4px">{count} {"finding" if count == 1 else "findings"}</p>')
    for found in made.findings:
        title = f"<summary><b>{escape(found.id)}</b> {escape(found.title)}</summary>"
        parts.append(f"<details>{title}{facts(found.facts())}</details>")
    where = f"{made.cases:,} cases, seed {made.seed}; the whole report: {made.folder / 'report.html'}"
    parts.append(f'<p style="margin:8px 0;color:{_MUTED}">{escape(where)}</p>')
    return f"<div>{''.join(parts)}</div>"


def _backend(backend: BackendResult) -> str:
    title = f"{backend.name} {backend.version}".strip()
    word = backend.conclusion
    rows = []
    for operator, result in backend.operators.items():
        counts = [
            result.failing if kinds is None else sum(result.verdicts.get(kind, 0) for kind in kinds)
            for kinds in _COLUMNS.values()
        ]
        rows.append([operator, *(f"{count:,}" for count in counts)])
    scope = f": {backend.scope}" if backend.scope and backend.conforms else ""
    return conclusion(backend.conforms, f"{title} {word}{scope}") + table(["cases", *_COLUMNS], rows)


def _cell(text: str, tag: str) -> str:
    is_number = text.replace(",", "").isdigit() or tag == "th"
    scope = ' scope="col"' if tag == "th" else ""
    style = _NUMBER if is_number and text != "cases" else _CELL
    return f'<{tag}{scope} style="{style}">{escape(text)}</{tag}>'
