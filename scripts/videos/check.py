"""Checks the recordings in docs/images, and what render.py leaves out of them: check.py SOURCE_FOLDER."""

import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

import render

LARGEST = 150 * 1024


def check_picture(path: Path) -> list[str]:
    """What is wrong with a drawing: too large, no animation, or something that it loads from elsewhere."""
    text = path.read_text()
    xml.etree.ElementTree.fromstring(text)
    namespaces = re.compile(r'xmlns(:\w+)?="[^"]*"')
    mistakes = []
    if len(text) > LARGEST:
        mistakes.append(f"{len(text)} bytes, at most {LARGEST}")
    if "@keyframes" not in text:
        mistakes.append("nothing moves")
    if "prefers-reduced-motion" not in text:
        mistakes.append("it moves for those who do not want that")
    for found in re.findall(r"""https?://[^"'<\s]*|@import|url\([^)]*\)|<script|<image""", namespaces.sub("", text)):
        mistakes.append(f"it is not complete in itself: {found}")
    return [f"{path.name}: {mistake}" for mistake in mistakes]


def check_shortening() -> None:
    """Waiting is cut, output is kept, and a long display of progress loses changes in its middle alone."""
    events = [[0.1, "o", "$ run\r\n"], [60.0, "o", "one\r\n"]]
    events += [[61.0 + i, "o", f"\rjudging, {i} s\x1b[K"] for i in range(100)]
    events.append([170.0, "o", "\r\x1b[Kdone\r\n"])
    header = json.dumps({"version": 2, "width": 80, "height": 24})
    kept = [json.loads(line) for line in render.shortened([header, *map(json.dumps, events)])[1:]]
    texts = [text for _, _, text in kept]
    assert [text for text in texts if "\n" in text] == ["$ run\r\n", "one\r\n", "\r\x1b[Kdone\r\n"], texts
    assert "\rjudging, 0 s\x1b[K" in texts and "\rjudging, 99 s\x1b[K" in texts, texts
    assert len(kept) < 20 and kept[-1][0] < 10, kept[-1]
    assert [time for time, _, _ in kept] == sorted(time for time, _, _ in kept)


def main() -> int:
    check_shortening()
    root = Path(sys.argv[1])
    pictures = sorted(root.glob("docs/images/terminal-*.svg"))
    scripts = sorted(path.stem for path in root.glob("scripts/videos/*.sh"))
    assert scripts == sorted(path.stem.removeprefix("terminal-") for path in pictures), (scripts, pictures)
    mistakes = [mistake for path in pictures for mistake in check_picture(path)]
    print("\n".join(mistakes) or f"{len(pictures)} recordings: no mistake")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
