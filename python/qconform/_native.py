"""The library behind the functions, by ctypes: python/native/interface.h says what each call does.

ctypes releases the interpreter's lock during every call, and the library may be called from any thread.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Sequence
from typing import Any, Callable, Optional

from qconform import _program
from qconform.errors import Error

_INTERFACE = 1

ANY_VALUE, ANY_NAN, EITHER_ZERO = 1, 2, 4


class _Bytes(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_uint64))


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_uint64))


class _RightValues(ctypes.Structure):
    _fields_ = (("offsets", _Buffer), ("low", _Buffer), ("high", _Buffer), ("flags", _Buffer))


_HANDLE = ctypes.c_void_p
_TO = ctypes.POINTER
#: By function, its arguments before the one for the error. `case`, `expected` and `suite` are handles.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "facts": (_TO(_Buffer),),
    "offer_corpus": (_Bytes,),
    "case_from_model": (_Bytes, _TO(_Bytes), ctypes.c_uint64, _TO(_HANDLE)),
    "case_from_json": (_Bytes, _TO(_HANDLE)),
    "case_facts": (_HANDLE, _TO(_Buffer)),
    "case_json": (_HANDLE, _TO(_Buffer)),
    "case_file": (_HANDLE, _TO(_Buffer)),
    "case_model": (_HANDLE, _TO(_Buffer)),
    "case_input": (_HANDLE, ctypes.c_uint64, _TO(_Buffer)),
    "expect": (_HANDLE, _Bytes, _Bytes, _TO(_HANDLE)),
    "expected_facts": (_HANDLE, _TO(_Buffer)),
    "reference": (_HANDLE, ctypes.c_uint64, _TO(_Buffer)),
    "admissible": (_HANDLE, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, _TO(_RightValues)),
    "element": (_HANDLE, ctypes.c_uint64, ctypes.c_uint64, _TO(_Buffer)),
    "right_elements": (_HANDLE, ctypes.c_uint64, _Bytes, _TO(_Buffer)),
    "judge": (_HANDLE, _TO(_Bytes), ctypes.c_uint64, _TO(_Buffer)),
    "suite_open": (_Bytes, ctypes.c_uint64, ctypes.c_int64, _TO(_HANDLE)),
    "suite_next": (_HANDLE, _TO(_HANDLE)),
    "suite_facts": (_HANDLE, _TO(_Buffer)),
}


_loaded: Optional[ctypes.CDLL] = None
_loading = threading.Lock()


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _load() -> ctypes.CDLL:
    path = _program.library()
    library = ctypes.CDLL(str(path))
    library.qconform_python_interface.restype = ctypes.c_uint32
    found = library.qconform_python_interface()
    if found != _INTERFACE:
        raise Error(f"expected a library with interface {_INTERFACE}, got {found}", field=str(path), value=str(found))
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, f"qconform_{name}")
        function.argtypes = (*arguments, _TO(_Buffer))
        function.restype = ctypes.c_int32
    for kind in ("case", "expected", "suite"):
        getattr(library, f"qconform_release_{kind}").argtypes = (_HANDLE,)
        getattr(library, f"qconform_release_{kind}").restype = None
    library.qconform_release_buffer.argtypes = (_TO(_Buffer),)
    library.qconform_release_buffer.restype = None
    corpus = _program.data_folder() / "corpus"
    if corpus.is_dir():
        _checked(library, library.qconform_offer_corpus, (_lent(str(corpus).encode()),))
    return library


def _lent(data: bytes) -> _Bytes:
    return _Bytes(data, len(data))


def _taken(library: ctypes.CDLL, buffer: _Buffer) -> bytes:
    # string_at takes no more than 2 GiB.
    try:
        return bytes((ctypes.c_char * buffer.size).from_address(buffer.data)) if buffer.data else b""
    finally:
        library.qconform_release_buffer(ctypes.byref(buffer))


def _checked(library: ctypes.CDLL, function: Callable[..., int], arguments: tuple[Any, ...]) -> None:
    error = _Buffer()
    if function(*arguments, ctypes.byref(error)) == 0:
        return
    told = _taken(library, error)
    if not told:
        raise MemoryError
    parts = json.loads(told)
    raise Error(parts["message"], field=parts["field"], value=parts["value"], rule=parts["rule"])


def _call(name: str, *arguments: Any) -> None:
    library = _library()
    _checked(library, getattr(library, f"qconform_{name}"), arguments)


def _bytes_from(name: str, *arguments: Any) -> bytes:
    buffer = _Buffer()
    _call(name, *arguments, ctypes.byref(buffer))
    return _taken(_library(), buffer)


def _json_from(name: str, *arguments: Any) -> Any:
    return json.loads(_bytes_from(name, *arguments))


def _array_of(items: Sequence[bytes]) -> Any:
    return (_Bytes * len(items))(*(_lent(item) for item in items))


class _Handle:
    """Owns something of the library's until nobody refers to it."""

    kind = ""

    def __init__(self, address: Optional[int]) -> None:
        self._address = address

    def __del__(self) -> None:
        address, self._address = getattr(self, "_address", None), None
        if address is not None:
            getattr(_library(), f"qconform_release_{self.kind}")(address)


