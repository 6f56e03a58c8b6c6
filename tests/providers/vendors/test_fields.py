"""What becomes of each parameter of the protocol, by vendor."""

import json
from typing import get_type_hints

import pytest
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from tests.providers.vendors.builders import an_account, an_order, sent_by
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.providers.vendors.fields import FIELDS, NOWHERE, FieldVerdict, WireFormat
from tollkeeper.providers.vendors.passes import can_be_passed

FORMS = {
    "openai": WireFormat.COMPATIBLE,
    "azure": WireFormat.COMPATIBLE,
    "anthropic": WireFormat.ANTHROPIC,
    "gemini": WireFormat.GEMINI,
}
FREE = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
UNSEEN = {
    "anthropic": {"stream_options", "tool_choice", "parallel_tool_calls"},
    "gemini": {"stream", "stream_options", "tool_choice", "parallel_tool_calls"},
}
# A value of each parameter that asks for something.
ASKING: dict[str, object] = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 50,
    "max_completion_tokens": 50,
    "stop": "END",
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "tools": [{"type": "function", "function": {"name": "f"}}],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}},
    "reasoning_effort": "low",
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "cache_control": {"type": "ephemeral"},
    "n": 2,
    "seed": 7,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 3,
    "verbosity": "low",
    "prediction": {"type": "content", "content": "x"},
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "explicit"},
    "prompt_cache_retention": "24h",
    "data_sources": [{"type": "azure_search"}],
    "functions": [{"name": "f"}],
    "function_call": "auto",
    "store": True,
    "metadata": {"a": "b"},
    "service_tier": "priority",
    "web_search_options": {},
    "audio": {"voice": "alloy", "format": "mp3"},
    "moderation": {"model": "omni-moderation-latest"},
    "usage": {"include": True},
    "reasoning": {"effort": "high"},
    "include_reasoning": True,
    "reasoning_format": "parsed",
    "enable_thinking": True,
    "thinking_budget": 1024,
    "min_p": 0.1,
    "top_a": 0.1,
    "typical_p": 0.1,
    "repetition_penalty": 1.1,
    "min_tokens": 5,
    "stop_token_ids": [7],
    "modalities": ["text", "audio"],
    **dict.fromkeys(NOWHERE, "https://canary.example"),
}
TABLE = [
    pytest.param(name, vendor, id=f"{name}, {vendor}")
    for name in sorted(FIELDS.keys() - {"model", "messages"})
    for vendor in FORMS
]


def test_every_parameter_of_the_table_is_tried() -> None:
    assert ASKING.keys() == FIELDS.keys() - {"model", "messages"}


@pytest.mark.parametrize(("name", "vendor"), TABLE)
def test_a_parameter_is_taken_left_out_or_refused_by_its_name(name: str, vendor: str) -> None:
    order, verdict = an_order(**{name: ASKING[name]}), FIELDS[name].in_form(FORMS[vendor]).verdict
    if verdict is FieldVerdict.REFUSED:
        with pytest.raises(UnsupportedParameter, match=f"'{name}' cannot be honoured: ") as refusal:
            sent_by(VENDORS[vendor], order)
        assert refusal.value.param == name
        return
    sent = json.dumps(sent_by(VENDORS[vendor], order))
    if FORMS[vendor] is WireFormat.COMPATIBLE:
        assert (f'"{name}"' in sent) is (verdict is FieldVerdict.TAKEN)
    else:
        is_as_without = sent == json.dumps(sent_by(VENDORS[vendor], an_order()))
        # Where and how answers come is not in the body, and a choice of tools needs tools.
        assert is_as_without is (verdict is FieldVerdict.DROPPED or name in UNSEEN[vendor])


@pytest.mark.parametrize(("name", "vendor"), TABLE)
def test_null_asks_for_nothing(name: str, vendor: str) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], name: None}
    sent_by(VENDORS[vendor], read_chat(json.dumps(asked).encode()))


@pytest.mark.parametrize("vendor", FORMS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 1),
        ("frequency_penalty", 0),
        ("presence_penalty", 0.0),
        ("logit_bias", {}),
        ("logprobs", False),
        ("verbosity", "medium"),
        ("service_tier", "auto"),
        ("service_tier", "default"),
        ("modalities", ["text"]),
        ("store", False),
    ],
)
def test_values_that_ask_for_nothing_are_refused_by_nobody(name: str, value: object, vendor: str) -> None:
    sent_by(VENDORS[vendor], an_order(**{name: value}))


@pytest.mark.parametrize("vendor", FORMS)
@pytest.mark.parametrize("name", ["service_tier", "data_sources", "moderation"])
def test_nobody_is_sent_what_would_cost_more_than_the_price_says(name: str, vendor: str) -> None:
    with pytest.raises(UnsupportedParameter):
        sent_by(VENDORS[vendor], an_order(**{name: ASKING[name]}))


@pytest.mark.parametrize("vendor", FORMS)
def test_nobody_is_asked_to_keep_what_callers_say(vendor: str) -> None:
    sent = sent_by(VENDORS[vendor], an_order(store=True, metadata={"a": "b"}))
    assert not {"store", "metadata"} & sent.keys()


@pytest.mark.parametrize("vendor", FORMS)
def test_parameters_that_nobody_listed_are_refused(vendor: str) -> None:
    with pytest.raises(UnsupportedParameter, match="'new_thing' cannot be honoured: this service does not know it"):
        sent_by(VENDORS[vendor], an_order(new_thing={"a": 1}))


