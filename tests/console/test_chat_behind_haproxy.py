"""The chat through the shipped HAProxy: the gateway knows its visitors one by one, so that a ban is one visitor's."""

from collections.abc import Iterator

import pytest

from tests.console.chat_visitor import ChatVisitor, said, words
from tests.customers import Customers
from tests.people import Person
from tollkeeper_simulator.speech import text_of
from tools.console import Console
from tools.node import Node, command
from tools.services.haproxy import MAIN_HOST, HaProxy
from tools.services.process import wait_until

pytestmark = pytest.mark.usefixtures("simulator")

REFUSED = "Calls from this address are refused"
BANNED, OTHER = "127.44.0.2", "127.44.0.3"


@pytest.fixture(scope="module")
def balanced(town: tuple[dict[str, str], Customers]) -> Iterator[Console]:
    """A console whose calls reach the gateway through HAProxy. Node and console trust this machine's usual IP alone."""
    shared = town[0] | {"TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1", "TOLLKEEPER_MAIN_HOSTS": MAIN_HOST}
    with Node(shared) as node, HaProxy([node.port, node.port]) as balancer:
        wait_until(lambda: balancer.states().get("one") == "UP")
        inside = {"TOLLKEEPER_CONSOLE_GATEWAY_URL": f"http://127.0.0.1:{balancer.port}"}
        with Console(shared | inside) as console:
            yield console


async def test_a_ban_of_one_visitor_is_no_ban_of_another(balanced: Console, chatter: Person, talker: str) -> None:
    banned, other = (ChatVisitor(balanced, chatter, own_ip) for own_ip in (BANNED, OTHER))
    assert words(banned.answer(talker, said("[[tokens=3]]"))) == text_of(3)
    command(balanced.settings, "ban", "add", BANNED, "--hours", "1", "--reason", "peak")
    wait_until(
        lambda: REFUSED in str(banned.answer(talker, said("[[tokens=3]]"))[-1].get("trouble")), within_seconds=20
    )
    assert words(other.answer(talker, said("[[tokens=3]]"))) == text_of(3)
