"""Measures how many cases a second pass through a Python callable in a worker.

    python/tests/run BUILD_FOLDER tests.rate [CASES]

The function gives x back: it is wrong nearly everywhere, and judging costs what it costs for a backend that fails. The
whole run is measured, from the start of the program to the report, and the part that is spent on the backend.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import samples

import qconform
from qconform import backends

WAYS = {
    "imported": samples.identity,
    "imported, all inputs fed": backends.function(samples.identity, feeds_all=True),
    "forked": lambda model, inputs: inputs[0],
}


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    for way, backend in WAYS.items():
        started = time.monotonic()
        report = qconform.run(backend, "random", cases=cases, explain=False, shrink=False, within=False)
        seconds = time.monotonic() - started
        spent = report.backends[0].seconds
        print(f"{way:<26} {cases / seconds:7,.0f} cases/s   {cases / spent:7,.0f} in the backend")


if __name__ == "__main__":
    main()
