"""A clock that can be set for one process and its children: libfaketime, read anew with every look at the time.

What counts seconds since the machine was started (the monotonic clock) goes on as it is, as when somebody sets the time
of a machine.
"""

from pathlib import Path


class MovedClock:
    """`settings` are for the environment of whoever is to live by it; `set` moves it while they run."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds_ahead: int) -> None:
        # Replaced in one step: a reader never finds it empty.
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds_ahead:+d}\n")
        new.replace(self._file)


def library() -> str:
    """Where libfaketime is."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        raise RuntimeError("libfaketime is missing: `make setup` installs it")
    return str(found[0])