@pytest.mark.parametrize("vendor", FORMS)
@pytest.mark.parametrize(
    "name",
    [
        *("Service_Tier", "SERVICE_TIER", "service_tıer", "\u017fervice_tier", "ｓervice_tier"),  # noqa: RUF001
        *(
            "API_BASE",
            "Base_Url",
            "Api_\u212aey",
            "Web_Search_Options",
            "Modalities",
            "Store",
            "Top_P",
            "Mode\u200bl",
            "model ",
        ),
    ],
)
def test_a_listed_name_written_otherwise_is_refused_whatever_the_listed_one_is(name: str, vendor: str) -> None:
    with pytest.raises(UnsupportedParameter) as refusal:
        sent_by(VENDORS[vendor], an_order(**{name: "priority"}))
    assert refusal.value.param == name


def test_a_listed_name_in_another_case_is_refused_with_the_right_one() -> None:
    with pytest.raises(UnsupportedParameter, match="send service_tier"):
        sent_by(VENDORS["openai"], an_order(Service_Tier="auto"))


def test_an_order_of_listed_parameters_goes_out_as_it_came() -> None:
    order = an_order(model="m", temperature=0.5, stream=True, stream_options={"include_usage": True}, seed=1)
    _, _, body = VENDORS["openai"].chat(order, an_account(), most_output_tokens=5)
    assert body is order.body


@pytest.mark.parametrize("create", [CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming])
def test_every_parameter_of_the_vendors_sdk_is_listed(create: type) -> None:
    assert get_type_hints(create).keys() <= FIELDS.keys()


# What the operator lets pass to one account.


@pytest.mark.parametrize("vendor", ["openai", "azure"])
def test_what_an_operator_lets_pass_goes_out_as_it_is(vendor: str) -> None:
    account = an_account(vendor, passes=frozenset({"chat_template_kwargs"}))
    given = {"enable_thinking": False}
    assert sent_by(VENDORS[vendor], an_order(chat_template_kwargs=given), account)["chat_template_kwargs"] == given
    for other in ("Chat_Template_Kwargs", "new_thing", "api_base"):
        with pytest.raises(UnsupportedParameter):
            sent_by(VENDORS[vendor], an_order(chat_template_kwargs=given, **{other: "x"}), account)


@pytest.mark.parametrize("vendor", ["anthropic", "gemini"])
def test_nothing_passes_where_it_must_be_translated(vendor: str) -> None:
    account = an_account(vendor, passes=frozenset({"new_thing"}))
    with pytest.raises(UnsupportedParameter):
        sent_by(VENDORS[vendor], an_order(new_thing=1), account)


@pytest.mark.parametrize("name", ["chat_template_kwargs", "guided_json", "ignore_eos", "x1"])
def test_what_is_not_listed_can_be_let_pass(name: str) -> None:
    assert can_be_passed(name)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(FIELDS),
        *("prompt", "input", "voice", "size", "file", "url", "image_url", "webhook_url"),
        *("Api_Base", "Guided", "\u017fervice_tier", "a b", "a-b", "", "_", "1", "a" * 65, "language[]", "x\n"),
    ],
)
def test_what_is_listed_or_looks_like_it_cannot(name: str) -> None:
    assert not can_be_passed(name)


def test_accounts_that_pass_different_things_speak_differently() -> None:
    assert an_account().capabilities != an_account(passes=frozenset({"x"})).capabilities


# What one account does not take, though its vendor does.


def test_an_account_that_rejects_stream_options_is_not_sent_any() -> None:
    account = an_account(rejects=frozenset({"stream_options"}))
    for asked in (None, {"include_usage": True}, {"include_obfuscation": False}):
        assert "stream_options" not in sent_by(VENDORS["openai"], an_order(stream=True, stream_options=asked), account)


def test_a_cap_goes_by_the_name_that_an_account_knows() -> None:
    account = an_account(rejects=frozenset({"max_completion_tokens"}))
    sent = sent_by(VENDORS["openai"], an_order(max_completion_tokens=9), account)
    assert (sent.get("max_tokens"), sent.get("max_completion_tokens")) == (9, None)
    sent = sent_by(VENDORS["openai"], an_order(max_completion_tokens=9, max_tokens=8), account)
    assert (sent.get("max_tokens"), sent.get("max_completion_tokens")) == (8, None)


@pytest.mark.parametrize("rejects", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("given", ["max_tokens", "max_completion_tokens"])
def test_a_cap_of_null_does_not_hide_the_other(rejects: str, given: str) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    caps = {"max_tokens": None, "max_completion_tokens": None, given: 9}
    account = an_account(rejects=frozenset({rejects}))
    sent = sent_by(VENDORS["openai"], read_chat(json.dumps(asked | caps).encode()), account)
    assert {name: value for name, value in sent.items() if value == 9} == {FREE[rejects]: 9}


def test_what_an_account_rejects_and_an_answer_would_miss_is_refused() -> None:
    account = an_account(rejects=frozenset({"tools", "seed", "parallel_tool_calls"}))
    assert "seed" not in sent_by(VENDORS["openai"], an_order(seed=1), account)
    assert "parallel_tool_calls" not in sent_by(VENDORS["openai"], an_order(parallel_tool_calls=True), account)
    with pytest.raises(UnsupportedParameter, match="'tools' cannot be honoured: the provider of this model does not"):
        sent_by(VENDORS["openai"], an_order(tools=ASKING["tools"]), account)
