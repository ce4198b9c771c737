"""How far the program has come, for whoever waits: a callback, a bar of tqdm, or a line in a terminal."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

_LINE = re.compile(r"progress (\d+|-)/(\d+|-) (.*)")


@dataclass(frozen=True)
class Progress:
    """How far a run has come, five times a second at most."""

    #: "corpus: 120 of 4,000 cases, 3 failures, 2 s, 0:01:05 left, 60 cases/s"
    text: str
    #: of the part that is under way, a suite for example; None where nothing is counted
    done: Optional[int]
    #: None where the end is not known
    total: Optional[int]


Watcher = Callable[[Progress], None]


@contextlib.contextmanager
def watched(progress: Union[bool, Watcher, None]) -> Iterator[Optional[Watcher]]:
    """Yields the function that is told of progress, while the `with` lasts: the caller's, or with True, and with None
    where somebody watches, that of a bar of tqdm, for terminals and notebooks, or of a line in a terminal."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _is_seen()):
        yield None
        return
    shown = _Bar.open() or _Line()
    try:
        yield shown.tell
    finally:
        shown.close()


def _is_seen() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _Bar:
    """A bar of tqdm, which begins anew with each part of the run."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    @staticmethod
    def open() -> Optional[_Bar]:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return _Bar(tqdm(unit=" cases", leave=False))

    def tell(self, progress: Progress) -> None:
        if progress.total != self._bar.total:
            self._bar.reset()
            self._bar.total = progress.total
        self._bar.n = progress.done or 0
        self._bar.set_description_str(progress.text.split(":", 1)[0], refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """A line that is written over, in a terminal."""

    def tell(self, progress: Progress) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K" + progress.text[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()

    def close(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def run(
    command: Sequence[str], environment: Mapping[str, str], watcher: Optional[Watcher]
) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Run the program and tell the watcher of its progress. Also returns whether Ctrl-C ended it: the program then
    writes the report of what was judged. A second Ctrl-C ends it at once."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=dict(environment, QCONFORM_PROGRESS="lines"),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        output: list[str] = []
        reader = threading.Thread(target=lambda stream: output.append(stream.read()), args=(process.stdout,))
        reader.start()
        errors: list[str] = []
        is_interrupted = False
        try:
            while True:
                try:
                    for line in process.stderr:
                        _take(line, errors, watcher)
                    break
                except KeyboardInterrupt:
                    if is_interrupted:
                        raise
                    is_interrupted = True
                    # A terminal sends Ctrl-C to the program too, which a second one would end at once; this does not.
                    process.send_signal(signal.SIGHUP)
            reader.join()
            status = process.wait()
        except BaseException:
            process.kill()
            reader.join()
            raise
    return subprocess.CompletedProcess(command, status, "".join(output), "".join(errors)), is_interrupted


def _take(line: str, errors: list[str], watcher: Optional[Watcher]) -> None:
    found = _LINE.fullmatch(line.rstrip("\n"))
    if found is None:
        errors.append(line)
    elif watcher is not None:
        done, total = (None if number == "-" else int(number) for number in found.groups()[:2])
        watcher(Progress(found.group(3), done, total))
