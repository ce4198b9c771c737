"""The program inside the package: where it lies, and how it is run."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional

from qconform.errors import Error, from_text

_HERE = Path(__file__).resolve().parent

#: Exit codes of every command: the backend conforms, it does not, the arguments or the harness are at fault.
CONFORMS, DOES_NOT_CONFORM, FAULT = 0, 1, 2


def _carried(path: str, variable: str, what: str) -> Path:
    """`path` in the package, or what the environment names, for a package that runs from its sources."""
    chosen = os.environ.get(variable)
    file = Path(chosen) if chosen else _HERE / path
    if not file.is_file():
        hint = f"${variable} names it" if chosen else f"install the wheel, or let ${variable} name {what}"
        raise Error(f"{what} is not there: {hint}", field=variable, value=str(file))
    return file


def program() -> Path:
    """The program: in the package, or where $QCONFORM_PROGRAM says."""
    return _carried("bin/qconform", "QCONFORM_PROGRAM", "the program")


def library() -> Path:
    """The library behind the functions: in the package, or where $QCONFORM_PYTHON_LIBRARY says."""
    return _carried("lib/libqconform_python.so", "QCONFORM_PYTHON_LIBRARY", "the library")


def data_folder() -> Path:
    """Corpus, schemas and waivers, in the package. The program finds them by itself."""
    return _HERE / "share" / "qconform"


def command(arguments: Iterable[str]) -> list[str]:
    """The command line of the program with these arguments."""
    return [str(program()), *arguments]


@functools.cache
def _option_lines(program: Path) -> dict[str, frozenset[str]]:
    text = subprocess.run([str(program), "completion", "bash"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^_qconform_words\['qconform (.+)'\]='(.*)'$", text, re.M)
    return {name: frozenset(words.split()) for name, words in found}


def options(command: str) -> frozenset[str]:
    """The options that the program says it has for a command: "--seed"."""
    return _option_lines(program())[command]


def run(
    arguments: Sequence[str], *, timeout: Optional[float] = None, cwd: Optional[Path] = None
) -> subprocess.CompletedProcess[str]:
    """Run the program and return what it did. Exit code 2 raises the error that it prints."""
    result = subprocess.run(
        command(arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        check=False,
    )
    check(result.returncode, result.stderr, arguments)
    return result


def run_json(arguments: Sequence[str], *, timeout: Optional[float] = None, cwd: Optional[Path] = None) -> Any:
    """Run the program with --json and return the document that it prints."""
    return json.loads(run([*arguments, "--json"], timeout=timeout, cwd=cwd).stdout)


def check(status: int, standard_error: str, arguments: Sequence[str] = ()) -> None:
    """Raise the error of a program that has ended with this exit status, unless it judged."""
    if status in (CONFORMS, DOES_NOT_CONFORM):
        return
    if status == FAULT:
        raise from_text(standard_error, value=" ".join(arguments))
    raise Error(f"the program ended with {status}: {standard_error.strip()}", value=" ".join(arguments))
