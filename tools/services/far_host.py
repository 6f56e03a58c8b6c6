"""A host of its own, as far as the network goes: a network namespace with one cable (veth) to it, which can be pulled.

Rules of this file
1. What is cut is cut in both directions and without a word: packets are lost, no connection is refused.
2. A process holds the namespace, with a watch over it: however a run ends, namespace and cable go with it.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tollkeeper.demo.servers.redis import Redis
from tools.services.process import Server

PROGRAMS = ("ip", "nsenter", "unshare", "setpriv")
# Debian keeps `ip` off the PATH of those who are not root.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class FarHost(Server):
    """`address` is its own, `near` that of this side of the cable."""

    name = "host"

    def __init__(self) -> None:
        super().__init__()
        # Another one for each: the port is free, and so nobody else's number.
        net = f"10.{77 + self.port // 65_536}.{self.port // 256 % 256}"
        place = self.port % 63 * 4
        self.near, self.address = f"{net}.{place + 1}", f"{net}.{place + 2}"
        self._cable = f"tk{self.port}"

    def command(self) -> Sequence[str]:
        return ["unshare", "--net", "sleep", "infinity"]

    def identity(self) -> dict[str, Any]:
        """Only root makes namespaces."""
        return {}

    def is_ready(self) -> bool:
        """Whether it has left the network of this process."""
        [pid] = self.pids()
        return Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()

    def start(self) -> None:
        super().start()
        far = f"{self._cable}f"
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", far, "netns", str(self.pids()[0]))
        _run("ip", "address", "add", f"{self.near}/30", "dev", self._cable)
        _run("ip", "link", "set", self._cable, "up")
        _run(*self.inside("ip", "address", "add", f"{self.address}/30", "dev", far))
        for device in (far, "lo"):
            _run(*self.inside("ip", "link", "set", device, "up"))

    def cut(self) -> None:
        _run(*self.inside("ip", "link", "set", f"{self._cable}f", "down"))

    def mend(self) -> None:
        _run(*self.inside("ip", "link", "set", f"{self._cable}f", "up"))

    def inside(self, *command: str, user: str | None = None) -> list[str]:
        """The command as it is run on that host; `user`: by whom, if not by root."""
        there = ["nsenter", f"--net=/proc/{self.pids()[0]}/ns/net"]
        return [*there, *(_as_user(user) if user else ()), *command]


class FarRedis(Redis):
    """A Redis on a host of its own."""

    def __init__(self, far: FarHost, *options: str, password: str | None = None) -> None:
        super().__init__(*options, password=password)
        self.far = far
        self.host = far.address

    def command(self) -> Sequence[str]:
        return self.far.inside(*super().command(), user=self.user)

    def identity(self) -> dict[str, Any]:
        """Root enters the namespace; it becomes another user there."""
        return {}


def why_no_far_host() -> str:
    """What of this machine does not allow a host of its own; empty where it can be had."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    tried = ["unshare", "--net", "ip", "link", "add", "near", "type", "veth", "peer", "name", "far"]
    done = subprocess.run(tried, env=os.environ | {"PATH": PATH}, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"this machine makes no network namespace: {done.stderr.strip()}"


def _as_user(user: str) -> list[str]:
    known = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--clear-groups"]


def _run(*command: str) -> None:
    subprocess.run(command, env=os.environ | {"PATH": PATH}, check=True, capture_output=True, text=True)
