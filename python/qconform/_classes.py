"""Classes that a person knows a case by: the rules that it is about, and the features that it has."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: What reports call a case of several nodes.
GRAPH = "Graph"
_NUMBER = re.compile(r"\d+")


def classes_of(operators: str, rules: Iterable[str], tags: Iterable[str], source: str) -> list[str]:
    """Classes of a case, as "QLinearConv C19" or "QLinearConv stride=2"; never none.

    operators: of its nodes, as "QLinearConv" or "DequantizeLinear+Conv+QuantizeLinear".
    source: what drew the case, or the file that it is from.
    """
    nodes = list(dict.fromkeys(operators.split("+")))
    if len(nodes) > 1:
        # The first and the last quantize, and say little.
        computed = [node for node in nodes if node not in ("DequantizeLinear", "QuantizeLinear")]
        return [f"{GRAPH} with {node}" for node in computed] or [f"{GRAPH} {operators}"]
    operator = nodes[0]
    found = list(rules)
    if not found and source == "directed":
        found = list(tags)  # the corner case that it aims for
    if not found:
        found = [_feature(tag) for tag in tags if "=" in tag and not tag.startswith("operator=")]
    return [f"{operator} {name}" for name in dict.fromkeys(found)] or [f"{operator} {_base(source)}"]


def _feature(tag: str) -> str:
    """Sizes are one class for each extent, whatever the number."""
    return _NUMBER.sub("N", tag) if tag.startswith("size=") else tag


def _base(source: str) -> str:
    return source.partition(":")[0].partition("/")[0]
