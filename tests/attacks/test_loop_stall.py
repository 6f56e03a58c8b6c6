"""Large and strange JSON bodies: whoever calls beside them is served."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from tests.chat import PATH, chat
from tests.client import ask
from tests.customers import Customers
from tollkeeper.core.money.quote import TokenCaps
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

SIZE = 30_000_000
PARAMETERS = 30
MESSAGES = b'"messages":[{"role":"user","content":"hi"}]'


def a_text(piece: bytes) -> bytes:
    return b'"messages":[{"role":"user","content":"%s"}]' % (piece * (SIZE // len(piece)))


def many_parameters() -> Iterator[bytes]:
    """Each just so large that it was read whole."""
    for number in range(PARAMETERS):
        yield b'"x%d":[%s[]]' % (number, b"[]," * (SIZE // PARAMETERS // 3))


# What of a body is strange, and what it is answered.
STRANGE: dict[str, tuple[Callable[[], bytes], int]] = {
    "arrays in many parameters": (lambda: b",".join([MESSAGES, *many_parameters()]), 400),
    "numbers": (lambda: MESSAGES + b',"x":[%s1]' % (b"1," * (SIZE // 2)), 400),
    "escapes": (lambda: a_text(rb"\n"), 200),
    "escaped quotes": (lambda: a_text(rb"\""), 200),
    "not ASCII": (lambda: a_text("ü".encode()), 200),
    "many messages": (
        lambda: b'"messages":[%s]' % b",".join([b'{"role":"user","content":"%s"}' % (b"hi " * 200)] * 45_000),
        200,
    ),
    "a picture": (
        lambda: (
            b'"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,'
            b'%s"}}]}]' % (b"QUJD" * (SIZE // 4))
        ),
        200,
    ),
    "out of range": (lambda: a_text(b"word ").replace(b'"}]', b'","y":[1,2,1e999]}]'), 400),
}


@pytest.fixture(scope="module")
def seconds_to_build() -> float:
    """How long this machine, as busy as it is, needs to build what the slowest of these bodies says: seconds."""
    body = b"{%s}" % b",".join(many_parameters())
    begun = time.monotonic()
    msgspec.json.decode(body)
    return time.monotonic() - begun


@pytest.mark.parametrize("strange", STRANGE)
async def test_whoever_calls_beside_a_large_strange_body_is_served(
    node: Node, simulator: Simulator, townsfolk: Customers, strange: str, seconds_to_build: float
) -> None:
    customer, bystander = await townsfolk.a_customer(usd="1000"), await townsfolk.a_customer()
    # One that can read all of it: a body that is too long for its model is refused before it is sent.
    model = await townsfolk.a_model(limits=TokenCaps(context_tokens=2**31 - 1))
    wait_until(lambda: chat(node, bystander.key, model, "Hi").status == 200, within_seconds=30)
    make, status = STRANGE[strange]
    body = b'{"model":"%s",%s}' % (model.encode(), make())

    def call_beside() -> float:
        begun = time.monotonic()
        # Not by way of the provider, which has the large body to read as well.
        assert ask(node, "/v2/token/balance", key=bystander.key).status == 200
        return time.monotonic() - begun

    with ThreadPoolExecutor(1) as callers:
        sending = callers.submit(ask, node, PATH, method="POST", key=customer.key, body=body)
        beside = [call_beside()]
        while not sending.done():
            beside.append(call_beside())
        answer = sending.result()
    assert max(beside) < seconds_to_build / 2
    assert answer.status == status, answer.text[:500]
