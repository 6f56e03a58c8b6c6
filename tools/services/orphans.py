"""A server whose starter is gone is ended: however a run of tests ends, no server that it started stays behind.

Beside each server (a store, a node, a simulator) runs a small process of this file, which waits at a pipe. The starter
holds the other end, and writes to it once it has ended the server itself; a pipe that closes without a word means that
the starter died, even by kill -9.
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
from pathlib import Path

PATIENCE_SECONDS = 20


class Watch:
    """Ends `process` by `how`, and removes its `files` (a folder, or one file), if this process ends first."""

    def __init__(self, process: "subprocess.Popen[bytes]", how: signal.Signals, files: Path) -> None:
        # A descriptor, unlike a number, never comes to mean another process.
        server = os.pidfd_open(process.pid)
        try:
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(server), str(process.pid), str(int(how)), str(files)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[server],
                # Ctrl-C is for those who started us, not for those who clear up after them.
                start_new_session=True,
            )
        finally:
            os.close(server)

    def end(self) -> None:
        """The server is ended: there is nothing to watch."""
        self._watcher.communicate(b"ended")


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
    server, session, how = (int(argument) for argument in sys.argv[1:4])
    if sys.stdin.buffer.read():
        return
    if not _has_ended(server, 0):
        # It may have been frozen.
        signal_all(session, signal.SIGCONT)
        signal.pidfd_send_signal(server, how)
        if not _has_ended(server, PATIENCE_SECONDS):
            signal_all(session, signal.SIGKILL)
    files = Path(sys.argv[4])
    if files.is_file():
        files.unlink()
    shutil.rmtree(files, ignore_errors=True)


def _has_ended(server: int, within_seconds: float) -> bool:
    return bool(select.select([server], [], [], within_seconds)[0])


if __name__ == "__main__":
    main()
