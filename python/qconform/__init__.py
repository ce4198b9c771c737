"""Is this quantized kernel right, and if not, why?

    import qconform
    from onnx.reference import ReferenceEvaluator

    report = qconform.run(ReferenceEvaluator)
    for finding in report.findings:
        print(finding)
"""

from qconform import backends
from qconform.backends import Unsupported, node_inputs
from qconform.cases import Case, cases
from qconform.errors import Error
from qconform.evaluate import Admissible, Values, Verdict, admissible, judge, reference
from qconform.property_tests import property
from qconform.report import Finding, Report
from qconform.runner import Explanation, Shrunk, explain, replay, run, shrink

__all__ = [
    "Admissible",
    "Case",
    "Error",
    "Explanation",
    "Finding",
    "Report",
    "Shrunk",
    "Unsupported",
    "Values",
    "Verdict",
    "admissible",
    "backends",
    "cases",
    "explain",
    "judge",
    "node_inputs",
    "property",
    "reference",
    "replay",
    "run",
    "shrink",
]
