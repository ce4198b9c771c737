#!/usr/bin/env python3
"""Fails when a program runs copies of templates that were compiled with less optimization than the harness's own.

usage: link_order_test.py NM PROGRAM ARCHIVE OBJECT...

An inline function that the harness and the command line both compile is in the program once. Its size tells whose copy the
linker took: where the sizes differ, that in the program must be one of the archive's. A third of the speed of a program was
lost to copies of the command line, which is compiled without optimization where everything is built anew.
"""

import collections
import subprocess
import sys


def sizes(nm, kinds, *files):
    """Returns the sizes in bytes of each function of the files of one of nm's kinds, by mangled name."""
    output = subprocess.run([nm, "-S", "--defined-only", *files], check=True, capture_output=True, text=True).stdout
    found = collections.defaultdict(set)
    for line in output.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in kinds:
            found[fields[3]].add(int(fields[1], 16))
    return found


def main():
    nm, program, archive, *objects = sys.argv[1:]
    harness, others = sizes(nm, "W", archive), sizes(nm, "W", *objects)
    linked = sizes(nm, "WTt", program)  # linkers keep "weak" or not
    told = [name for name in linked if name in harness and others.get(name, set()) - harness[name]]
    wrong = [name for name in told if not linked[name] <= harness[name]]
    print(f"of {len(told)} functions the command line has a copy of another size than the harness's")
    if not linked or not harness or not others:
        sys.exit("a program, a library or objects without functions: were they stripped?")
    for name in wrong[:10]:
        print(f"  {name}: {sorted(linked[name])} bytes, the harness's have {sorted(harness[name])}")
    if wrong:
        sys.exit(f"{len(wrong)} are not the harness's: the library has to come first on the link line (QCONFORM_HARNESS_FIRST)")


if __name__ == "__main__":
    main()
