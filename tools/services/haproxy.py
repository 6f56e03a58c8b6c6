"""HAProxy with the configuration that is shipped, before nodes of our own."""

import csv
import io
import os
import shutil
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.certificate import write_certificate
from tools.services.process import Server, free_port

SHIPPED = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
# What the shipped file calls its addresses.
MAIN_HOST = "api.example.com"
HOSTS = (MAIN_HOST, "backup.example.com", "billing.example.com", "agents.example.com")
# Debian keeps it off the PATH of those who are not root.
PATH = os.environ.get("PATH", "") + ":/usr/sbin"


class HaProxy(Server):
    name = "haproxy"

    def __init__(self, nodes: Sequence[int], console: int | None = None) -> None:
        """`nodes`: the ports of the two; `console`: of the console, if there is one."""
        super().__init__()
        self.status_port, self.tls_port = free_port(), free_port()
        self.certificate = write_certificate(self.folder / "certificate.pem", HOSTS)
        shutil.copy(SHIPPED, self.folder / "haproxy.cfg")
        if self.user is not None:
            shutil.chown(self.certificate, self.user)
        one, two = nodes
        self._places = {
            "BALANCER_LISTEN": f"127.0.0.1:{self.tls_port}",
            "BALANCER_INSIDE": f"127.0.0.1:{self.port}",
            "BALANCER_STATUS": f"127.0.0.1:{self.status_port}",
            "BALANCER_CONNECTIONS": "1000",
            "BALANCER_CERTIFICATE": str(self.certificate),
            "NODE_ONE": f"127.0.0.1:{one}",
            "NODE_TWO": f"127.0.0.1:{two}",
            "CONSOLE_ONE": f"127.0.0.1:{console or free_port()}",
        }

    def command(self) -> Sequence[str]:
        places = [f"{name}={value}" for name, value in self._places.items()]
        return ["env", *places, haproxy(), "-db", "-f", str(self.folder / "haproxy.cfg")]

    def is_ready(self) -> bool:
        return bool(self.states())

    def states(self) -> Mapping[str, str]:
        """Of each node, as the balancer sees it: UP, DOWN, or on the way from one to the other."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/;csv", timeout=5) as answer:
                rows = csv.DictReader(io.StringIO(answer.read().decode().removeprefix("# ")))
        except OSError:
            return {}
        return {
            row["svname"]: row["status"] for row in rows if row["pxname"] == "gateway" and row["svname"] != "BACKEND"
        }


def haproxy() -> str:
    """Where the program is."""
    found = shutil.which("haproxy", path=PATH)
    if found is None:
        raise RuntimeError("HAProxy is missing: `make setup` installs it")
    return found
