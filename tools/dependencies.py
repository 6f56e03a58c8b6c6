"""What this project depends on: read from pyproject.toml, the lock and a table that says why."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

PROJECT = Path(__file__).parent.parent
OURSELVES = "tollkeeper"

_LOCKED = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>[^ ;]+)(?: ; (?P<when>.*?))? \\$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    # +(?:via )?([a-z0-9.-]+)")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRAS = re.compile(r"\[([^]]+)\]")


class Locked(msgspec.Struct, kw_only=True):
    """One package of a lock: `via` are those that want it, `when` is the marker under which it is installed."""

    name: str
    version: str
    when: str | None = None
    hashes: list[str] = []
    via: list[str] = []


class Why(msgspec.Struct, frozen=True, kw_only=True, rename={"is_for": "for"}):
    """What a dependency of ours is for."""

    is_for: str
    kept_by: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """requirements/dependencies.toml."""

    runtime: Mapping[str, Why]
    demo: Mapping[str, Why]
    otel: Mapping[str, Why]
    dev: Mapping[str, Why]
    licences: Mapping[str, str]
    # Libraries of others inside a package's wheels, and their licences.
    bundled: Mapping[str, Mapping[str, str]]


class Declared(msgspec.Struct, frozen=True):
    """What pyproject.toml asks for, by name; extras are names of their own."""

    runtime: Sequence[str]
    extras: Sequence[str]
    demo: Sequence[str]
    otel: Sequence[str]
    dev: Sequence[str]


def table() -> Table:
    return msgspec.toml.decode((PROJECT / "requirements" / "dependencies.toml").read_bytes(), type=Table)


def declared() -> Declared:
    asked = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    runtime = asked["project"]["dependencies"]
    return Declared(
        runtime=_names(runtime),
        extras=[extra for line in runtime for found in _EXTRAS.findall(line) for extra in found.split(",")],
        demo=_names(asked["project"]["optional-dependencies"]["demo"]),
        otel=_names(asked["project"]["optional-dependencies"]["otel"]),
        dev=_names(asked["dependency-groups"]["dev"]),
    )


def locked(lock: str = "runtime") -> list[Locked]:
    """The packages of a lock, in its order."""
    found: list[Locked] = []
    for line in (PROJECT / "requirements" / f"{lock}.txt").read_text().splitlines():
        if begins := _LOCKED.match(line):
            found.append(msgspec.convert(begins.groupdict(), Locked))
        elif found:
            found[-1].hashes += _HASH.findall(line)
            found[-1].via += [name for name in _VIA.findall(line) if name != "via"]
    return found


def dependencies_page() -> Iterator[str]:
    why, packages = table(), locked()
    yield "# Dependencies\n"
    yield "What is installed with Tollkeeper, at the versions of `requirements/runtime.txt`: first what we ask for,"
    yield "then what comes with it. `make sbom` writes the same as CycloneDX, with hashes.\n"
    yield "| package | version | licence | what it is for | kept by |\n|---|---|---|---|---|"
    for package in packages:
        if (ours := why.runtime.get(package.name)) is not None:
            licence = why.licences[package.name]
            yield f"| `{package.name}` | {package.version} | {licence} | {ours.is_for} | {ours.kept_by} |"
    yield "\n| comes with another | version | licence | parent |\n|---|---|---|---|"
    for package in packages:
        if package.name not in why.runtime:
            parents = ", ".join(f"`{name}`" for name in package.via)
            when = f" (where {package.when})" if package.when else ""
            yield f"| `{package.name}` | {package.version}{when} | {why.licences[package.name]} | {parents} |"
    yield "\n## With the extra `otel`\n"
    yield "For an [OpenTelemetry collector](../guides/tracing.md), at the versions of `requirements/otel.txt`; not"
    yield "in the SBOM.\n"
    yield "| package | version | licence | what it is for, or its parent |\n|---|---|---|---|"
    for package in locked("otel"):
        asked = why.otel.get(package.name)
        reason = ", ".join(f"`{name}`" for name in package.via) if asked is None else asked.is_for
        yield f"| `{package.name}` | {package.version} | {why.licences[package.name]} | {reason} |"
    yield "\n## Not part of the service\n"
    yield "For `tollkeeper demo model`, tests and tools.\n"
    yield "| package | licence | what it is for |\n|---|---|---|"
    for name, used in (*why.demo.items(), *why.dev.items()):
        yield f"| `{name}` | {why.licences[name]} | {used.is_for} |"


def _names(lines: Sequence[str]) -> list[str]:
    return [found[0].lower() for line in lines if (found := _NAME.match(line))]
