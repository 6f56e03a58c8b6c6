"""No copy of this process's memory on a disk: it holds prompts, answers, keys and the secrets of the settings.

Rules of this file
1. The limit on core dumps (RLIMIT_CORE) is 0, soft and hard: children inherit it, and nobody can raise it again.
2. The kernel ignores that limit where dumps go to a program (systemd-coredump, apport). So the process is marked as not
   dumpable (PR_SET_DUMPABLE), too. The mark is lost with exec: every program sets it for itself.
3. The mark also keeps other processes of the same user from reading its memory and its environment. Only root can then
   use a debugger or profiler on it, unless an operator asks for more.
"""

import contextlib
import ctypes
import resource

# The system's name for the mark, in <linux/prctl.h>.
PR_SET_DUMPABLE = 4


def forbid_core_dumps(*, inspectable: bool = False) -> None:
    """`inspectable`: other processes of the same user may look into this one; core files are not written even so."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Only Linux has it.
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, int(inspectable), 0, 0, 0)
