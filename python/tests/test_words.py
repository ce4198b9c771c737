"""Closed lists of words: the program has the same, and type checkers know them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import qconform
from qconform import _program, words

SCHEMAS = (Path(_program.program()).parents[1] / "schema", Path(__file__).resolve().parents[2] / "corpus" / "schema")
REPORT, GATE, MATRIX = "report-1", "gate-1", "matrix-1"
LISTS = {
    "VerdictKind": (REPORT, "$defs/verdict"),
    "Tier": (REPORT, "$defs/tiers/oneOf/1/properties/common/items"),
    "Status": (REPORT, "$defs/diagnosis/properties/status"),
    "Ending": (REPORT, "$defs/finding/properties/shrinking/properties/ending"),
    "Stated": ("cases-1", "$defs/expectation"),
    "Overflow": (REPORT, "properties/overflow"),
    "LayerState": (REPORT, "$defs/model_layer/properties/state"),
    "Effect": (GATE, "properties/changes/items/properties/effect"),
    "CauseState": (GATE, "$defs/cause/properties/state"),
    "CellState": (MATRIX, "properties/rows/items/properties/cells/items/properties/state"),
}
#: `shrink` says it, and `run` does not.
OF_SHRINK = {"does-not-fail"}


@pytest.mark.parametrize("name", LISTS)
def test_the_words_are_those_of_the_program(name):
    schema, place = LISTS[name]
    (file,) = (folder / f"{schema}.schema.json" for folder in SCHEMAS if (folder / f"{schema}.schema.json").is_file())
    found = json.loads(file.read_text())
    for key in place.split("/"):
        found = found[int(key) if isinstance(found, list) else key]
    known = get_args(getattr(words, name))
    assert len(known) == len(set(known))
    assert set(known) - OF_SHRINK == set(found["enum"])


def test_every_verdict_is_right_or_failing_or_judges_nothing():
    from qconform import report

    assert set(get_args(words.VerdictKind)) - report.RIGHT - report.FAILING == {
        "unsupported",
        "not-asked",
        "not-judged",
    }
    assert not report.RIGHT & report.FAILING


def test_a_type_checker_tells_a_word_that_is_none(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(
        "import qconform\n"
        "def count(report: qconform.Report, kind: qconform.words.VerdictKind) -> int:\n"
        "    right = [found for found in report.findings if found.verdict == 'wrong']\n"
        "    return len(right) + report.backends[0].count(kind) + report.backends[0].count('wrnog')\n"
    )
    environment = dict(os.environ, MYPYPATH=str(Path(qconform.__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "user.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout.count("error:") == 1, done.stdout + done.stderr
    assert (
        'user.py:4: error: Argument 1 to "count" of "BackendResult" has incompatible type "Literal[\'wrnog\']"'
        in done.stdout
    )
