"""The words that results are made of, where there is a closed list of them, so that type checkers know them.

The lists are those of the program's schemas.
"""

from __future__ import annotations

from typing import Literal

#: Verdicts that mean that a backend did what is right, as far as it could be seen.
RightVerdict = Literal["vacuous", "pass", "refused"]
#: Verdicts that mean that a backend does not conform.
FailingVerdict = Literal[
    "bad-shape",
    "broken-interface",
    "changed-float-mode",
    "changed-input",
    "crashed",
    "depends-on-earlier-runs",
    "exited",
    "inconsistent",
    "nondeterministic",
    "not-rejected",
    "out-of-bounds",
    "out-of-memory",
    "read-out-of-bounds",
    "refused-here",
    "thread-dependent",
    "threw",
    "depends-on-earlier-node",
    "grows-memory",
    "timed-out",
    "unwritten",
    "wrong",
]
VerdictKind = Literal[RightVerdict, FailingVerdict, "unsupported", "not-asked", "not-judged"]

#: Arithmetics in which the elements of QLinearConv and of graphs may be right.
Tier = Literal[
    "E",
    "F_5",
    "Q31",
    "Q31-f32",
    "D",
    "acc32",
    "as-written",
    "any-association",
    "stated-accuracy",
    "fused-int8",
    "fused-q31",
]

#: How sure an explanation is.
Status = Literal["explained", "learnt", "ambiguous", "reproduced", "partial", "unexplained"]
#: Why shrinking ended.
Ending = Literal["minimal", "runs", "seconds", "not-reproduced", "does-not-fail"]

#: What the rules ask for: compute it; it may be refused; it must be refused.
Expectation = Literal["valid", "implementation-defined", "invalid"]
#: What the source of a case expects.
Stated = Literal[Expectation, "unstated"]
#: What becomes of ConvInteger's sums beyond 32 bits.
Overflow = Literal["wrap", "permissive"]

#: What becomes of a layer when a whole model runs: right or wrong, on right inputs or behind a wrong layer.
LayerState = Literal["right", "fed-wrong", "wrong", "wrong-behind", "not-judged"]
#: What a change between two reports means, and what became of a cause.
Effect = Literal["worse", "better", "waived", "note"]
CauseState = Literal["new", "stayed", "gone", "not-tested"]
#: Whether a backend of a matrix has a cause.
CellState = Literal["wrong", "right", "no-right-answer"]
#: What a release did to a case.
Turn = Literal["broken", "mended"]
