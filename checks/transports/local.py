"""This machine as a node: the same script, the same deadlines, without SSH."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time

from checks.transports import script
from checks.transports.ssh import NODE_BYTES

NAMES = frozenset({"localhost", "localhost.localdomain"})


def is_here(node: str) -> bool:
    """Whether a node's name is this machine's."""
    host = socket.gethostname()
    return node in NAMES or node == host or node == host.partition(".")[0]


class LocalConnection:
    """Runs scripts on this machine. `close` may be called from any thread and ends whatever runs."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return not self._closed

    def run(self, command: str, body: bytes, done: bytes, *, deadline: float) -> tuple[bytes, bytes, bool]:
        """Feeds a script, reads until the word `done` on both streams or the end: (stdout, stderr, ended in time)."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # a session of its own, which is what ends with it
            start_new_session=True,
        )
        self._running.add(process)
        try:
            if self._closed:
                # closed from another thread while it was being started
                return b"", b"", False
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(body)
                process.stdin.flush()
            return _read(process, done, deadline)
        finally:
            self._running.discard(process)
            _end(process)

    def close(self) -> None:
        """Ends what runs."""
        self._closed = True
        for process in list(self._running):
            _stop(process)


def _read(process: subprocess.Popen[bytes], done: bytes, deadline: float) -> tuple[bytes, bytes, bool]:
    out, err = bytearray(), bytearray()
    mark = done.partition(b" ")[0]
    floods = (script.Flood(mark), script.Flood(mark))
    with selectors.DefaultSelector() as waiting:
        for stream, kept in ((process.stdout, out), (process.stderr, err)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            waiting.register(stream, selectors.EVENT_READ, kept)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or floods[0](out) | floods[1](err) or len(out) + len(err) > NODE_BYTES:
                return bytes(out[:NODE_BYTES]), bytes(err[:NODE_BYTES]), False
            for key, _ in waiting.select(left):
                data = os.read(key.fd, 1 << 20)
                key.data.extend(data)
                if not data:
                    waiting.unregister(key.fileobj)
            if done in out[-len(done) - 2 :] and done in err[-len(done) - 2 :]:
                break
    return bytes(out), bytes(err), True


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the script; its own watcher, which waits for the end of standard input, ends what it had started."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _stop(process)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()
