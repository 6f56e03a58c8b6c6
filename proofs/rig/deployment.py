"""A deployment for one proof: stores, a journal folder, servers that start together, and the operator's books check."""

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol, TypeVar

from proofs.rig.proof import say
from tools.node import own_deployment, tollkeeper
from tools.services import Postgres, Redis


class Startable(AbstractContextManager[object], Protocol):
    def start(self) -> None: ...


S = TypeVar("S", bound=Startable)


def deployment(stack: ExitStack, *, postgres: Postgres | None = None, redis: Redis | None = None) -> dict[str, str]:
    """Settings of a deployment of its own, whose stores are started here and stopped with `stack`."""
    return own_deployment() | {
        "TOLLKEEPER_DATABASE_URL": stack.enter_context(postgres or Postgres()).url,
        "TOLLKEEPER_REDIS_URL": stack.enter_context(redis or Redis()).url,
        "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack),
    }


def journal_folder(stack: ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-"))


def started(stack: ExitStack, server: S) -> S:
    """Stopped with `stack`, also where it is interrupted while it starts."""
    stack.push(server)
    server.start()
    return server


def start_together(stack: ExitStack, servers: Sequence[S]) -> None:
    """Stopped with `stack`, also where one of them does not start."""
    for server in servers:
        stack.push(server)
    with ThreadPoolExecutor(len(servers)) as hands:
        list(hands.map(lambda server: server.start(), servers))


def books_are_clean(settings: Mapping[str, str]) -> bool:
    """As an operator has them checked; what is wrong is printed."""
    check = tollkeeper(settings, "books", "check")
    if check.returncode:
        say(check.stdout + check.stderr)
    return check.returncode == 0
