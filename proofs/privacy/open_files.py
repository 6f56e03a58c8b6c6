"""What processes write to: files are looked at while they are open, also those that no folder shows any more."""

import os
import stat
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

LOOK_EVERY_SECONDS = 0.05
BYTES_MOST = 8 * 1024 * 1024
# What the system calls a file here is memory that several processes share, and is on no disk.
MEMORY = "/memfd:"


class OpenFiles:
    """Looks again and again, until it is stopped; `found` has what stood in files outside of the given folders."""

    def __init__(self, pids: Callable[[], Iterable[int]], known: Iterable[Path]) -> None:
        self.found: dict[str, bytes] = {}
        self._pids = pids
        self._known = (MEMORY, *map(str, known))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_EVERY_SECONDS):
            for pid in self._pids():
                self.look(pid)

    def look(self, pid: int) -> None:
        try:
            for link in Path(f"/proc/{pid}/fd").iterdir():
                self._look_at(pid, link)
        except OSError:
            # It has just ended.
            return

    def _look_at(self, pid: int, link: Path) -> None:
        try:
            target = os.readlink(link)  # noqa: PTH115 - a name of what is deleted is no path
            flags = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().split("flags:")[1].split()[0]
            is_file = stat.S_ISREG(link.stat().st_mode)
            if is_file and int(flags, 8) & os.O_ACCMODE and not target.startswith(self._known):
                with link.open("rb") as file:
                    content = file.read(BYTES_MOST)
                if content not in self.found.get(target, b""):
                    self.found[target] = self.found.get(target, b"") + content
        except OSError:
            return
