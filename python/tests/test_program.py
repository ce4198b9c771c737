"""The program inside the package, and errors."""

import pickle
import subprocess
import sys

import pytest

import qconform
from qconform import _native, _program, errors


def test_the_module_is_the_program():
    told = subprocess.run([sys.executable, "-m", "qconform", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"qconform {_native.facts()['version']}\n"
    wrong = subprocess.run(
        [sys.executable, "-m", "qconform", "run", "--suite", "nothing"], capture_output=True, text=True
    )
    assert wrong.returncode == _program.FAULT


def test_the_programs_errors_become_exceptions():
    with pytest.raises(qconform.Error) as caught:
        _program.run(["replay", "/nowhere.json", "--backend", "scalar"])
    assert caught.value.field == "/nowhere.json"


def test_an_error_is_read_from_its_text():
    error = errors.from_text("noise\nqconform: pads: expected 4 values, got 3 [rule C8]\n", "x")
    assert (error.field, error.value, error.rule, error.message) == ("pads", "x", "C8", "expected 4 values, got 3")
    assert str(error) == "pads: expected 4 values, got 3 [rule C8]"
    plain = errors.from_text("qconform: no memory\n")
    assert (plain.field, plain.message) == ("", "no memory")


def test_an_error_passes_between_processes():
    error = pickle.loads(pickle.dumps(qconform.Error("expected 1", field="f", value="v", rule="C1")))
    assert (error.field, error.value, error.rule, error.message) == ("f", "v", "C1", "expected 1")


def test_a_library_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("QCONFORM_PYTHON_LIBRARY", "/nowhere.so")
    with pytest.raises(qconform.Error) as caught:
        _program.library()
    assert (caught.value.field, caught.value.value) == ("QCONFORM_PYTHON_LIBRARY", "/nowhere.so")


def test_names_of_profiles_and_suites_are_the_programs():
    for kind in ("profiles", "suites"):
        listed = [entry["name"] for entry in _program.run_json(["list", kind])]
        assert [entry["name"] for entry in _native.facts()[kind]] == listed
