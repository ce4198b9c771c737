"""What is right for a model with inputs, and whether outputs are: the reference, the sets of right values, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

import ml_dtypes
import numpy as np

from qconform import _native, _tensors, html, words
from qconform._tensors import Array, ArrayLike, Inputs, Model
from qconform.errors import Error
from qconform.report import RIGHT, Element, element

#: Outputs in their order or by their names; an array alone is the only output.
Outputs = Union[Sequence[ArrayLike], Mapping[str, ArrayLike], ArrayLike]


def reference(
    model: Model, inputs: Inputs = None, *, profile: str = "conformance", overflow: words.Overflow = "wrap"
) -> list[Array]:
    """Compute the reference's answer for each output: the exact value, rounded once, unless the profile pins another.

    model: one operator, or a quantized graph. inputs: in the order of the graph's inputs, or by name.
    profile: `qconform list profiles`, or a file. overflow: "permissive" also admits saturated integer sums (rule C17).
    Raises Error with field, value and rule where the model breaks a rule, and where the rules leave every value open.
    """
    return Expected.of_model(model, inputs, profile, overflow).reference()


def admissible(
    model: Model, inputs: Inputs = None, *, profile: str = "conformance", overflow: words.Overflow = "wrap"
) -> list[Admissible]:
    """Tell the right values of every element of each output. The arguments are those of reference()."""
    return Expected.of_model(model, inputs, profile, overflow).admissible()


def judge(
    model: Model, inputs: Inputs, outputs: Outputs, *, profile: str = "conformance", overflow: words.Overflow = "wrap"
) -> Verdict:
    """Judge what an implementation computed. The other arguments are those of reference()."""
    return Expected.of_model(model, inputs, profile, overflow).judge(outputs)


@dataclass(frozen=True)
class Verdict:
    """The judgement on one answer to one case. It is true where the answer is right."""

    case: str
    operator: str
    #: what the rules ask for
    expectation: words.Expectation
    #: what decided that, where it is not valid
    remark: str
    backend: str
    #: "vacuous" is right, but proves nothing
    verdict: words.VerdictKind
    detail: str
    #: id of the rule that a failure is about, where one is known
    rule: str
    elements: int
    wrong_elements: int
    #: of QLinearConv and graphs: the arithmetics in which the elements are right
    tiers: Optional[Mapping[str, Any]]
    #: the wrong element farthest from its right values
    worst: Optional[Element]
    #: what the backend printed
    log: str
    document: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Verdict:
        """The first verdict of what `qconform replay --json` prints."""
        result = document["results"][0]
        return cls(
            case=document["case"],
            operator=document["operator"],
            expectation=document["expectation"],
            remark=document["remark"],
            backend=result["backend"],
            verdict=result["verdict"],
            detail=result["detail"],
            rule=result.get("rule", ""),
            elements=result["elements"],
            wrong_elements=result["wrong_elements"],
            tiers=result["tiers"],
            worst=element(result.get("worst")),
            log=result.get("log", ""),
            document=document,
        )

    def __bool__(self) -> bool:
        return self.verdict in RIGHT

    @property
    def got(self) -> str:
        """The worst element's value; empty where nothing is wrong."""
        return self.worst.got if self.worst else ""

    @property
    def exact(self) -> str:
        """Its value before rounding."""
        return self.worst.exact if self.worst else ""

    @property
    def admissible(self) -> str:
        """Its right values: "{214}"."""
        return self.worst.admissible if self.worst else ""

    @property
    def tier(self) -> Optional[words.Tier]:
        """The strictest arithmetic in which every element is right."""
        return None if self.tiers is None else self.tiers["reached"]

    def facts(self) -> list[tuple[str, str]]:
        """What is known of it, as pairs of a word and a text."""
        facts = [
            ("contract", f"{self.expectation}: {self.remark}" if self.remark else self.expectation),
            ("detail", self.detail),
            ("rule", self.rule),
            ("worst", str(self.worst or "")),
            ("tier", self.tier or ""),
            ("printed", self.log),
        ]
        return [(word, text) for word, text in facts if text]

    def __str__(self) -> str:
        title = " ".join(word for word in (self.verdict, self.operator, self.case) if word)
        return "\n".join([title, *(f"  {word:<9} {text}" for word, text in self.facts())])

    def _repr_html_(self) -> str:
        return f"<div>{html.conclusion(bool(self), f'{self.verdict} {self.operator}')}{html.facts(self.facts())}</div>"


