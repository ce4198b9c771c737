"""A worker: answers the program's messages (docs/adding-a-backend.md) with a Python object.

What the object prints goes to standard error, where the program keeps it with a finding.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import struct
import sys
import traceback
from collections.abc import Sequence
from typing import Union

from qconform import backends
from qconform._asking import Answer, Declined, Refused, answer_of
from qconform.errors import Error

HEADER = struct.Struct("<4sII")  # what it is, number of the case, bytes that follow
PROTOCOL = 1
_LONGEST_TEXT = 190
_AT_ONCE = 1 << 16


class Connection:
    """The pipes to the program, moved away from where the object may print."""

    def __init__(self) -> None:
        """Takes descriptors 0 and 1: the former becomes empty, the latter standard error."""
        self._input, self._output = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        self._received = bytearray()

    def put(self, kind: bytes, number: int, payload: bytes) -> None:
        """Write a message."""
        message = memoryview(HEADER.pack(kind, number, len(payload)) + payload)
        while message:
            message = message[os.write(self._output, message) :]

    def _take(self, size: int) -> bytes:
        """The next bytes; fewer where the program has closed the pipe."""
        while len(self._received) < size:
            more = os.read(self._input, max(_AT_ONCE, size - len(self._received)))
            if not more:
                break
            self._received += more
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def next(self) -> Union[tuple[int, bytes], None]:
        """Number and model of the next case; None where there are no more."""
        header = self._take(HEADER.size)
        if len(header) < HEADER.size:
            return None
        _, number, size = HEADER.unpack(header)
        return number, self._take(size)


def serve(connection: Connection, title: str, answer: Answer, *capabilities: str) -> None:
    """Say hello as `title`, and answer cases until there are no more."""
    connection.put(b"HELO", PROTOCOL, "\n".join([title, "units", "fed-inputs", *capabilities]).encode())
    while (case := connection.next()) is not None:
        number, data = case
        kind, payloads = _answered(answer, data)
        for payload in payloads[:-1]:
            connection.put(b"PART", number, payload)
        connection.put(kind, number, payloads[-1])


def _answered(answer: Answer, data: bytes) -> tuple[bytes, Sequence[bytes]]:
    """What else goes wrong ends the worker: an answer that is no answer is not a refusal."""
    try:
        return b"DONE", answer(data)
    except Declined as error:
        return b"SKIP", [_line(str(error))]
    except Refused as error:
        cause = error.__cause__ or error
        traceback.print_exception(type(cause), cause, cause.__traceback__)
        sys.stderr.flush()
        return b"DENY", [_line(str(error))]


def _line(text: str) -> bytes:
    text = " ".join(text.split())
    return (text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "...").encode()


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    title = "Serve a Python object as a backend."
    parser = argparse.ArgumentParser(prog="python3 -m qconform.serve", description=title)
    parser.add_argument("target", help="module:attribute")
    parser.add_argument("--kind", choices=["function", "backend", "session"], help="where the object does not tell")
    parser.add_argument("--feeds", choices=["all", "activations"], help="what the graph's inputs are")
    parser.add_argument("--path", action="append", default=[], help="folder to import from")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Serve what the arguments name."""
    parsed = _parsed(arguments)
    connection = Connection()  # before the import: some modules print
    faulthandler.enable(file=2)
    sys.path[:0] = parsed.path
    try:
        target = backends.chosen(parsed.target, parsed.kind, parsed.feeds)
    except Error as error:
        # The program shows how the output begins.
        print(error.message, file=sys.stderr, flush=True)
        if error.__cause__ is not None:
            traceback.print_exception(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)
        return 2
    serve(connection, backends.version_of(target), answer_of(target))
    return 0
