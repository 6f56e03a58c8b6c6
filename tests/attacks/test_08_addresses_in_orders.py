"""Addresses in orders that would have a provider fetch from inside: refused with their place, unsent, uncharged."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacker import Attacker, an_attacker
from tests.canary import Canary
from tests.customers import Customers
from tools.node import Node
from tools.simulator import Simulator

HOSTS = {
    "loopback": "127.0.0.1",
    "shortened": "127.1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "hexadecimal": "0x7f.0.0.1",
    "nowhere": "0.0.0.0",  # noqa: S104
    "nothing": "0",
    "IPv6": "[::1]",
    "nowhere in IPv6": "[::]",
    "mapped": "[::ffff:127.0.0.1]",
    "translated": "[64:ff9b::7f00:1]",
    "localhost": "localhost",
    "localhost with a dot": "LOCALHOST.",
    "wide digits": "１２７.0.0.1",  # noqa: RUF001
    "ideographic dots": "127。0。0。1",
    "private": "10.0.0.1",
    "metadata": "169.254.169.254",
    "metadata by name": "metadata.google.internal",
    "behind a user": "pictures.example@127.0.0.1",
    "a host for a user": "127.0.0.1@pictures.example",
    "one label": "redis",
}
OTHERS = {
    "a file": "file:///etc/passwd",
    "a path": "/etc/passwd",
    "another protocol": "gopher://pictures.example/_x",
    "a page as data": "data:text/html;base64,AAAA",
    "a picture that can refer to others": "data:image/svg+xml;base64,AAAA",
    "a backslash": "http://pictures.example\\@127.0.0.1/",
}
URL = "messages[0].content[1].image_url.url"


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    with Canary() as listening:
        yield listening


@pytest.fixture(scope="module")
async def attacker(node: Node, townsfolk: Customers, simulator: Simulator) -> Attacker:
    return await an_attacker(node, townsfolk, simulator)


def asking(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}]


def picture(url: str) -> list[dict[str, Any]]:
    return asking({"type": "image_url", "image_url": {"url": url}})


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_a_picture_that_leads_inward_is_refused(attacker: Attacker, canary: Canary, host: str) -> None:
    answer = attacker.chat(messages=picture(f"http://{host}:{canary.port}/latest/meta-data/"))
    attacker.check_refused(answer)
    assert answer.error["param"] == URL
    assert canary.heard == []


@pytest.mark.parametrize("url", OTHERS.values(), ids=OTHERS)
def test_a_picture_that_is_no_picture_is_refused(attacker: Attacker, url: str) -> None:
    answer = attacker.chat(messages=picture(url), stream=True)
    attacker.check_refused(answer)
    assert answer.error["param"] == URL


@pytest.mark.parametrize(
    ("kind", "member"), [("file", "file_data"), ("input_audio", "data")], ids=["a document", "a sound"]
)
def test_documents_and_sounds_are_not_fetched_at_all(
    attacker: Attacker, canary: Canary, kind: str, member: str
) -> None:
    for address in (f"http://127.0.0.1:{canary.port}/a", "https://documents.example/a.pdf", "file:///etc/passwd"):
        answer = attacker.chat(messages=asking({"type": kind, kind: {member: address}}))
        attacker.check_refused(answer)
        assert answer.error["param"] == f"messages[0].content[1].{kind}.{member}"
    assert canary.heard == []


def test_nobody_here_fetches_a_public_picture(attacker: Attacker, canary: Canary) -> None:
    honest = Attacker(attacker.node, attacker.simulator, attacker.witness, attacker.witness, attacker.models)
    for url in ("https://pictures.example/1.png", "data:image/png;base64,AAAA"):
        assert honest.chat(messages=picture(url)).status == 200
    assert canary.heard == []
