#!/usr/bin/env python3
"""Whether every file includes only what lies below it, as harness/rooms.txt lists the rooms.

usage: rooms_test.py SOURCE_DIRECTORY            checks the includes, and the picture in docs/architecture.md
       rooms_test.py SOURCE_DIRECTORY --write    writes the picture
       rooms_test.py --planted                   checks that planted faults are found
"""

import re
import sys
import tempfile
from pathlib import Path

SUFFIXES = {".h", ".hpp", ".c", ".cc", ".inc", ".in"}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
BEGIN, END = "<!-- rooms: written by harness/tests/rooms_test.py -->\n", "<!-- end of rooms -->\n"


def read_rooms(root):
    """The rooms and what they hold, from bottom to top."""
    lines = (root / "harness/rooms.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


class House:
    def __init__(self, root):
        self.root = root
        self.rooms = [room for room, _ in read_rooms(root)]
        self.tops = sorted({room.split("/")[0] for room in self.rooms})

    def room_of(self, path):
        if Path(path).stem.endswith("_test") or "tests" in Path(path).parts:
            return self.rooms[-1]
        return max((room for room in self.rooms if path.startswith(room + "/")), key=len, default=None)

    def included(self, path, name):
        """The file that an include line of `path` means; None where it is no file of the project."""
        if name.split("/")[0] in self.tops:
            return name
        for folder in (Path(path).parent, Path("harness/include")):
            if (self.root / folder / name).is_file():
                return str(folder / name)
        return None

    def sources(self):
        for top in self.tops:
            for file in sorted((self.root / top).rglob("*")):
                if file.suffix in SUFFIXES and "node_modules" not in file.parts:
                    yield file.relative_to(self.root).as_posix()

    def faults(self):
        for path in self.sources():
            room = self.room_of(path)
            if room is None:
                yield f"{path}: lies in no room"
                continue
            for name in filter(None, map(INCLUDE.match, (self.root / path).read_text(encoding="utf-8").splitlines())):
                target = self.included(path, name[1])
                if target is None:
                    yield f'{path}: "{name[1]}" is no file of the project: write <{name[1]}>'
                    continue
                other = self.room_of(target)
                if other is None or self.rooms.index(other) > self.rooms.index(room):
                    yield f"{path}: includes {target} of {other}, which lies above {room}"


def picture(root):
    """The rooms from top to bottom."""
    rows = [f"    {room:<20} {holds}\n" for room, holds in reversed(read_rooms(root))]
    return BEGIN + "\n" + "".join(rows) + "\n" + END


def planted():
    """Each fault of a small tree, and nothing else, is found."""
    files = {
        "harness/rooms.txt": "harness/low low\nharness/high high\nharness/high/inner inner\nharness/tests tests\n",
        "harness/low/a.h": "",
        "harness/low/a.cc": '#include "harness/low/a.h"\n#include "harness/high/b.h"\n#include <vector>\n',
        "harness/low/a_test.cc": '#include "harness/high/b.h"\n',
        "harness/high/b.h": '#include "harness/low/a.h"\n# include "harness/high/inner/c.h"\n',
        "harness/high/inner/c.h": '#include "harness/high/b.h"\n#include "absent.h"\n',
        "harness/attic/d.cc": "",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = {fault.split(":")[0] for fault in House(Path(folder)).faults()}
    wanted = {"harness/low/a.cc", "harness/high/b.h", "harness/high/inner/c.h", "harness/attic/d.cc"}
    print(f"found {sorted(found)}, planted {sorted(wanted)}")
    return 0 if found == wanted else 1


def main():
    if sys.argv[1:] == ["--planted"]:
        return planted()
    root = Path(sys.argv[1])
    page = root / "docs/architecture.md"
    text = page.read_text(encoding="utf-8")
    wanted = text[: text.index(BEGIN)] + picture(root) + text[text.index(END) + len(END) :]
    if sys.argv[2:] == ["--write"]:
        page.write_text(wanted, encoding="utf-8")
        return 0
    faults = list(House(root).faults())
    if text != wanted:
        faults.append("docs/architecture.md shows other rooms: harness/tests/rooms_test.py . --write")
    print("\n".join(faults) or "every include line leads to the same room or down")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
