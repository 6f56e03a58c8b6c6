"""Builders for the vendors' tests: orders, accounts, and answers as they come off a wire."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.ports import ProviderAccount, Vendor
from tollkeeper.settings import Secret

SECRET = "the-vendor-key"
MOST_OUTPUT_TOKENS = 16_384


def an_order(**fields: Any) -> ChatOrder:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]} | fields
    return read_chat(json.dumps({name: value for name, value in asked.items() if value is not None}).encode())


def an_account(vendor: str = "openai", **more: Any) -> ProviderAccount:
    given: dict[str, Any] = {
        "id": 1,
        "name": "a",
        "vendor": vendor,
        "base_url": "https://vendor.test",
        "secret": Secret(SECRET),
    } | more
    return ProviderAccount(**given)


def sent_by(vendor: Vendor, order: ChatOrder, account: ProviderAccount | None = None) -> dict[str, Any]:
    """The body that a vendor is sent for an order."""
    _, _, body = vendor.chat(order, account or an_account(), most_output_tokens=MOST_OUTPUT_TOKENS)
    sent: dict[str, Any] = json.loads(body)
    return sent


class Heard:
    """An answer in pieces, as the `UpstreamAnswer` port has it."""

    status = 200
    is_translated = False
    untranslated: LeftOut | None = None
    native: bytes | None = None

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.is_closed = False

    def header(self, name: str) -> str | None:
        return f"the {name}"

    async def read(self) -> bytes:
        return next(self._pieces, b"")

    def pass_by(self, take: Callable[[bytes], bool]) -> None:
        raise AssertionError("what is translated does not pass by")

    async def close(self) -> None:
        self.is_closed = True


async def told_by(vendor: Vendor, pieces: Iterable[bytes], order: ChatOrder) -> bytes:
    """What the relay hears of an answer."""
    answer = vendor.translate(Heard(pieces), order)
    told = bytearray()
    while piece := await answer.read():
        told += piece
    return bytes(told)


def events_in(stream: bytes) -> list[bytes]:
    """The data of every event."""
    return [data for event in EventSplitter().feed(stream) if (data := data_of(event))]


def metered(stream: bytes) -> Meter:
    """A meter that has read a stream, and found nothing wrong with it."""
    meter = Meter()
    kinds = [meter.read_event(data) for data in events_in(stream)]
    assert not {Event.ERROR, Event.MALFORMED} & set(kinds)
    return meter
