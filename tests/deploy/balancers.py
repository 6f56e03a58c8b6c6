"""HAProxy, nginx and Caddy with the configurations that are shipped, before one node on this machine."""

import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.deploy.shipped import DEPLOY
from tools.certificate import write_certificate
from tools.services.haproxy import MAIN_HOST, PATH, HaProxy
from tools.services.process import Server, free_port, wait_until


class Balancer(msgspec.Struct, frozen=True, kw_only=True):
    public_port: int
    # Where the console calls.
    inside_port: int
    # Without: it speaks plain HTTP here.
    certificate: Path | None = None


class Nginx(Server):
    """With the shipped file, in which places are written for those of this machine."""

    name = "nginx"

    def __init__(self, node: int) -> None:
        super().__init__()
        self.inside_port = free_port()
        self.certificate = write_certificate(self.folder / "certificate.pem", [MAIN_HOST])
        if self.user is not None:
            shutil.chown(self.certificate, self.user)
        text = (DEPLOY / "nginx" / "tollkeeper.conf").read_text()
        for told, here in {
            "/etc/nginx/certificate.pem": str(self.certificate),
            "/etc/nginx/certificate.key": str(self.certificate),
            "listen 443 ssl": f"listen 127.0.0.1:{self.port} ssl",
            "listen 127.0.0.1:8088": f"listen 127.0.0.1:{self.inside_port}",
            "10.0.0.11:8080": f"127.0.0.1:{node}",
            "10.0.0.12:8080": f"127.0.0.1:{node}",
        }.items():
            assert told in text
            text = text.replace(told, here)
        (self.folder / "tollkeeper.conf").write_text(text)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        rooms = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.folder}/pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; {rooms} include {self.folder}/tollkeeper.conf; }}\n"
        )

    def command(self) -> Sequence[str]:
        program = shutil.which("nginx", path=PATH)
        assert program is not None, "nginx is missing: `make setup` installs it"
        return [program, "-c", f"{self.folder}/nginx.conf", "-p", str(self.folder), "-e", "stderr"]

    def is_ready(self) -> bool:
        return _is_open(self.port)


class Caddy(Server):
    """With the shipped file; its names come from the environment, here without TLS, for which it asks an authority."""

    name = "caddy"

    def __init__(self, node: int) -> None:
        super().__init__()
        shutil.copy(DEPLOY / "caddy" / "Caddyfile", self.folder / "Caddyfile")
        hosts = {"MAIN_HOST": MAIN_HOST, "BACKUP_HOST": "b.test", "BILLING_HOST": "c.test", "AGENT_HOST": "d.test"}
        addresses = {name: f"http://{host}:{self.port}" for name, host in hosts.items()}
        self._told = addresses | {
            "CONSOLE_HOST": f"http://e.test:{self.port}",
            "GATEWAY": f"127.0.0.1:{node}",
            "CONSOLE": f"127.0.0.1:{node}",
            "CADDY_ADMIN": f"localhost:{free_port()}",
            "HOME": str(self.folder),
            "PATH": os.environ.get("PATH", os.defpath),
        }

    def command(self) -> Sequence[str]:
        told = [f"{name}={value}" for name, value in self._told.items()]
        return ["env", "-i", *told, "caddy", "run", "--adapter", "caddyfile", "--config", f"{self.folder}/Caddyfile"]

    def is_ready(self) -> bool:
        return _is_open(self.port)


@contextmanager
def behind_haproxy(node: int) -> Iterator[Balancer]:
    with HaProxy([node, node]) as running:
        wait_until(lambda: running.states().get("one") == "UP")
        yield Balancer(public_port=running.tls_port, inside_port=running.port, certificate=running.certificate)


@contextmanager
def behind_nginx(node: int) -> Iterator[Balancer]:
    with Nginx(node) as running:
        yield Balancer(public_port=running.port, inside_port=running.inside_port, certificate=running.certificate)


@contextmanager
def behind_caddy(node: int) -> Iterator[Balancer]:
    """As in compose.yml, where the console calls the gateway itself."""
    with Caddy(node) as running:
        yield Balancer(public_port=running.port, inside_port=node)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
