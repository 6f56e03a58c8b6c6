"""Whoever answers a client hears of its leaving: once, and not after it was answered."""

from uuid import uuid4

from tollkeeper.edge.http.exchange import Exchange
from tools.asked import Asked


def test_a_client_that_hangs_up_is_told_of() -> None:
    heard: list[str] = []
    asked = Asked()
    Exchange(asked, 0, uuid4()).when_left(lambda: heard.append("left"))
    assert heard == []
    asked.leave()
    assert heard == ["left"]


def test_one_that_is_gone_already_is_told_of_at_once() -> None:
    heard: list[str] = []
    asked = Asked()
    asked.leave()
    Exchange(asked, 0, uuid4()).when_left(lambda: heard.append("left"))
    assert heard == ["left"]


def test_a_client_that_was_answered_may_hang_up() -> None:
    heard: list[str] = []
    asked = Asked()
    exchange = Exchange(asked, 0, uuid4())
    exchange.when_left(lambda: heard.append("left"))
    exchange.claim()
    asked.leave()
    assert heard == []
