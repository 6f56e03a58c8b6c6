"""Answers go out before their exchange ends, whoever gives them."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest

from tests.relay.fakes import StillClock
from tollkeeper.core.addresses import AddressBook
from tollkeeper.core.errors import EdgeTimeout
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.guard import Guard
from tollkeeper.edge.http.exchange import Exchange, Reply
from tollkeeper.edge.respond import Gateway, HealthReport
from tollkeeper.edge.routes import EVERYWHERE, Route, RouteTable
from tollkeeper.metrics.calls import CallFigures
from tollkeeper.ports import Ban
from tools.asked import Asked


class NoBans:
    def find(self, ip: str) -> Ban | None:
        return None


class InvalidCalls:
    def note(self, ip: str, code: str) -> None:
        raise AssertionError("nothing is invalid here")


async def done_in_the_moment_of_its_cut(exchange: Exchange, services: Services) -> Reply:
    exchange.answer_now(EdgeTimeout(), None)
    return Reply(b"{}")


def health() -> HealthReport:
    raise AssertionError("nobody asks for that")


@pytest.fixture
def nowhere() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


async def test_a_call_that_ends_in_the_moment_of_its_cut_is_answered_before_its_exchange_ends(nowhere: int) -> None:
    """Otherwise the server says 500, for a call that is charged."""
    book = AddressBook({})
    routes = RouteTable([Route("POST", "/late", EVERYWHERE, done_in_the_moment_of_its_cut)], book)
    relay = SimpleNamespace(clock=StillClock(), figures=CallFigures([]))
    services = cast(Services, SimpleNamespace(relay=relay, on_ended=None, new_request_id=lambda _: uuid4()))
    call_log = CallLog(nowhere)
    gateway = Gateway(services, routes, book, call_log, health, Guard(NoBans(), InvalidCalls(), ()))
    asked = Asked("POST", b"/late", [(b"host", b"main.test")], peer=("192.0.2.9", 1))
    await gateway.answer(asked)
    assert (asked.status, asked.is_over) == (524, True)
    await call_log.close()
