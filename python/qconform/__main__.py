"""`python -m qconform` and the command `qconform`: the program inside the package, with the same arguments."""

from __future__ import annotations

import os
import sys

from qconform import _program
from qconform.errors import Error


def main() -> int:
    """Become the program."""
    try:
        line = _program.command(sys.argv[1:])
    except Error as error:
        print(f"qconform: {error}", file=sys.stderr)
        return _program.FAULT
    os.execv(line[0], line)


if __name__ == "__main__":
    sys.exit(main())
