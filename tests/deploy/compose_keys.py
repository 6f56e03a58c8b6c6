"""What may stand in the shipped compose file: the part of the Compose specification that it uses, and nothing else.

A key that is misspelt is ignored by some programs and refused by others: the file does not do what it seems to say.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# The problems of a value, each beginning with where it stands.
Judge = Callable[[str, Any], Iterator[str]]


def text(pattern: str = r"(?s).+") -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            yield f"{place}: {value!r} is not {pattern}"

    return judge


def of(*kinds: type) -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        # In Python True is an int; in the specification it is not.
        if type(value) not in kinds:
            yield f"{place}: {value!r} is no {' or '.join(kind.__name__ for kind in kinds)}"

    return judge


def each(item: Judge) -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{place}: not a list"
            return
        for number, found in enumerate(value):
            yield from item(f"{place}[{number}]", found)

    return judge


def named(item: Judge, names: str = r"[a-z0-9_-]+") -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{place}: not a mapping"
            return
        for name, found in value.items():
            if not re.fullmatch(names, name):
                yield f"{place}: {name!r} is no name"
            yield from item(f"{place}.{name}", found)

    return judge


def keys(known: Mapping[str, Judge], needed: frozenset[str] = frozenset()) -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{place}: not a mapping"
            return
        yield from (f"{place}: {key!r} is missing" for key in sorted(needed - set(value)))
        for key, found in value.items():
            if key.startswith("x-"):
                continue
            if key not in known:
                yield f"{place}: there is no key {key!r}"
            else:
                yield from known[key](f"{place}.{key}", found)

    return judge


def either(*judges: Judge) -> Judge:
    def judge(place: str, value: Any) -> Iterator[str]:
        found = [list(each_judge(place, value)) for each_judge in judges]
        if all(found):
            yield from min(found, key=len)

    return judge


NOTHING = of(type(None))
DURATION = text(r"(\d+(ms|s|m|h))+")
SIZE = text(r"\d+[bkmg]")
CONDITION = text("service_(started|healthy|completed_successfully)")
HEALTHCHECK = {
    "test": each(text()),
    "interval": DURATION,
    "timeout": DURATION,
    "start_period": DURATION,
    "retries": of(int),
    "disable": of(bool),
}
SERVICE = {
    "image": text(),
    "command": each(text(r"(?s).*")),
    "environment": named(of(str, int), r"[A-Z][A-Z0-9_]*"),
    "restart": text("no|always|on-failure|unless-stopped"),
    "read_only": of(bool),
    "user": text(r"\d+:\d+"),
    "cap_drop": each(text("ALL|[A-Z_]+")),
    "security_opt": each(text("no-new-privileges:true")),
    "tmpfs": each(text(r"/[^:]*(:[a-z0-9=,]+)?")),
    "ulimits": named(either(of(int), keys({"soft": of(int), "hard": of(int)}, frozenset({"soft", "hard"})))),
    "depends_on": either(each(text()), named(keys({"condition": CONDITION}, frozenset({"condition"})))),
    "stop_grace_period": DURATION,
    "volumes": each(text(r"(\./)?[A-Za-z0-9_./-]+:/[A-Za-z0-9_./-]+(:ro)?")),
    "networks": either(each(text()), named(either(NOTHING, keys({"ipv4_address": text(r"[0-9.]+")})))),
    "ports": each(text(r"\d+:\d+")),
    "shm_size": SIZE,
    "healthcheck": keys(HEALTHCHECK),
}
IPAM = {"subnet": text(r"[0-9./]+"), "gateway": text(r"[0-9.]+"), "ip_range": text(r"[0-9./]+")}
NETWORK = {"internal": of(bool), "ipam": keys({"config": each(keys(IPAM, frozenset({"subnet"})))})}
FILE = keys(
    {
        "name": text("[a-z0-9_-]+"),
        "services": named(keys(SERVICE, frozenset({"image"}))),
        "networks": named(keys(NETWORK)),
        "volumes": named(NOTHING),
    },
    frozenset({"services"}),
)


def problems(file: Mapping[str, Any]) -> list[str]:
    """What is wrong with it: keys and values first, then names of what is not there."""
    return [*FILE("compose", file), *_dangling(file)]


def _dangling(file: Mapping[str, Any]) -> Iterator[str]:
    services = file.get("services", {})
    for name, service in services.items():
        yield from (
            f"{name} depends on no service {each!r}" for each in set(service.get("depends_on", ())) - set(services)
        )
        unknown = set(service.get("networks", ())) - set(file.get("networks", {}))
        yield from (f"{name} is in no network {each!r}" for each in unknown)
        for mounted in service.get("volumes", ()):
            source = mounted.partition(":")[0]
            if not source.startswith(".") and source not in file.get("volumes", {}):
                yield f"{name} has no volume {source!r}"
