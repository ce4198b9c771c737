"""Draws a recording of a terminal as an SVG that moves: render.py CAST SVG TEMPLATE NAME."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LONGEST_WAIT = 1.2  # seconds between two changes of the screen
LEAST_WAIT = 0.15  # changes that follow each other faster become one
LAST_FRAME = 6.0  # seconds that the end is seen before it begins again
PROGRESS_SECONDS = 3.0  # that a display of progress, which is rewritten in place, is seen at most


def is_progress(text: str) -> bool:
    """Whether the output only rewrites the line of a progress display."""
    return text.startswith("\r") and "\n" not in text


def shortened(lines: list[str]) -> list[str]:
    """The recording with waiting cut short, and of each display of progress as many changes as are seen."""
    events = [json.loads(line) for line in lines[1:]]
    result = [lines[0]]
    clock = before = 0.0
    run_of_progress = 0
    for index, (time, kind, text) in enumerate(events):
        wait = min(time - before, LONGEST_WAIT)
        before = time
        if is_progress(text):
            run_of_progress += 1
            following = index + 1 < len(events) and is_progress(events[index + 1][2])
            # The first changes of a display, and its last one.
            if run_of_progress * 0.3 > PROGRESS_SECONDS and following:
                continue
            wait = min(wait, 0.3)
        else:
            run_of_progress = 0
        clock += wait
        result.append(json.dumps([round(clock, 3), kind, text], ensure_ascii=False))
    return result


# Who asks for less motion sees the end of the recording.
STILL = """
        <style type="text/css">
            @media (prefers-reduced-motion: reduce) {
                #screen_view { animation: none; transform: translateY(%s); }
            }
        </style>"""


def finished(svg: str, title: str) -> str:
    """The drawing with a title for screen readers, and still where motion is unwanted."""
    last = re.findall(r"translateY\((-?\d+px)\)", svg)[-1]
    svg = re.sub(r"(<svg [^>]*>)", rf'\1<title>{title}</title>', svg, count=1)
    svg = svg.replace('id="terminal"', 'id="terminal" role="img"', 1)
    return svg.replace("</defs>", STILL % last + "\n    </defs>", 1)


def main() -> None:
    cast, target, template, name = sys.argv[1:]
    lines = Path(cast).read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder, "cast")
        short.write_text("\n".join(shortened(lines)) + "\n")
        drawn = Path(folder, "svg")
        subprocess.run(
            [Path(sys.executable).parent / "termtosvg", "render", short, drawn, "--template", template,
             "--min-frame-duration", str(int(LEAST_WAIT * 1000)), "--loop-delay", str(int(LAST_FRAME * 1000))],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        Path(target).write_text(finished(drawn.read_text(), f"A terminal: {name.replace('-', ' ')}"))


if __name__ == "__main__":
    main()
