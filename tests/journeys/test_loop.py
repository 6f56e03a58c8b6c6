"""A gateway whose provider account is the gateway itself."""

from tests.chat import chat
from tests.client import ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.node import Node
from tools.services.process import wait_until


async def test_a_call_that_comes_back_is_refused_at_once(stores: Stores) -> None:
    settings = await variables(stores)
    async with office(load(settings)) as desk:
        customers = Customers(desk)
        customer, model = await customers.a_customer(), await customers.a_model()
        with Node(settings) as node:
            account = NewProviderAccount(
                name="itself", vendor="openai", base_url=f"{node.base}/v1", secret=customer.key
            )
            await desk.providers.add(account, actor=ACTOR)
            wait_until(lambda: ask(node, "/v1/models", key=customer.key).status == 200)
            answer = chat(node, customer.key, model, "hello")
            assert (answer.status, answer.error["code"]) == (400, "loop_detected")

            def logged() -> list[object]:
                return [line["code"] for line in node.call_lines() if line["path"] == "/v1/chat/completions"]

            wait_until(lambda: len(logged()) == 2)
            # The log has our own words alone: the outer call was rejected by a provider, which was the inner one.
            assert sorted(map(str, logged())) == ["loop_detected", "provider_rejected"]