class Expected:
    """What is right for one case under one profile, computed once and asked often."""

    def __init__(
        self, case: _native.CaseHandle, profile: str = "conformance", overflow: words.Overflow = "wrap"
    ) -> None:
        """`case` need not be kept."""
        self._handle = case.expect(profile, overflow)
        self._outputs = self._handle.outputs()
        self._names: list[str] = [output["name"] for output in self._outputs]

    @classmethod
    def of_model(cls, model: Model, inputs: Inputs, profile: str, overflow: words.Overflow) -> Expected:
        """Of a model that is fed these inputs."""
        return cls(case_of(model, inputs), profile, overflow)

    def reference(self) -> list[Array]:
        """As the function of that name."""
        return [_tensors.parse_tensor(self._handle.reference(i)) for i in range(len(self._names))]

    def admissible(self) -> list[Admissible]:
        """As the function of that name."""
        return [Admissible(self._handle, i, output) for i, output in enumerate(self._outputs)]

    def judge(self, outputs: Outputs) -> Verdict:
        """As the function of that name."""
        return Verdict.from_document(self._handle.judge(self._serialized(outputs)))

    def _serialized(self, outputs: Outputs) -> list[bytes]:
        if isinstance(outputs, Mapping):
            missing = [name for name in self._names if name not in outputs]
            unknown = [str(name) for name in outputs if name not in self._names]
            if missing or unknown:
                found = f"{', '.join(missing)} is missing" if missing else f"there is no {', '.join(unknown)}"
                raise Error(f"expected {', '.join(self._names)}: {found}", field="outputs", value=", ".join(outputs))
            values: list[Any] = [outputs[name] for name in self._names]
        elif isinstance(outputs, (list, tuple)):
            values = list(outputs)
        else:
            values = [outputs]
        return [_tensors.from_array(value, "", f"outputs[{i}]").SerializeToString() for i, value in enumerate(values)]


def case_of(model: Model, inputs: Inputs) -> _native.CaseHandle:
    """The case that a model and its inputs make."""
    return _native.CaseHandle.from_model(_tensors.serialized_model(model), _tensors.serialized_inputs(inputs))


class Values:
    """The right values of one element.

    Each of `ranges` has a lowest and a highest value, both included. Where they are one, this value alone is meant,
    with its sign if it is zero; else every value between them is right, and zero of either sign.
    """

    #: more members than this are not listed
    MOST_MEMBERS = 1 << 16

    def __init__(self, dtype: np.dtype[Any], ranges: Sequence[tuple[Any, Any]], flags: int, text: str) -> None:
        """Of an output's type; `text` is the program's."""
        self.dtype = dtype
        self.ranges = tuple(ranges)
        self.any_value = bool(flags & _native.ANY_VALUE)
        self.any_nan = bool(flags & _native.ANY_NAN)
        self.either_zero = bool(flags & _native.EITHER_ZERO)
        self.text = text

    @property
    def members(self) -> Optional[tuple[Any, ...]]:
        """All of them, where they can be listed: not of intervals of floats, and not where any NaN is right."""
        if self.any_value or self.any_nan or not all(self._is_listed(low, high) for low, high in self.ranges):
            return None
        members: list[Any] = []
        for low, high in self.ranges:
            numbers = [low] if _same(low, high) else map(self.dtype.type, range(int(low), int(high) + 1))
            members += [number for number in numbers if number not in members or number == 0]
        if self.either_zero:
            signed = np.array([0.0, -0.0]).astype(self.dtype)
            zeros = [zero for zero in signed if not any(_same(zero, member) for member in members)]
            members += zeros
        return tuple(members)

    def _is_listed(self, low: Any, high: Any) -> bool:
        return _same(low, high) or (is_integer(self.dtype) and int(high) - int(low) < self.MOST_MEMBERS)

    def __contains__(self, value: object) -> bool:
        try:
            element = np.asarray(value).astype(self.dtype)[()]
        except (TypeError, ValueError):
            return False
        is_nan = bool(np.isnan(element)) if not is_integer(self.dtype) else False
        if not is_nan and np.asarray(element).astype(np.float64) != np.asarray(value).astype(np.float64):
            return False  # no value of the type
        if self.any_value or (self.any_nan and is_nan) or (self.either_zero and element == 0):
            return True
        return any(_same(element, low) if _same(low, high) else low <= element <= high for low, high in self.ranges)

    def __iter__(self) -> Iterator[Any]:
        members = self.members
        if members is None:
            raise TypeError(f"the right values cannot be listed: {self.text}")
        return iter(members)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<qconform.Values {self.text}>"


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type of integers, or of truth values."""
    return dtype.kind in "iub" or dtype.name.startswith(("int", "uint"))


def _same(one: Any, other: Any) -> bool:
    return bool(one.tobytes() == other.tobytes())


def _patterns(array: Array) -> Array:
    """The bytes of each element of an array of one dimension, which tell zeros and NaN apart."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.dtype.itemsize)


