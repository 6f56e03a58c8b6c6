"""What the shipped files name is there: settings, commands, variables, addresses."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.shipped import DEPLOY, UNITS, compose, pods, unit
from tollkeeper.cli.families import FAMILIES
from tollkeeper.settings import PREFIX, Settings
from tollkeeper.settings.reading import FILE_VARIABLE

FILES = sorted(file for file in DEPLOY.rglob("*") if file.is_file() and file.name != ".env")
KNOWN = {PREFIX + name.upper() for name in Settings.__struct_fields__} | {FILE_VARIABLE}
# main, backup, billing, reseller.
ADDRESSES = ("api.example.com", "backup.example.com", "billing.example.com", "agents.example.com")
BALANCERS = (
    "haproxy/haproxy.cfg",
    "nginx/tollkeeper.conf",
    "caddy/Caddyfile",
    "kubernetes/ingress.yaml",
    "example.env",
)


def commands() -> Iterator[tuple[str, str]]:
    for name, pod in pods():
        yield f"kubernetes: {name}", pod["containers"][0]["args"][0]
    for name, service in compose()["services"].items():
        if "tollkeeper" in service["image"]:
            yield f"compose: {name}", service["command"][0]
    for file in UNITS:
        yield f"systemd: {file.name}", unit(file)["Service"]["ExecStart"].split()[1]
    yield "image", "serve"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_every_setting_that_is_named_exists(file: Path) -> None:
    named = set(re.findall(rf"{PREFIX}[A-Z_]*[A-Z]", file.read_text()))
    assert named <= KNOWN, f"{sorted(named - KNOWN)} of {file.name} are no settings"


@pytest.mark.parametrize(("where", "command"), list(commands()), ids=lambda given: str(given).replace(" ", ""))
def test_every_command_that_is_started_exists(where: str, command: str) -> None:
    assert command in FAMILIES, where


@pytest.mark.parametrize("name", BALANCERS)
def test_every_example_has_the_four_addresses_and_the_console(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert all(address in text for address in (*ADDRESSES, "console.example.com"))


def test_every_variable_that_compose_needs_is_in_the_example() -> None:
    text = (DEPLOY / "compose.yml").read_text()
    needed = set(re.findall(r"\$\{([A-Z_]+):\?\}", text))
    given = dict(re.findall(r"^([A-Z_]+)=(.*)$", (DEPLOY / "example.env").read_text(), re.MULTILINE))
    assert needed <= set(given)
    secrets = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "PEPPERS", "ENVELOPE_KEYS")
    assert not any(given[name] for name in secrets), "a secret that everybody has is none"
