"""Settings are read once from a TOML file and `TOLLKEEPER_*` variables, frozen, and passed on as values.

Rules of this file
1. Variables win over the file; the file wins over the defaults.
2. Every problem is found at once, at the start, and its message says what to change.
3. Secrets have type `Secret`, whose text shows only where it is asked for by name.
"""

import base64
import binascii
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta

from tollkeeper.core.client_ip import read_networks
from tollkeeper.settings.journal_place import usual_journal_folder
from tollkeeper.settings.secret import Secret
from tollkeeper.settings.values import Settings

PREFIX = "TOLLKEEPER_"
MARK = "mark:"
MARK_BYTES = 32
FILE_VARIABLE = "TOLLKEEPER_CONFIG"
SEVERAL_SERVERS = re.compile(r"rediss?\+(sentinel|cluster)://(?:[^/]*@)?([^/]*)(/?.*)")
SEVERAL_DATABASES = re.compile(r"postgres(?:ql)?://(?:[^/?]*@)?([^/@?]*,[^/@?]*)(?:[/?].*)?")
HOST_FORM = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
HEADER_FORM = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!-~]([ -~]*[!-~])?)")
SENDER_FORM = re.compile(r"[^<>@\s]+@[^<>@\s]+|[^<>@\r\n]+ <[^<>@\s]+@[^<>@\s]+>")