class Admissible:
    """The right values of every element of one output.

    `low` and `high` are arrays with the lowest and the highest right number of each element; not all that lies between
    them need be right. `admissible[index]` is the exact set of an element, and `contains(output)` says of each element
    of an output whether it is right.
    """

    def __init__(self, expected: _native.ExpectedHandle, number: int, output: Mapping[str, Any]) -> None:
        """Of output `number` of a case, which has this name, type and shape."""
        self.name: str = output["name"]
        self._expected = expected
        self._number = number
        self.shape: tuple[int, ...] = tuple(output["shape"] or ())
        elements = int(np.prod(self.shape, dtype=np.int64))
        # Of a case that is out of contract this raises the error.
        offsets, low, high, flags = expected.admissible(number, 0, elements)
        self.dtype = _tensors.dtype_of(output["type"])
        self._offsets = np.frombuffer(offsets, dtype=np.int64)
        self._low = _tensors.parse_tensor(low)
        self._high = _tensors.parse_tensor(high)
        self._flags = np.frombuffer(flags, dtype=np.uint8)

    @property
    def low(self) -> Array:
        """The lowest right number of each element: of any value, the type's lowest; NaN where no number is right."""
        return self._extreme(self._low, np.fmin, _lowest(self.dtype))

    @property
    def high(self) -> Array:
        """The highest right number of each element."""
        return self._extreme(self._high, np.fmax, _highest(self.dtype))

    @property
    def is_determined(self) -> Array:
        """Of each element, whether one value alone is right."""
        counts = np.diff(self._offsets)
        alone = (counts == 1) & (self._flags == 0)
        first = self._offsets[:-1][alone]
        alone[alone] = (_patterns(self._low)[first] == _patterns(self._high)[first]).all(axis=1)
        shaped: Array = alone.reshape(self.shape)
        return shaped

    def contains(self, output: ArrayLike) -> Array:
        """Of each element of an output, whether it is right: an array of truth values."""
        serialized = _tensors.from_array(output, "", "output").SerializeToString()
        right = np.frombuffer(self._expected.right_elements(self._number, serialized), dtype=np.uint8)
        shaped: Array = right.astype(bool).reshape(self.shape)
        return shaped

    def __getitem__(self, index: Union[int, tuple[int, ...]]) -> Values:
        place = index if isinstance(index, tuple) else (index,)
        if len(place) != len(self.shape):
            raise IndexError(f"expected {len(self.shape)} indices, got {len(place)}")
        inside = tuple(i + extent if i < 0 else i for i, extent in zip(place, self.shape))
        flat = int(np.ravel_multi_index(inside, self.shape)) if inside else 0
        begin, end = int(self._offsets[flat]), int(self._offsets[flat + 1])
        ranges = list(zip(self._low[begin:end], self._high[begin:end]))
        told = self._expected.element(self._number, flat)
        return Values(self.dtype, ranges, int(self._flags[flat]), told["admissible"])

    def exact(self, index: tuple[int, ...]) -> str:
        """The value of an element before rounding, as integer and fraction; may be empty."""
        flat = int(np.ravel_multi_index(index, self.shape)) if index else 0
        return self._expected.element(self._number, flat)["exact"]

    def __repr__(self) -> str:
        return f"<qconform.Admissible {self.name}: {self.dtype} {list(self.shape)}>"

    def _extreme(self, ends: Array, reduce: np.ufunc, of_any_value: Any) -> Array:
        is_integral = is_integer(self.dtype)
        wide = ends.astype(np.int64 if is_integral else np.float64)
        has_some = np.diff(self._offsets) > 0
        result = np.empty(self._flags.size, dtype=wide.dtype)
        result[~has_some] = of_any_value
        if has_some.any():
            result[has_some] = reduce.reduceat(wide, self._offsets[:-1][has_some])
        return result.astype(self.dtype).reshape(self.shape)


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return 0
    return int(_limits(dtype).min) if is_integer(dtype) else _end_of_floats(dtype, negative=True)


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return 1
    return int(_limits(dtype).max) if is_integer(dtype) else _end_of_floats(dtype, negative=False)


def _limits(dtype: np.dtype[Any]) -> Any:
    find: Callable[[np.dtype[Any]], Any] = ml_dtypes.iinfo if is_integer(dtype) else ml_dtypes.finfo
    return find(dtype)


def _end_of_floats(dtype: np.dtype[Any], negative: bool) -> float:
    infinite = float(np.asarray(-np.inf if negative else np.inf).astype(dtype).astype(np.float64))
    if np.isinf(infinite):
        return infinite
    return float(_limits(dtype).min if negative else _limits(dtype).max)
