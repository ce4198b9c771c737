"""Stands for a worker that another process forks: passes its pipes on, and ends as the worker ends.

    python3 -I -S _relay.py SOCKET

The program starts and kills this process. It hands its standard streams to the fork server behind SOCKET
(_fork_server.py). When the worker ends, this process ends with the same status or by the same signal; when the
program kills it, the server sees the connection end, and kills the worker.
"""

import os
import resource
import signal
import socket
import struct
import sys

STATUS = struct.Struct("<i")  # as waitpid gives it


def main() -> None:
    """Hand over, wait, and end."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(sys.argv[1])
    except OSError as error:
        sys.exit(f"the Python process that holds the backend has ended: {error}")
    socket.send_fds(connection, [b"S"], [0, 1, 2])
    # The worker alone holds the pipes now: they end with it.
    os.close(0)
    os.close(1)
    received = b""
    while len(received) < STATUS.size:
        more = connection.recv(STATUS.size - len(received))
        if not more:
            sys.exit("the Python process that holds the backend has ended")
        received += more
    end_like(STATUS.unpack(received)[0])


def end_like(status: int) -> None:
    """End with the status or by the signal."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