class BadSettings(ValueError):
    """Settings that cannot be used; the message lists every problem."""


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings from the file that `TOLLKEEPER_CONFIG` names, if any, and from the variables."""
    given = _given(environment)
    values, problems = _converted(given)
    unset = [field.name for field in msgspec.structs.fields(Settings) if field.required and field.name not in given]
    problems = [f"{PREFIX}{name.upper()} is not set. {description(name)}" for name in unset] + problems
    unknown = sorted(given.keys() - {field.name for field in msgspec.structs.fields(Settings)})
    problems += [f"{PREFIX}{name.upper()} is not a setting. `tollkeeper settings` lists them all." for name in unknown]
    if problems:
        raise BadSettings("\n".join(problems))
    # An empty one is none.
    values["journal_folder"] = values.get("journal_folder") or usual_journal_folder(environment)
    settings = Settings(**values)
    checks = (_check_versions, _check_hosts, _check_proxies, _check_mail, _check_log_site)
    problems = [problem for check in checks for problem in check(settings)]
    if problems:
        raise BadSettings("\n".join(problems))
    return settings


def load_alone(environment: Mapping[str, str], *names: str) -> dict[str, Any]:
    """Some settings without the others: those that were set. Raise BadSettings for what is wrong with these."""
    given = _given(environment)
    values, problems = _converted({name: given[name] for name in names if name in given})
    if problems:
        raise BadSettings("\n".join(problems))
    return values


def sources(environment: Mapping[str, str]) -> dict[str, str]:
    """Where each setting comes from: a variable, the file, or its default."""
    in_file, in_variables = _from_file(environment.get(FILE_VARIABLE)), _from_variables(environment)
    return {
        name: "variable" if name in in_variables else "file" if name in in_file else "default"
        for name in Settings.__struct_fields__
    }


def keys_by_version(text: str, *, least_bytes: int, most_bytes: int | None = None) -> dict[int, bytes]:
    """Parse `1:BASE64,2:BASE64`."""
    found = {}
    for item in text.split(","):
        version, colon, encoded = item.strip().partition(":")
        if not colon or not version.isdigit() or not 1 <= int(version) <= 32_767:
            raise ValueError("each item must read VERSION:BASE64, for example 1:3q2+7w==")
        try:
            secret = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise ValueError(f"the secret of version {version} is not base64") from None
        if len(secret) < least_bytes or (most_bytes is not None and len(secret) > most_bytes):
            wanted = f"exactly {least_bytes}" if most_bytes == least_bytes else f"at least {least_bytes}"
            raise ValueError(f"the secret of version {version} has {len(secret)} bytes; it must have {wanted}")
        if int(version) in found:
            raise ValueError(f"version {version} stands there twice")
        found[int(version)] = secret
    return found


def peppers_in(text: str) -> tuple[dict[int, bytes], bytes | None]:
    """Parse `1:BASE64,2:BASE64`; and `mark:BASE64`, the mark of the service from before its oldest pepper was retired,
    where one stands there."""
    items = [item.strip() for item in text.split(",")]
    marks = [item.removeprefix(MARK) for item in items if item.startswith(MARK)]
    rest = ",".join(item for item in items if not item.startswith(MARK))
    if len(marks) > 1:
        raise ValueError("the mark stands there twice")
    try:
        mark = base64.b64decode(marks[0], validate=True) if marks else None
    except binascii.Error:
        raise ValueError("the mark is not base64") from None
    if mark is not None and len(mark) != MARK_BYTES:
        raise ValueError(f"the mark has {len(mark)} bytes; it must have exactly {MARK_BYTES}")
    return keys_by_version(rest, least_bytes=32), mark


def headers_in(text: str) -> dict[str, str]:
    """Parse `name=value,name=value`, where values may be percent-encoded."""
    found = {}
    for number, item in enumerate(filter(None, map(str.strip, text.split(","))), start=1):
        header = HEADER_FORM.fullmatch(unquote(item))
        if header is None:
            raise ValueError(f"item {number} does not read name=value, in plain ASCII")
        found[header[1].lower()] = header[2]
    return found


def description(name: str) -> str:
    annotations = get_args(get_type_hints(Settings, include_extras=True)[name])
    return next(item.description or "" for item in annotations if isinstance(item, Meta))


def _given(environment: Mapping[str, str]) -> dict[str, object]:
    return _from_file(environment.get(FILE_VARIABLE)) | _from_variables(environment)


def _converted(given: Mapping[str, object]) -> tuple[dict[str, Any], list[str]]:
    """The values of those that are settings, and what is wrong with the others."""
    values: dict[str, Any] = {}
    problems = []
    for name in Settings.__struct_fields__:
        if name in given:
            try:
                values[name] = _convert(name, given[name])
            except (msgspec.ValidationError, ValueError) as problem:
                problems.append(f"{PREFIX}{name.upper()}: {problem}. {description(name)}")
    return values, problems


def _convert(name: str, value: object) -> object:
    wanted = get_type_hints(Settings, include_extras=True)[name]
    plain = get_args(wanted)[0]
    if plain is Secret:
        return _secret(name, str(value))
    if get_origin(plain) is tuple and isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    return msgspec.convert(value, wanted, strict=False)


def _secret(name: str, value: str) -> Secret:
    if name == "peppers":
        peppers_in(value)
    if name == "envelope_keys":
        keys_by_version(value, least_bytes=32, most_bytes=32)
    if name == "database_url":
        _check_database(value)
    if name == "redis_url":
        _check_redis(value)
    if name == "smtp_url" and value:
        _check_address(value, ("smtp://", "smtps://"))
    if name == "otel_headers":
        headers_in(value)
    if name == "egress_proxy" and value:
        _check_address(value, ("http://", "https://"))
    return Secret(value)


def _check_address(value: str, schemes: tuple[str, ...]) -> None:
    if not value.startswith(schemes):
        raise ValueError(f"it must begin with {schemes[0]}")
    try:
        _ = urlsplit(value).port
    except ValueError:
        # The message would quote the address, and the address may hold a password.
        raise ValueError("its port is not a number") from None


def _check_database(value: str) -> None:
    """It may name several servers, of which one takes writes."""
    found = SEVERAL_DATABASES.fullmatch(value)
    if found is None:
        _check_address(value, ("postgresql://", "postgres://"))
    elif not all(map(HOST_FORM.fullmatch, found[1].split(","))):
        raise ValueError("each of its hosts must read host:port, with commas between them")


def _check_redis(value: str) -> None:
    if "?" in value:
        raise ValueError("options behind a question mark are not taken")
    found = SEVERAL_SERVERS.fullmatch(value)
    if found is None:
        _check_address(value, ("redis://", "rediss://", "unix://"))
        return
    family, hosts, path = found.groups()
    if not all(HOST_FORM.fullmatch(host) and host.rpartition(":")[2].isdigit() for host in hosts.split(",")):
        raise ValueError("each of its hosts must read host:port, with commas between them")
    service, _, database = path.strip("/").partition("/")
    if family == "sentinel" and not service:
        raise ValueError("it must name the service behind the hosts: redis+sentinel://host:port/service")
    if database and not database.isdigit():
        raise ValueError("what follows the service is the number of a database")


def _check_versions(settings: Settings) -> list[str]:
    listed = {
        "pepper_in_use": ("peppers", peppers_in(settings.peppers)[0]),
        "envelope_key_in_use": ("envelope_keys", keys_by_version(settings.envelope_keys, least_bytes=32)),
    }
    return [
        f"{PREFIX}{name.upper()}: version {getattr(settings, name)} is not listed in {PREFIX}{place.upper()}."
        for name, (place, versions) in listed.items()
        if getattr(settings, name) and getattr(settings, name) not in versions
    ]


def _check_hosts(settings: Settings) -> list[str]:
    """Problems that only show when the addresses are seen together."""
    problems, claimed = [], dict[str, str]()
    for name in ("main_hosts", "backup_hosts", "billing_hosts", "agent_hosts"):
        for host in getattr(settings, name):
            if not HOST_FORM.fullmatch(host):
                problems.append(f"{PREFIX}{name.upper()}: '{host}' is not a host name with or without a port.")
            elif claimed.setdefault(host.lower(), name) != name:
                problems.append(f"{PREFIX}{name.upper()}: '{host}' already stands in {claimed[host.lower()]}.")
    return problems


def _check_proxies(settings: Settings) -> list[str]:
    try:
        read_networks(settings.trusted_proxies)
    except ValueError as problem:
        return [f"{PREFIX}TRUSTED_PROXIES: {problem}. {description('trusted_proxies')}"]
    return []


def _check_mail(settings: Settings) -> list[str]:
    if settings.smtp_url and not SENDER_FORM.fullmatch(settings.mail_from):
        return [f"{PREFIX}MAIL_FROM must name a sender where {PREFIX}SMTP_URL is set. {description('mail_from')}"]
    return []


def _check_log_site(settings: Settings) -> list[str]:
    if settings.log_site.startswith("s3://") and not (settings.log_site_key_id and settings.log_site_secret):
        return [f"{PREFIX}LOG_SITE is a bucket: {PREFIX}LOG_SITE_KEY_ID and {PREFIX}LOG_SITE_SECRET must be set, too."]
    return []


def _from_file(path: str | None) -> dict[str, object]:
    if not path:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise BadSettings(f"{FILE_VARIABLE} names {path}, which cannot be read: {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadSettings(f"{path} is not valid TOML: {problem}.") from None


def _from_variables(environment: Mapping[str, str]) -> dict[str, object]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name != FILE_VARIABLE
    }
