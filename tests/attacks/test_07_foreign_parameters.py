"""Parameters that would lead an order elsewhere, or have it cost more than is counted: refused, unsent, uncharged."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.attacker import Attacker, an_attacker
from tests.canary import Canary
from tests.chat import chat
from tests.client import ask
from tests.conftest import PROVIDER_KEY
from tests.customers import ACTOR, Customers
from tollkeeper.ports import NewProviderAccount
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

# What a caller would have the gateway or its provider do. In the place of CANARY stands an address.
CANARY = "http://127.0.0.1:{port}/v1"
ELSEWHERE: dict[str, Any] = {
    **dict.fromkeys(("api_base", "base_url", "API_BASE", "Base_Url", "custom_llm_provider", "proxy"), CANARY),
    "api_key": "sk-of-somebody",
    "extra_headers": {"host": CANARY, "authorization": "Bearer x"},
    "extra_body": {"api_base": CANARY},
    "organization": "org-of-somebody",
    "kv_transfer_params": {"remote_host": CANARY},
    "new_thing": CANARY,
}
DEARER: dict[str, Any] = {
    "models": ["dear"],
    "fallbacks": ["dear"],
    "route": "fallback",
    "provider": {"order": ["dear"]},
    "plugins": [{"id": "web"}],
    "transforms": ["middle-out"],
    "web_search_options": {},
    "documents": [{"text": "a text that nobody counts"}],
    "best_of": 20,
    "service_tier": "priority",
    "Service_Tier": "priority",
    "\u017fervice_tier": "priority",
    "Web_Search_Options": {},
    "tools": [{"type": "web_search"}],
    "cache_control": {"type": "ephemeral", "ttl": "1h"},
    "stream_options": {"new_thing": True},
}
MESSAGES: dict[str, Any] = {
    "a spoken answer of before": {"role": "assistant", "audio": {"id": "audio_1"}},
    "content in another case": {"role": "user", "content": "Hi", "Content": "a text that nobody counts"},
    "a part that nobody knows": {"role": "user", "content": [{"type": "document", "text": "uncounted"}]},
    "a file of the operator's": {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
    "a film": {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://films.example/1"}}]},
}
# Of every other kind of call.
KINDS = ("image", "edit", "speech", "transcription", "translation", "embedding", "response")
OF_MEDIA: dict[str, Any] = {
    **dict.fromkeys(("api_base", "url", "image_url", "webhook_url", "Response_Format_Of"), CANARY),
    "fallbacks": "dear",
    "User ": "x",
}


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    with Canary() as listening:
        yield listening


@pytest.fixture(scope="module")
async def attacker(node: Node, townsfolk: Customers, simulator: Simulator) -> Attacker:
    return await an_attacker(node, townsfolk, simulator)


def led_to(canary: Canary, value: Any) -> Any:
    """With the canary's address in its place."""
    if isinstance(value, dict):
        return {name: led_to(canary, inner) for name, inner in value.items()}
    return value.format(port=canary.port) if isinstance(value, str) else value


def test_without_them_every_kind_of_call_is_answered(attacker: Attacker, canary: Canary) -> None:
    """So that what is refused below is refused for what is in it."""
    honest = Attacker(attacker.node, attacker.simulator, attacker.witness, attacker.witness, attacker.models)
    for kind in ("chat", "message", *KINDS):
        assert getattr(honest, kind)().status == 200, kind
    assert canary.heard == []


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_nobody_is_led_elsewhere(attacker: Attacker, canary: Canary, name: str, stream: bool) -> None:
    answer = attacker.chat(stream=stream, **{name: led_to(canary, ELSEWHERE[name])})
    attacker.check_refused(answer)
    assert answer.error["param"] == name
    assert canary.heard == []


@pytest.mark.parametrize("name", DEARER)
def test_nothing_that_is_charged_beside_tokens_or_uncounted_is_sent(attacker: Attacker, name: str) -> None:
    answer = attacker.chat(**{name: DEARER[name]})
    attacker.check_refused(answer)
    assert str(answer.error["param"]).startswith(name)


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_nothing_that_nobody_counts_is_sent_inside_of_messages(attacker: Attacker, message: dict[str, Any]) -> None:
    answer = attacker.chat(messages=[message])
    attacker.check_refused(answer)
    assert str(answer.error["param"]).startswith("messages[0].")


@pytest.mark.parametrize("name", OF_MEDIA)
@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_calls_are_no_way_around_it(attacker: Attacker, canary: Canary, kind: str, name: str) -> None:
    answer = getattr(attacker, kind)(**{name: led_to(canary, OF_MEDIA[name])})
    attacker.check_refused(answer)
    assert answer.error["param"] == name
    assert canary.heard == []


@pytest.mark.parametrize("name", [*ELSEWHERE, "mcp_servers", "container", "speed", "fallbacks"])
def test_messages_are_no_way_around_it_either(attacker: Attacker, canary: Canary, name: str) -> None:
    answer = attacker.message(**{name: led_to(canary, ELSEWHERE.get(name, CANARY))})
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error"), answer.text
    assert name in answer.error["message"]
    attacker.check_nothing_came_of(answer)
    assert canary.heard == []


async def test_what_an_operator_lets_pass_goes_to_that_account_alone(
    attacker: Attacker, townsfolk: Customers, node: Node, simulator: Simulator
) -> None:
    model, name = await townsfolk.a_model(), f"passing-{uuid4().hex[:8]}"
    account = NewProviderAccount(
        name=name,
        vendor="openai",
        base_url=simulator.base,
        secret=PROVIDER_KEY,
        models={model: model},
        passes=frozenset({"guided_json"}),
    )
    await townsfolk.desk.providers.add(account, actor=ACTOR)
    wait_until(lambda: model in ask(node, "/v1/models", key=attacker.witness).text.decode(), within_seconds=20)
    # Where none that passes it serves the model, it is refused; here one of many does.
    attacker.check_refused(attacker.chat(guided_json={"type": "object"}))
    wait_until(lambda: chat(node, attacker.witness, model, "Hi", guided_json={}).status == 200, within_seconds=20)
    for _ in range(5):
        answer = chat(node, attacker.witness, model, "Hi", guided_json={"type": "object"})
        assert answer.status == 200
        simulator.wait_for(answer.headers["x-request-id"])
    assert chat(node, attacker.witness, model, "Hi", guided_json={}, api_base="x").error["param"] == "api_base"