class CaseHandle(_Handle):
    """A case."""

    kind = "case"

    @classmethod
    def from_model(cls, model: bytes, inputs: Sequence[bytes]) -> CaseHandle:
        """The case of a serialized model and serialized tensors for its inputs."""
        result = _HANDLE()
        _call("case_from_model", _lent(model), _array_of(inputs), len(inputs), ctypes.byref(result))
        return cls(result.value)

    @classmethod
    def from_json(cls, text: bytes) -> CaseHandle:
        """The one case in a text of case JSON."""
        result = _HANDLE()
        _call("case_from_json", _lent(text), ctypes.byref(result))
        return cls(result.value)

    def facts(self) -> dict[str, Any]:
        """What the case says of itself, and what the rules expect of it."""
        facts: dict[str, Any] = _json_from("case_facts", self._address)
        return facts

    def json(self) -> bytes:
        """Case JSON."""
        return _bytes_from("case_json", self._address)

    def file(self) -> bytes:
        """A serialized model that holds everything."""
        return _bytes_from("case_file", self._address)

    def model(self) -> bytes:
        """A serialized model with inputs."""
        return _bytes_from("case_model", self._address)

    def input(self, number: int) -> bytes:
        """A serialized tensor for that model."""
        return _bytes_from("case_input", self._address, number)

    def expect(self, profile: str, overflow: str) -> ExpectedHandle:
        """What is right for the case."""
        result = _HANDLE()
        _call("expect", self._address, _lent(profile.encode()), _lent(overflow.encode()), ctypes.byref(result))
        return ExpectedHandle(result.value)


class ExpectedHandle(_Handle):
    """What is right for a case."""

    kind = "expected"

    def outputs(self) -> list[dict[str, Any]]:
        """Of each output its "name", "type" (a number of ONNX) and "shape", which may be None."""
        outputs: list[dict[str, Any]] = _json_from("expected_facts", self._address)["outputs"]
        return outputs

    def reference(self, number: int) -> bytes:
        """The reference's answer for an output, a serialized tensor."""
        return _bytes_from("reference", self._address, number)

    def admissible(self, number: int, first: int, count: int) -> tuple[bytes, bytes, bytes, bytes]:
        """Offsets (int64), serialized tensors of the ranges' ends, and flags (uint8)."""
        values = _RightValues()
        _call("admissible", self._address, number, first, count, ctypes.byref(values))
        library = _library()
        return (
            _taken(library, values.offsets),
            _taken(library, values.low),
            _taken(library, values.high),
            _taken(library, values.flags),
        )

    def element(self, number: int, element: int) -> dict[str, str]:
        """One element for the reader: "admissible" and "exact"."""
        told: dict[str, str] = _json_from("element", self._address, number, element)
        return told

    def right_elements(self, number: int, tensor: bytes) -> bytes:
        """Whether each element of a serialized tensor is right (uint8)."""
        return _bytes_from("right_elements", self._address, number, _lent(tensor))

    def judge(self, outputs: Sequence[bytes]) -> dict[str, Any]:
        """The verdict on serialized tensors, as the program prints it."""
        verdict: dict[str, Any] = _json_from("judge", self._address, _array_of(outputs), len(outputs))
        return verdict


class SuiteHandle(_Handle):
    """A stream of cases."""

    kind = "suite"

    @classmethod
    def open(cls, name: str, seed: int, cases: Optional[int]) -> SuiteHandle:
        """The suite of that name; `cases` of those that draw as many as they are asked for."""
        result = _HANDLE()
        count = -1 if cases is None else cases
        _call("suite_open", _lent(name.encode()), seed, count, ctypes.byref(result))
        return cls(result.value)

    def next(self) -> Optional[CaseHandle]:
        """The next case."""
        result = _HANDLE()
        _call("suite_next", self._address, ctypes.byref(result))
        return None if result.value is None else CaseHandle(result.value)

    def facts(self) -> dict[str, Any]:
        """The names of its sources, its size where that is known, and what was skipped so far."""
        facts: dict[str, Any] = _json_from("suite_facts", self._address)
        return facts


def facts() -> dict[str, Any]:
    """The version, and the names of profiles and suites."""
    told: dict[str, Any] = _json_from("facts")
    return told
