"""Who listens on a port, as the system tells every process: by the numbers of the sockets. Which process has which of
them is told to nobody but the same user, and of our own workers not even to that one."""

import contextlib
from pathlib import Path

# In the tables of sockets.
LISTEN = "0A"
TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")


def listeners(port: int) -> set[str]:
    """The sockets in this network that listen on the port."""
    found = set()
    for table in TABLES:
        # Where there is no IPv6 there is no table for it.
        with contextlib.suppress(FileNotFoundError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found
