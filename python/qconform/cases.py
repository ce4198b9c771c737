"""Cases: small models with inputs, what is expected of them, and the suites that they come from."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

import onnx

from qconform import _native, _tensors, words
from qconform._tensors import Array, Inputs, Model
from qconform.errors import Error
from qconform.evaluate import Admissible, Expected, Outputs, Verdict, case_of


class Case:
    """A model with its inputs, and what is expected of whoever computes it."""

    def __init__(self, handle: _native.CaseHandle, place: str = "") -> None:
        """Of the library's case: from_model(), from_json(), load() and cases() make them. `place` is Python for it."""
        self._handle = handle
        self._place = place
        self._facts: Optional[Mapping[str, Any]] = None

    @classmethod
    def from_model(cls, model: Model, inputs: Inputs = None) -> Case:
        """Of a model that is fed these inputs."""
        return cls(case_of(model, inputs))

    @classmethod
    def from_json(cls, text: Union[str, bytes]) -> Case:
        """Of case JSON with one case (docs/formats.md)."""
        return cls(_native.CaseHandle.from_json(text.encode() if isinstance(text, str) else text))

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Case:
        """Of a file as the program writes them: case JSON (.json), or a model that holds its inputs (.onnx)."""
        file = Path(path)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise Error(error.strerror or str(error), field=str(file), value=str(file)) from error
        return cls.from_json(data) if file.suffix == ".json" else cls.from_model(data)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write FILE.json or FILE.onnx, from which load() and the program get the same case."""
        file = Path(path)
        file.write_bytes(self._handle.json() if file.suffix == ".json" else self._handle.file())

    @property
    def id(self) -> str:
        """Its name, unique within its source."""
        return str(self._fact("id"))

    @property
    def operator(self) -> str:
        """The operators of its nodes: "QLinearConv", "DequantizeLinear+Conv+QuantizeLinear"."""
        return str(self._fact("operator"))

    @property
    def summary(self) -> str:
        """Shapes and attributes on one line."""
        return str(self._fact("summary"))

    @property
    def expectation(self) -> words.Expectation:
        """What the rules ask for: "valid": compute, "implementation-defined": may be refused, "invalid": must be."""
        expectation: words.Expectation = self._fact("expectation")
        return expectation

    @property
    def remark(self) -> str:
        """What decided that; empty of a valid case."""
        remark = self._fact("remark")
        return "" if remark is None else str(remark["text"])

    @property
    def stated(self) -> words.Stated:
        """What its source expects: as `expectation`, or "unstated"."""
        stated: words.Stated = self._fact("stated")
        return stated

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules that it is about, and of the one that decided its expectation."""
        stated = list(self._fact("rules"))
        remark = self._fact("remark")
        return tuple(dict.fromkeys(stated + ([] if remark is None else [remark["rule"]])))

    @property
    def tags(self) -> tuple[str, ...]:
        """Words that its source gives it."""
        return tuple(self._fact("tags"))

    @property
    def note(self) -> str:
        """One line for the reader."""
        return str(self._fact("note"))

    @property
    def source(self) -> str:
        """Where it comes from: a suite, or a file."""
        return str(self._fact("source"))

    @property
    def digest(self) -> str:
        """A fingerprint of what it computes."""
        return str(self._fact("digest"))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the model's inputs."""
        return tuple(self._fact("inputs"))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the model's outputs."""
        return tuple(self._fact("outputs"))

    @property
    def model(self) -> onnx.ModelProto:
        """The model, as one in use: activations are its inputs, weights and parameters its initializers."""
        model: onnx.ModelProto = onnx.ModelProto.FromString(self._handle.model())
        return model

    @property
    def inputs(self) -> list[Array]:
        """An array for each input of the model."""
        return [_tensors.parse_tensor(self._handle.input(i)) for i in range(len(self.input_names))]

    @property
    def json(self) -> str:
        """Case JSON, from which from_json() gets the same case, bit for bit."""
        return self._handle.json().decode()

    def reference(self, *, profile: str = "conformance", overflow: words.Overflow = "wrap") -> list[Array]:
        """As qconform.reference()."""
        return Expected(self._handle, profile, overflow).reference()

    def admissible(self, *, profile: str = "conformance", overflow: words.Overflow = "wrap") -> list[Admissible]:
        """As qconform.admissible()."""
        return Expected(self._handle, profile, overflow).admissible()

    def judge(self, outputs: Outputs, *, profile: str = "conformance", overflow: words.Overflow = "wrap") -> Verdict:
        """As qconform.judge()."""
        return Expected(self._handle, profile, overflow).judge(outputs)

    def __eq__(self, other: object) -> bool:
        return self._handle.json() == other._handle.json() if isinstance(other, Case) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Case.from_json, (self._handle.json(),))

    def __str__(self) -> str:
        return f"{self.id}   {self.operator}, {self.summary}"

    def __repr__(self) -> str:
        return self._place or f"<qconform.Case {self}>"

    def _fact(self, name: str) -> Any:
        if self._facts is None:
            self._facts = self._handle.facts()
        return self._facts[name]


class Cases(Iterator[Case]):
    """The cases of a suite, one after the other."""

    def __init__(self, suite: str, seed: int = 1, count: Optional[int] = None) -> None:
        """`suite`, `seed`, `count`: as of cases()."""
        if not 0 <= seed < 1 << 64:
            raise Error("expected a number from 0 to 2^64 - 1", field="seed", value=str(seed))
        if count is not None and count < 0:
            raise Error("expected 0 or more", field="count", value=str(count))
        self._handle = _native.SuiteHandle.open(suite, seed, count)
        self._suite, self._seed, self._left = suite, seed, count
        self._taken = 0

    def __getitem__(self, index: int) -> Case:
        """Case `index` of the suite, whichever have been taken. It is counted from 0, and all before it are made."""
        if index >= 0:
            for case in itertools.islice(Cases(self._suite, self._seed, index + 1), index, None):
                return case
        raise IndexError(f"{self._suite} has no case {index}")

    def __next__(self) -> Case:
        if self._left == 0:
            raise StopIteration
        handle = self._handle.next()
        if handle is None:
            raise StopIteration
        if self._left is not None:
            self._left -= 1
        seed = "" if self._seed == 1 else f", seed={self._seed}"
        self._taken += 1
        return Case(handle, f"qconform.cases({self._suite!r}{seed})[{self._taken - 1}]")

    @property
    def sources(self) -> tuple[str, ...]:
        """What the suite is made of."""
        return tuple(self._handle.facts()["sources"])

    @property
    def skipped(self) -> dict[str, int]:
        """What was no case so far, by reason."""
        return dict(self._handle.facts()["skipped"])

    def __length_hint__(self) -> int:
        size = self._handle.facts()["size"]
        known = 0 if size is None else int(size)
        return known if self._left is None else min(known, self._left)


def cases(suite: str, seed: int = 1, count: Optional[int] = None) -> Cases:
    """Iterate over the cases of a suite: `qconform list suites`, or a file or folder of cases.

    The same seed gives the same cases on every machine. `count` ends after so many; `cases(suite)[7]` is one of them.
    """
    return Cases(suite, seed, count)
