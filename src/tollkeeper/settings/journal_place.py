"""Where the journal is kept if nobody said where: in no folder into which every user may write."""

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_FOLDER = Path("/var/lib/tollkeeper")
# Where it was kept once. Other users may have made it first, so it is only read, and only if it is ours.
FORMER_FOLDER = Path("/var/tmp/tollkeeper")  # noqa: S108 (see above)


def usual_journal_folder(environment: Mapping[str, str]) -> str:
    """The first that this process can use: systemd's state folder, the system's, the user's own. The last resort is a
    folder of this user alone, which the journal refuses if somebody else made it."""
    state = environment.get("STATE_DIRECTORY", "").partition(":")[0]
    home = environment.get("HOME", "")
    of_user = environment.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home else "")
    wanted = [Path(state)] if state else []
    wanted.append(SYSTEM_FOLDER)
    if of_user:
        wanted.append(Path(of_user) / "tollkeeper")
    last_resort = FORMER_FOLDER.with_name(f"tollkeeper-{os.geteuid()}")
    return str(next(filter(_can_be_used, wanted), last_resort))


def _can_be_used(folder: Path) -> bool:
    """Is there and writable, or can be made."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return folder.is_absolute() and there.is_dir() and os.access(there, os.W_OK | os.X_OK)
