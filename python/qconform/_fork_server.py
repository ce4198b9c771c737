"""Workers for objects that live in this process alone: a lambda, a session, a function of a notebook.

A server is forked once, when the run begins. It forks a worker for each relay (_relay.py) that the program starts, so
that a crash ends a copy, and each worker begins with the object as it was.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
import selectors
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Optional

from qconform import _relay
from qconform._asking import answer_of
from qconform._worker import Connection, serve
from qconform.backends import Target, version_of

_WATCHED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ForkServer:
    """The server, as long as the `with` lasts. `command` is what the program starts for a worker."""

    def __init__(self, target: Target) -> None:
        """`target` is what the workers compute with."""
        self._target = target
        self._folder: Optional[str] = None
        self._process = 0
        self._life = -1  # the server ends when nobody holds it any more

    def __enter__(self) -> ForkServer:
        """Fork the server."""
        self._folder = tempfile.mkdtemp(prefix="qconform-fork-")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self._socket)
        listener.listen()
        alive, self._life = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside other threads
            self._process = os.fork()
        if self._process == 0:
            os.close(self._life)
            _run_server(self._target, listener, alive)
        os.close(alive)
        listener.close()
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """End the server and its workers."""
        with contextlib.suppress(BrokenPipeError):  # it has ended
            os.write(self._life, b"x")  # what was forked meanwhile may hold the pipe open
        os.close(self._life)
        with contextlib.suppress(ChildProcessError):  # where this process has its children reaped
            os.waitpid(self._process, 0)
        shutil.rmtree(self._folder or "", ignore_errors=True)

    @property
    def _socket(self) -> str:
        return str(Path(self._folder or "") / "socket")

    @property
    def command(self) -> str:
        """A line for the shell."""
        relay = [sys.executable, "-I", "-S", str(Path(_relay.__file__).resolve()), self._socket]
        return " ".join(shlex.quote(word) for word in relay)


class _Workers:
    """Which relay each worker belongs to."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._relays: dict[int, socket.socket] = {}

    def add(self, worker: int, relay: socket.socket) -> None:
        self._relays[worker] = relay
        self._selector.register(relay, selectors.EVENT_READ, worker)

    def reap(self) -> None:
        """Tell the relays of workers that have ended how they did."""
        while self._relays:
            worker, status = os.waitpid(-1, os.WNOHANG)
            if worker == 0:
                return
            relay = self._relays.pop(worker, None)
            if relay is None:
                continue
            self._selector.unregister(relay)
            _kill(worker)  # what it has started and left behind
            with contextlib.suppress(OSError):  # the program has killed it
                relay.sendall(_relay.STATUS.pack(status))
            relay.close()

    def end(self, worker: int) -> None:
        """The relay is gone."""
        _kill(worker)
        self._selector.unregister(self._relays[worker])
        self._relays.pop(worker).close()
        os.waitpid(worker, 0)

    def end_all(self) -> None:
        for worker in list(self._relays):
            self.end(worker)


def _kill(worker: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)


def _run_server(target: Target, listener: socket.socket, alive: int) -> NoReturn:
    status = 1
    try:
        _serve_relays(target, listener, alive)
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _serve_relays(target: Target, listener: socket.socket, alive: int) -> None:
    for number in _WATCHED:
        signal.signal(number, signal.SIG_IGN)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    with selectors.DefaultSelector() as selector:
        workers = _Workers(selector)
        selector.register(alive, selectors.EVENT_READ, "alive")
        selector.register(woken, selectors.EVENT_READ, "woken")
        selector.register(listener, selectors.EVENT_READ, "listener")
        while True:
            for key, _ in selector.select():
                if key.data == "alive":
                    workers.end_all()
                    return
                if key.data == "woken":
                    os.read(woken, 4096)
                    workers.reap()
                elif key.data == "listener":
                    with contextlib.suppress(OSError):  # of one relay: the program asks again
                        _start_worker(target, listener, workers, (alive, woken, waker))
                elif key.fileobj in [k.fileobj for k in selector.get_map().values()]:
                    workers.end(key.data)


def _start_worker(target: Target, listener: socket.socket, workers: _Workers, own: tuple[int, ...]) -> None:
    relay, _ = listener.accept()
    _, streams, _, _ = socket.recv_fds(relay, 1, 3)
    if len(streams) != 3:  # the relay was killed meanwhile
        for stream in streams:
            os.close(stream)
        relay.close()
        return
    worker = os.fork()
    if worker == 0:
        for descriptor in (*own, relay.fileno(), listener.fileno()):
            os.close(descriptor)
        _run_worker(target, streams)
    with contextlib.suppress(OSError):  # it has done so itself, or has ended
        os.setpgid(worker, worker)
    for stream in streams:
        os.close(stream)
    workers.add(worker, relay)


def _run_worker(target: Target, streams: list[int]) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in _WATCHED:
            signal.signal(number, signal.SIG_DFL)
        for place, stream in enumerate([fcntl.fcntl(stream, fcntl.F_DUPFD, 3) for stream in streams]):
            os.dup2(stream, place)
            os.close(stream)
        connection = Connection()
        # The streams of a notebook or a test write somewhere else.
        sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        faulthandler.enable(file=2)
        serve(connection, version_of(target), answer_of(target), f"memory-of {os.getpid()}")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
