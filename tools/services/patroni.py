"""PostgreSQL under Patroni and etcd, in synchronous mode: who dies is followed by the other, without anybody's help."""

import json
import os
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tollkeeper.demo.servers.orphans import members
from tollkeeper.demo.servers.postgres import binary
from tools.services.far_host import FarHost
from tools.services.process import Server, free_port

SCOPE = "tollkeeper"
# A leader that is gone is followed when its lease has run out: the least that Patroni takes.
TTL_SECONDS = 20
HERE = "127.0.0.1"
LOOP_SECONDS = 2
RETRY_SECONDS = 4
FOLLOWING = ("running", "streaming")


class Etcd(Server):
    """Where Patroni keeps who leads."""

    name = "etcd"

    def __init__(self, host: str = HERE) -> None:
        super().__init__()
        self.host = host
        self._peer_port = free_port()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def command(self) -> Sequence[str]:
        peer = f"http://127.0.0.1:{self._peer_port}"
        here = ["--listen-client-urls", self.url, "--advertise-client-urls", self.url, "--listen-peer-urls", peer]
        cluster = ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        return [installed("etcd"), "--data-dir", str(self.folder / "data"), *here, *cluster]

    def is_ready(self) -> bool:
        return _status(f"{self.url}/health") == 200


class Member(Server):
    """One PostgreSQL and the Patroni that starts it. Its address does not change, whichever part it has.

    Its name stands in a setting of PostgreSQL, where `first` and `any` mean something else.
    """

    name = "patroni"

    def __init__(self, etcd: Etcd, member: str, password: str, settings: dict[str, str]) -> None:
        super().__init__()
        self.host = self._host(etcd)
        self.password = password
        self._rest_port = free_port()
        self._data = self.folder / "data"
        file = self.folder / "patroni.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(self._configuration(etcd, member, settings)))
        if self.user is not None:
            shutil.chown(file, self.user)

    @property
    def url(self) -> str:
        return f"postgresql://tollkeeper:{self.password}@{self.host}:{self.port}/postgres"

    def _host(self, etcd: Etcd) -> str:
        """Where it listens: beside etcd."""
        return etcd.host

    def command(self) -> Sequence[str]:
        return [installed("patroni"), str(self.folder / "patroni.json")]

    def is_ready(self) -> bool:
        return self.says("health")

    def says(self, part: str) -> bool:
        """Whether it answers that it is the `primary`, or in good `health`."""
        return _status(f"http://{self.host}:{self._rest_port}/{part}") == 200

    def is_followed(self) -> bool:
        """Whether etcd has, just now, another one that may take its place."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self._rest_port}/cluster", timeout=5) as answer:
                found = json.loads(answer.read())
        except OSError:
            return False
        return any(member["role"] == "sync_standby" and member["state"] in FOLLOWING for member in found["members"])

    def kill(self) -> None:
        """As when its host is reset: Patroni and PostgreSQL, without a word."""
        postmaster = self._postmaster()
        super().kill()
        if postmaster is not None:
            with suppress(ProcessLookupError):
                os.kill(postmaster, signal.SIGKILL)

    def crash(self) -> None:
        """PostgreSQL alone, by an immediate shutdown: its Patroni starts it again."""
        self._tell_server(signal.SIGQUIT)

    def freeze(self) -> None:
        """PostgreSQL alone, while its Patroni looks on."""
        self._tell_server(signal.SIGSTOP, with_children=True)

    def thaw(self) -> None:
        self._tell_server(signal.SIGCONT, with_children=True)

    def __exit__(self, *_: object) -> None:
        self.kill()
        super().__exit__()

    def _postmaster(self) -> int | None:
        with suppress(FileNotFoundError, ValueError):
            return int((self._data / "postmaster.pid").read_text().splitlines()[0])
        return None

    def _tell_server(self, number: signal.Signals, *, with_children: bool = False) -> None:
        postmaster = self._postmaster()
        if postmaster is not None:
            for pid in (postmaster, *(members(postmaster) if with_children else ())):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _configuration(self, etcd: Etcd, member: str, settings: dict[str, str]) -> dict[str, object]:
        here = f"{self.host}:{self.port}"
        rest = f"{self.host}:{self._rest_port}"
        return {
            "scope": SCOPE,
            "name": member,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"host": f"{etcd.host}:{etcd.port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL_SECONDS,
                    "loop_wait": LOOP_SECONDS,
                    "retry_timeout": RETRY_SECONDS,
                    "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": settings},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, {"auth": "scram-sha-256"}],
            },
            "postgresql": {
                "listen": here,
                "connect_address": here,
                "data_dir": str(self._data),
                "bin_dir": str(Path(binary("postgres")).parent),
                # Otherwise a copy begins with the next checkpoint, minutes later.
                "basebackup": {"checkpoint": "fast"},
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {
                    "superuser": {"username": "tollkeeper", "password": self.password},
                    "replication": {"username": "follower", "password": self.password},
                },
                "parameters": {"unix_socket_directories": ""},
                # From its own host and those that it has a cable to.
                "pg_hba": ["host all all samenet scram-sha-256", "host replication all samenet scram-sha-256"],
            },
        }


class FarMember(Member):
    """One on a host of its own, to which there is a cable from etcd's."""

    def __init__(self, far: FarHost, etcd: Etcd, member: str, password: str, settings: dict[str, str]) -> None:
        self.far = far
        super().__init__(etcd, member, password, settings)

    def _host(self, _: Etcd) -> str:
        return self.far.address

    def command(self) -> Sequence[str]:
        return self.far.inside(*super().command(), user=self.user)

    def identity(self) -> dict[str, Any]:
        """Root enters the namespace; it becomes another user there."""
        return {}


def installed(name: str) -> str:
    """Where the program is."""
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is missing: `make setup` installs it")
    return found


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code
    except OSError:
        return 0
