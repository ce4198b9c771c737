"""Is this quantized kernel right, and if not, why?

import qconform
from onnx.reference import ReferenceEvaluator

report = qconform.run(ReferenceEvaluator)
for finding in report.findings:
    print(finding)
"""

from __future__ import annotations

from qconform import backends, words
from qconform.backends import Unsupported, node_inputs
from qconform.cases import Case, cases
from qconform.commands import Bisection, Gate, Matrix, bisect, fuzz, gate, matrix, model
from qconform.errors import Error
from qconform.evaluate import Admissible, Values, Verdict, admissible, judge, reference
from qconform.progress import Progress
from qconform.property_tests import from_cases, property
from qconform.report import Finding, Report
from qconform.runner import Explanation, Interrupted, Shrunk, explain, replay, run, shrink

__all__ = [
    "Admissible",
    "Bisection",
    "Case",
    "Error",
    "Explanation",
    "Finding",
    "Gate",
    "Interrupted",
    "Matrix",
    "Progress",
    "Report",
    "Shrunk",
    "Unsupported",
    "Values",
    "Verdict",
    "admissible",
    "backends",
    "bisect",
    "cases",
    "explain",
    "from_cases",
    "fuzz",
    "gate",
    "judge",
    "matrix",
    "model",
    "node_inputs",
    "property",
    "reference",
    "replay",
    "run",
    "shrink",
    "words",
]


def __getattr__(name: str) -> str:
    """`__version__`: of the installed package, or of the program where the package runs from its sources."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    try:
        return metadata.version("qconform")
    except metadata.PackageNotFoundError:
        from qconform import _program

        return _program.run(["--version"]).stdout.split()[-1]
