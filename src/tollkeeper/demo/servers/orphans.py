"""A server whose starter is gone is ended: however a demo or a test run ends, no server that it started stays behind.

Beside each server (a store, a node, a simulator) runs a small process of this file, which waits at a pipe. The starter
holds the other end. A pipe that closes without a word means that the starter has no more use for the server, or died,
even by kill -9: the server is ended and its files go. So nobody is between the two without a watch.
(PR_SET_PDEATHSIG would not do: it is lost when a process becomes another user's, and is sent when a thread ends.)

This file is also run by its path, without any package, so that a watch is there within milliseconds.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE_SECONDS = 20
LOOK_AGAIN_SECONDS = 0.05


class Watch:
    """Ends `process` by `how` and removes its `files` (a folder, or one file): when asked, or when this process ends.

    `after`: who watched the same files before, for a server that was started again.
    """

    def __init__(
        self, process: "subprocess.Popen[bytes]", how: signal.Signals, files: Path, after: "Watch | None" = None
    ) -> None:
        # A descriptor, unlike a number, never comes to mean another process.
        server = os.pidfd_open(process.pid)
        try:
            self._watcher = _watcher(files, str(server), str(process.pid), str(int(how)), pass_fds=[server])
        finally:
            os.close(server)
        if after is not None:
            after.hand_over()

    def clear_up(self) -> None:
        """Do now what would be done if this process ended."""
        self._watcher.communicate()

    def hand_over(self) -> None:
        """Somebody else watches these files from now on."""
        self._watcher.communicate(b"handed over")


class FolderWatch:
    """Removes a folder: when asked, or when this process ends. Servers that write into it have watches of their own."""

    def __init__(self, folder: Path) -> None:
        self._watcher = _watcher(folder)

    def clear_up(self) -> None:
        self._watcher.communicate()


def _watcher(files: Path, *server: str, pass_fds: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(files), *server],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=pass_fds,
        # Ctrl-C is for those who started us, not for those who clear up after them.
        start_new_session=True,
    )


def members(session: int) -> list[int]:
    """The processes of a session, and the children of its leader: PostgreSQL's backends lead groups of their own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session or int(fields[1]) == session:
            found.append(int(stat.parent.name))
    return found


def signal_all(session: int, number: signal.Signals) -> None:
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def main() -> None:
    files, server = Path(sys.argv[1]), [int(argument) for argument in sys.argv[2:]]
    if sys.stdin.buffer.read():
        return
    if server:
        _end(*server)
    if files.is_file():
        files.unlink()
    deadline = time.monotonic() + PATIENCE_SECONDS
    # Somebody may still write there, who is about to end.
    while files.exists() and time.monotonic() < deadline:
        shutil.rmtree(files, ignore_errors=True)
        time.sleep(LOOK_AGAIN_SECONDS if files.exists() else 0)


def _end(server: int, session: int, how: int) -> None:
    if _has_ended(server, 0):
        return
    # It may have been frozen.
    signal_all(session, signal.SIGCONT)
    signal.pidfd_send_signal(server, how)
    if not _has_ended(server, PATIENCE_SECONDS):
        signal_all(session, signal.SIGKILL)


def _has_ended(server: int, within_seconds: float) -> bool:
    return bool(select.select([server], [], [], within_seconds)[0])


if __name__ == "__main__":
    main()
