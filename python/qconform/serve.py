"""A Python object as a backend of the program.

    qconform run --backend "process:python3 -m qconform.serve my.module:function"

The object is what `qconform.run` takes: docs/python.md.
"""

import sys

from qconform import _worker

if __name__ == "__main__":
    sys.exit(_worker.main(sys.argv[1:]))
