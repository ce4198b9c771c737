"""Exported cases in ONNX's own test runner, compared with their sets of right values.

    qconform export --suite corpus --format onnx-test --admissible -o cases

    import onnx.backend.test, qconform.onnx_runner
    globals().update(qconform.onnx_runner.backend_test(MyBackend, "cases").test_cases)

ONNX's runner compares with tolerances. Where a folder has admissible.json (docs/formats.md), this one takes what lies
in the sets, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union
from unittest import mock

import ml_dtypes
import numpy as np
import onnx.backend.test.runner as onnx_runner
from onnx.backend.test.case.test_case import TestCase

from qconform import _native
from qconform._tensors import Array
from qconform.errors import Error
from qconform.evaluate import Values

#: Element types by the names of case JSON.
_DTYPES: dict[str, Any] = {
    "float": np.float32,
    "double": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
}


class Admissible:
    """The right values of a case, as a file beside it states them."""

    def __init__(self, file: Path) -> None:
        """Read admissible.json."""
        stated = json.loads(file.read_text(encoding="utf-8"))
        if (stated.get("format"), stated.get("version")) != ("qconform-admissible", 1):
            raise Error(
                "expected the format qconform-admissible, version 1", field=str(file), value=str(stated.get("format"))
            )
        #: "valid", "implementation-defined", "invalid"
        self.expectation: str = stated["expectation"]
        self.outputs: list[Mapping[str, Any]] = stated["outputs"]

    def sets(self, number: int) -> list[Values]:
        """The distinct sets of an output, to which "elements" refer."""
        stated = self.outputs[number]
        return [_values_of(entry, _dtype_of(stated["type"])) for entry in stated["sets"]]

    def wrong(self, number: int, output: Any) -> Optional[str]:
        """What is wrong with an output; None where nothing is."""
        stated = self.outputs[number]
        array = np.asarray(output)
        dtype = _dtype_of(stated["type"])
        if array.dtype != dtype or list(array.shape) != stated["shape"]:
            return f"expected {stated['type']} {stated['shape']}, got {array.dtype} {list(array.shape)}"
        sets = self.sets(number)
        flat = array.reshape(-1)
        for place, right in enumerate(stated["elements"]):
            if flat[place] not in sets[right]:
                index = [int(i) for i in np.unravel_index(place, array.shape)] if array.shape else []
                return f"{stated['name']}{index} is {flat[place]!s}, admissible {stated['sets'][right]}"
        return None


class FolderRunner(onnx_runner.Runner):
    """ONNX's runner, which compares with sets where a folder states them."""

    @classmethod
    def assert_similar_outputs(
        cls,
        ref_outputs: Sequence[Any],
        outputs: Sequence[Any],
        rtol: float,
        atol: float,
        model_dir: Optional[str] = None,
    ) -> None:
        """Called by the runner for each data set."""
        file = Path(model_dir or "") / "test_data_set_0" / "admissible.json"
        if model_dir is None or not file.is_file():
            super().assert_similar_outputs(ref_outputs, outputs, rtol, atol, model_dir)
            return
        right = Admissible(file)
        np.testing.assert_equal(len(outputs), len(right.outputs))
        for number, output in enumerate(outputs):
            wrong = right.wrong(number, output)
            if wrong is not None:
                raise AssertionError(wrong)


def backend_test(
    backend: Any, folder: Union[str, os.PathLike[str]], parent_module: Optional[str] = None
) -> FolderRunner:
    """ONNX's runner for a backend on the folders below `folder`, and on no other tests.

    Cases that must be refused have no output, and those that may be refused allow an error: ONNX's runner can state
    neither, and they are left out.
    """
    cases = list(_cases_below(Path(folder)))
    if not cases:
        raise Error(
            "expected folders with model.onnx and test_data_set_0/output_0.pb", field="folder", value=str(folder)
        )

    def load(*_: Any, kind: Optional[str] = None, **__: Any) -> list[TestCase]:
        return cases if kind == "node" else []

    with mock.patch.object(onnx_runner, "load_model_tests", load):
        return FolderRunner(backend, parent_module)


def _cases_below(folder: Path) -> Iterator[TestCase]:
    for model in sorted(folder.glob("*/model.onnx")):
        data = model.parent / "test_data_set_0"
        stated = data / "admissible.json"
        must_compute = not stated.is_file() or Admissible(stated).expectation == "valid"
        if (data / "output_0.pb").is_file() and must_compute:
            yield TestCase(
                name=f"test_{model.parent.name}".replace("-", "_"),
                model_name=model.parent.name,
                url=None,
                model_dir=str(model.parent),
                model=None,
                data_sets=None,
                kind="node",
                rtol=0,
                atol=0,
            )


def _dtype_of(name: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(_DTYPES.get(name, name))
    return dtype


def _values_of(entry: Mapping[str, Any], dtype: np.dtype[Any]) -> Values:
    flags = (
        (_native.ANY_VALUE if entry.get("any_value") else 0)
        | (_native.ANY_NAN if entry.get("any_nan") else 0)
        | (_native.EITHER_ZERO if entry.get("either_zero") else 0)
    )
    ranges = [(_element(low, dtype), _element(high, dtype)) for low, high in entry.get("ranges", [])]
    return Values(dtype, ranges, flags, str(entry))


def _element(value: Any, dtype: np.dtype[Any]) -> Any:
    """An element as case JSON writes it: a number, or its pattern."""
    if isinstance(value, str) and value.startswith("0x"):
        pattern: Array = np.array([int(value, 16)], dtype=f"u{dtype.itemsize}")
        return pattern.view(dtype)[0]
    return np.array([float(value) if isinstance(value, str) else value]).astype(dtype)[0]
