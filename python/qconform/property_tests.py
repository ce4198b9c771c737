"""Tests of a function by drawn cases.

    @qconform.property(ops=["QLinearConv"])
    def test_my_convolution(model, inputs):
        return my_convolution(*qconform.node_inputs(model, inputs))

The test draws cases, judges what the function returns, and fails with the smallest case that the function gets wrong.
`from_cases` draws cases for tests of Hypothesis.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from qconform import backends, runner
from qconform.cases import Case
from qconform.cases import cases as cases_of
from qconform.errors import Error
from qconform.report import Report

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: A seed for all property tests of a process, so that a failing test draws the same cases again.
SEED_VARIABLE = "QCONFORM_SEED"
#: Of a suite that has few cases of the operators that are asked for, how many are looked at for each that is wanted.
_SEARCHED = 200


def property(
    *,
    ops: Optional[Iterable[str]] = None,
    cases: int = 200,
    seed: Optional[int] = None,
    suite: str = "random",
    profile: Optional[str] = None,
    timeout: float = 10,
    explain: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a test of a function f(model, inputs) that computes cases.

    ops: operators of the cases: "QLinearConv"; "Graph" stands for cases of several nodes. All where none are named.
    cases: how many are drawn.
    seed: which; else $QCONFORM_SEED, else another one each time. A failure names it.
    suite: what they are drawn from: "random", "directed", "graphs", ...
    profile, timeout, explain: as of `qconform.run`. Without `explain` a failure is told some seconds sooner.

    Further parameters of the function are fixtures of pytest. It may raise `qconform.Unsupported` for cases that it
    does not implement; where it declines all, the test fails.
    """
    chosen = None if ops is None else frozenset(ops)

    def make(function: Callable[..., Any]) -> Callable[..., None]:
        signature = inspect.signature(function)
        missing = {"model", "inputs"} - set(signature.parameters)
        if missing:
            raise Error(
                f"expected the parameters model and inputs, got {signature}",
                field="property",
                value=function.__qualname__,
            )

        @functools.wraps(function)
        def test(*arguments: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True

            def compute(model: Any, inputs: Any) -> Any:
                return function(*arguments, model=model, inputs=inputs, **fixtures)

            drawn_by = _seed(seed)
            with tempfile.TemporaryDirectory(prefix="qconform-") as folder:
                file = _write(_drawn(suite, drawn_by, chosen, cases), Path(folder) / "drawn.json")
                report = runner.run(
                    backends.function(compute),
                    str(file),
                    name=function.__qualname__,
                    profile=profile,
                    timeout=timeout,
                    explain=explain,
                )
            failure = failure_of(report, drawn_by)
            if failure:
                raise AssertionError(failure)

        del test.__dict__["__wrapped__"]  # pytest would ask for fixtures `model` and `inputs`
        test.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[p for name, p in signature.parameters.items() if name not in ("model", "inputs")],
            return_annotation=None,
        )
        return test

    return make


def from_cases(
    suite: str = "random",
    *,
    ops: Optional[Iterable[str]] = None,
    where: Optional[Callable[[Case], bool]] = None,
    seed: int = 1,
    count: int = 1000,
) -> SearchStrategy[Case]:
    """Make a strategy of Hypothesis that draws cases of a suite, and shrinks towards small ones.

    ops: operators of the cases, as of `property`.
    where: a function that says of a case whether it is wanted.
    seed: as of `cases`. Hypothesis replays a failure as long as the arguments stay as they are.
    count: it draws among the first so many that are wanted.
    """
    from hypothesis import strategies

    chosen = None if ops is None else frozenset(ops)

    def smallest_first() -> SearchStrategy[Case]:
        return strategies.sampled_from(sorted(_drawn(suite, seed, chosen, count, where), key=lambda one: len(one.json)))

    return strategies.deferred(smallest_first)  # cases are made when a test runs, not when it is imported


def failure_of(report: Report, seed: int) -> str:
    """Why a function does not conform; empty where it does."""
    if report.conforms:
        return ""
    heading = f"seed {seed}: {SEED_VARIABLE}={seed} draws the same cases"
    if report.findings:
        return "\n".join([heading, *(str(finding) for finding in report.findings)])
    reasons = [
        f"  {operator}: {reason} ({count:,})"
        for backend in report.backends
        for operator, result in backend.operators.items()
        for reason, count in [
            *result.unsupported_reasons.items(),
            *result.vacuous_reasons.items(),
            *result.not_judged_reasons.items(),
        ]
    ]
    return "\n".join([heading, "no case was computed in a way that proves anything:", *reasons])


def _seed(seed: Optional[int]) -> int:
    if seed is not None:
        return seed
    text = os.environ.get(SEED_VARIABLE)
    if text is None:
        return random.SystemRandom().randrange(1, 2**31)
    if not text.isdecimal():
        raise Error("expected a number", field=SEED_VARIABLE, value=text)
    return int(text)


def _drawn(
    suite: str,
    seed: int,
    ops: Optional[frozenset[str]],
    count: int,
    where: Optional[Callable[[Case], bool]] = None,
) -> Iterator[Case]:
    """The first cases of these operators which `where` wants."""
    found = 0
    for case in cases_of(suite, seed=seed, count=count * _SEARCHED):
        is_asked_for = ops is None or case.operator in ops or ("Graph" in ops and "+" in case.operator)
        if is_asked_for and (where is None or where(case)):
            yield case
            found += 1
        if found == count:
            return
    if found == 0:
        of_operators = "" if ops is None else f" of {', '.join(sorted(ops))}"
        wanted = "" if where is None else " that is wanted"
        raise Error(f"suite {suite} has no case{of_operators}{wanted}", field="ops", value=str(ops))


def _write(drawn: Iterable[Case], file: Path) -> Path:
    documents = [json.loads(case.json) for case in drawn]
    whole = dict(documents[0], cases=[case for document in documents for case in document["cases"]])
    file.write_text(json.dumps(whole), encoding="utf-8")
    return file
