"""Settings: read once from a TOML file and `TOLLKEEPER_*` variables, frozen, and passed on as values.

Rules of this file
1. Variables win over the file; the file wins over the defaults.
2. Every problem is found at once, at the start, and its message says what to change.
3. Secrets have type `Secret`, whose text shows only where it is asked for by name.
"""

import base64
import binascii
import hashlib
import re
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

PREFIX = "TOLLKEEPER_"
FILE_VARIABLE = "TOLLKEEPER_CONFIG"
HOST_FORM = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


class Secret(str):
    """Text that must not be shown: prints, formats and logs as dots."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "•••"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def reveal(self) -> str:
        return self[:]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    database_url: Annotated[
        Secret, Meta(description="Address of PostgreSQL: postgresql://user:password@host:port/name.")
    ]
    redis_url: Annotated[
        Secret,
        Meta(description="Address of Redis: redis://host:port/0. Redis may be away; the service goes on."),
    ]
    peppers: Annotated[
        Secret,
        Meta(
            description="Secrets under which API keys are digested: 1:BASE64, at least 32 bytes each. To rotate, add "
            "2:BASE64 behind a comma; keys made under older versions go on working while those are listed."
        ),
    ]
    envelope_keys: Annotated[
        Secret,
        Meta(
            description="Master keys that seal provider keys at rest: 1:BASE64, exactly 32 bytes each. Rotate as above."
        ),
    ]
    provider_domain: Annotated[
        str, Meta(min_length=1, description="The platform's own domain: `owned_by` in the model list.")
    ] = "tollkeeper.local"
    cell: Annotated[
        str,
        Meta(
            pattern="^[0-9A-Za-z]$",
            description="The character after `sk-` in keys made here: names this cell.",
        ),
    ] = "a"

    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 8080
    workers: Annotated[int, Meta(ge=1, le=64, description="Worker processes; one for each core is a good start.")] = 1
    node_name: Annotated[
        str,
        Meta(description="Name of this node, unique among those that share a database. Default: host name and port."),
    ] = ""

    main_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Host names of the main address, with or without port. None: main answers to any name."),
    ] = ()
    backup_hosts: Annotated[tuple[str, ...], Meta(description="Host names of the backup address.")] = ()
    billing_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Host names of the billing address. None: main serves the deprecated balance endpoints."),
    ] = ()
    agent_hosts: Annotated[tuple[str, ...], Meta(description="Host names of reseller addresses.")] = ()

    connections: Annotated[
        int, Meta(ge=128, description="Connections that one worker process keeps open to callers, busy or idle.")
    ] = 10_000
    idle_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="How long a connection may be idle, or take to send its headers. Longer than the balancer's.",
        ),
    ] = 75.0

    database_connections: Annotated[
        int,
        Meta(
            ge=2,
            le=200,
            description="Connections to PostgreSQL that one worker process opens for lookups (6 more for the books).",
        ),
    ] = 8
    store_patience_seconds: Annotated[
        float, Meta(gt=0, le=60, description="How long a call waits for a store before it is answered 503.")
    ] = 4.0
    key_snapshots: Annotated[
        int, Meta(ge=1, description="Key records that one worker process keeps in memory (about 1 KB each).")
    ] = 50_000
    reading_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="Request bytes that one worker process reads at once; beyond it callers get 503.",
        ),
    ] = 256 * 1024 * 1024
    journal_folder: Annotated[
        str,
        Meta(
            description="Where worker processes keep the journal of settlements under way. Local, writable, and the "
            "same after a restart; it holds ids and counts, never content."
        ),
    ] = "/var/tmp/tollkeeper"  # noqa: S108 (unlike /tmp it outlives a reboot; files are made with mode 600)
    body_seconds: Annotated[float, Meta(gt=0, description="How long a request body may take to arrive.")] = 60.0

    @property
    def journal(self) -> Path:
        """The journal's own folder for this database: another deployment's journal must not be replayed here."""
        database = self.database_url.rpartition("@")[2]
        return Path(self.journal_folder) / hashlib.sha256(database.encode()).hexdigest()[:16]

    @property
    def node(self) -> str:
        return self.node_name or f"{socket.gethostname()}:{self.port}"


class BadSettings(ValueError):
    """Settings that cannot be used; the message lists every problem."""


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings from the file that `TOLLKEEPER_CONFIG` names, if any, and from the variables."""
    given = _from_file(environment.get(FILE_VARIABLE)) | _from_variables(environment)
    problems = []
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        if field.name not in given:
            if field.required:
                problems.append(f"{PREFIX}{field.name.upper()} is not set. {description(field.name)}")
            continue
        try:
            values[field.name] = _convert(field.name, given[field.name])
        except (msgspec.ValidationError, ValueError) as problem:
            problems.append(f"{PREFIX}{field.name.upper()}: {problem}. {description(field.name)}")
    unknown = sorted(given.keys() - {field.name for field in msgspec.structs.fields(Settings)})
    problems += [f"{PREFIX}{name.upper()} is not a setting. `tollkeeper settings` lists them all." for name in unknown]
    if problems:
        raise BadSettings("\n".join(problems))
    settings = Settings(**values)
    problems = _check_hosts(settings)
    if problems:
        raise BadSettings("\n".join(problems))
    return settings


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


def description(name: str) -> str:
    annotations = get_args(get_type_hints(Settings, include_extras=True)[name])
    return next(item.description or "" for item in annotations if isinstance(item, Meta))


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
        keys_by_version(value, least_bytes=32)
    if name == "envelope_keys":
        keys_by_version(value, least_bytes=32, most_bytes=32)
    if name == "database_url":
        _check_address(value, ("postgresql://", "postgres://"))
    if name == "redis_url":
        _check_address(value, ("redis://", "rediss://", "unix://"))
    return Secret(value)


def _check_address(value: str, schemes: tuple[str, ...]) -> None:
    if not value.startswith(schemes):
        raise ValueError(f"it must begin with {schemes[0]}")
    try:
        _ = urlsplit(value).port
    except ValueError:
        # The message would quote the address, and the address may hold a password.
        raise ValueError("its port is not a number") from None


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
