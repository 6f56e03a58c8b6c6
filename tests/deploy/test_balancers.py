"""The shipped configurations of HAProxy, nginx and Caddy, judged by the programs themselves."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.shipped import DEPLOY
from tools.certificate import write_certificate
from tools.services.haproxy import PATH, haproxy

pytestmark = pytest.mark.not_quick


def judged(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = dict(os.environ) | environment
    return subprocess.run(command, env=known, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    return str(write_certificate(tmp_path / "certificate.pem", ["api.example.com"]))


def test_haproxy_takes_it_without_a_warning(certificate: str) -> None:
    file = str(DEPLOY / "haproxy" / "haproxy.cfg")
    done = judged(haproxy(), "-c", "-f", file, BALANCER_CERTIFICATE=certificate)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


def test_nginx_takes_it(certificate: str, tmp_path: Path) -> None:
    text = (DEPLOY / "nginx" / "tollkeeper.conf").read_text()
    for name in ("/etc/nginx/certificate.pem", "/etc/nginx/certificate.key"):
        assert name in text
        text = text.replace(name, certificate)
    (tmp_path / "tollkeeper.conf").write_text(text)
    around = (
        f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off; include tollkeeper.conf; }}\n"
    )
    (tmp_path / "nginx.conf").write_text(around)
    program = shutil.which("nginx", path=PATH)
    assert program is not None, "nginx is missing: `make setup` installs it"
    done = judged(program, "-t", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr


def test_caddy_takes_it(tmp_path: Path) -> None:
    file = str(DEPLOY / "caddy" / "Caddyfile")
    done = judged("caddy", "validate", "--adapter", "caddyfile", "--config", file, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    formatted = judged("caddy", "fmt", file)
    assert formatted.stdout == Path(file).read_text()
