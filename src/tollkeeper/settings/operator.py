"""How a command line reaches the operator API: two settings that are read without the others."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from tollkeeper.core.people.operator_keys import has_operator_key_form
from tollkeeper.settings.reading import PREFIX, BadSettings, description, load_alone
from tollkeeper.settings.secret import Secret

URL, KEY = "operator_url", "operator_key"


class OperatorAccess(msgspec.Struct, frozen=True):
    """Where the console is, and the operator key to show there."""

    url: str
    key: Secret


def operator_access(environment: Mapping[str, str]) -> OperatorAccess | None:
    """None: neither is set. Raise BadSettings for one without the other, and for what cannot be used."""
    found = {name: value for name, value in load_alone(environment, URL, KEY).items() if value}
    if not found:
        return None
    problems = [f"{_variable(name)} is not set. {description(name)}" for name in (URL, KEY) if name not in found]
    if URL in found:
        problems += _of_address(found[URL])
    if KEY in found and not has_operator_key_form(found[KEY].reveal()):
        problems.append(f"{_variable(KEY)} is no operator key: `op-` and 48 letters and digits. {description(KEY)}")
    if problems:
        raise BadSettings("\n".join(problems))
    return OperatorAccess(found[URL].rstrip("/"), found[KEY])


def _of_address(url: str) -> list[str]:
    host = _host(url)
    if not host:
        return [f"{_variable(URL)}: this is no address. {description(URL)}"]
    if not url.startswith("https://") and not _is_here(host):
        return [f"{_variable(URL)} must begin with https://, since the operator key is sent there."]
    return []


def _host(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _variable(name: str) -> str:
    return PREFIX + name.upper()
