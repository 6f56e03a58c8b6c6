"""Orders as Gemini is sent them; whole ones are in `golden/gemini`."""

import json
from typing import Any

import pytest

from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, SECRET, an_account, an_order, sent_by
from tollkeeper.core.errors import InvalidParameter, UnsupportedParameter
from tollkeeper.providers.vendors.gemini import Gemini

GEMINI = Gemini()
HI = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
UNSIGNED = "skip_thought_signature_validator"


def a_call(id_: str = "c1", arguments: str = "{}", signature: object = None) -> dict[str, Any]:
    call: dict[str, Any] = {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}
    return call if signature is None else call | {"extra_content": {"google": {"thought_signature": signature}}}


def calling(*calls: object, **more: object) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": calls, **more}


def a_result(id_: str = "c1", content: object = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def contents_of(*messages: object, model: str = "m") -> Any:
    return sent_by(GEMINI, an_order(model=model, messages=messages))["contents"]


def settings_of(**fields: Any) -> Any:
    return sent_by(GEMINI, an_order(**fields)).get("generationConfig")


# Addresses.


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://vendor.test", "https://vendor.test/v1beta"),
        ("https://vendor.test/", "https://vendor.test/v1beta"),
        ("https://vendor.test/v1", "https://vendor.test/v1"),
        ("https://vendor.test/v1beta/", "https://vendor.test/v1beta"),
        ("https://vendor.test/gemini/v1alpha", "https://vendor.test/gemini/v1alpha"),
        ("https://vendor.test/gemini", "https://vendor.test/gemini/v1beta"),
    ],
)
def test_the_version_is_in_the_address_once(base_url: str, address: str) -> None:
    account = an_account(base_url=base_url)
    chat, headers, _ = GEMINI.chat(an_order(), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert chat == f"{address}/models/m:generateContent"
    assert ("x-goog-api-key", SECRET) in headers
    assert GEMINI.models(account) == (f"{address}/models", (("x-goog-api-key", SECRET),))


def test_an_account_can_ask_for_another_version() -> None:
    address, _ = GEMINI.models(an_account(api_version="v2"))
    assert address == "https://vendor.test/v2/models"


@pytest.mark.parametrize(
    ("theirs", "path"),
    [
        ("gemini-3.8-flash", "gemini-3.8-flash"),
        ("models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("../files?x=1#", "..%2Ffiles%3Fx%3D1%23"),
        ("a:b é", "a%3Ab%20%C3%A9"),
    ],
)
def test_a_model_is_named_in_the_address(theirs: str, path: str) -> None:
    account = an_account(models={"m": theirs})
    address, headers, _ = GEMINI.chat(an_order(stream=True), account, most_output_tokens=MOST_OUTPUT_TOKENS)
    assert address == f"https://vendor.test/v1beta/models/{path}:streamGenerateContent?alt=sse"
    assert ("accept", "text/event-stream") in headers


def an_error(*details: object) -> bytes:
    return json.dumps({"error": {"code": 400, "message": "No.", "details": details}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [
        pytest.param(400, an_error({"@type": "x"}, {"reason": "API_KEY_INVALID"}), 401, id="wrong key"),
        pytest.param(400, an_error({"reason": "ANOTHER"}, "API_KEY_INVALID"), 400, id="another reason"),
        pytest.param(400, b'{"error":{"message":"API_KEY_INVALID"}}', 400, id="the words alone"),
        pytest.param(400, b'{"error":{"status":"FAILED_PRECONDITION"}}', 503, id="not from where we are"),
        pytest.param(400, b'{"error":null}', 400, id="null"),
        pytest.param(400, b"[1]", 400, id="array"),
        pytest.param(400, b"API_KEY_INVALID", 400, id="no JSON"),
        pytest.param(429, an_error({"reason": "API_KEY_INVALID"}), 429, id="another status"),
    ],
)
def test_a_wrong_key_is_told_from_a_wrong_request(status: int, body: bytes, meaning: int) -> None:
    assert GEMINI.meaning(status, body) == meaning


# Messages.


@pytest.mark.parametrize(
    ("part", "place"),
    [
        pytest.param(
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}, ".image_url.url", id="address"
        ),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "data:image/png,x"}}, ".image_url.url", id="data without base64"
        ),
        pytest.param({"type": "image_url"}, "", id="no image"),
        pytest.param(
            {"type": "input_audio", "input_audio": {"data": "", "format": "x"}}, ".input_audio.format", id="audio"
        ),
        pytest.param({"type": "file", "file": {}}, "", id="no file"),
        pytest.param(
            {"type": "file", "file": {"file_data": "data:application/pdf,x"}}, ".file.file_data", id="file as text"
        ),
    ],
)
def test_a_part_that_cannot_be_sent_is_refused_by_its_place(part: object, place: str) -> None:
    content = [{"type": "text", "text": ""}, {"type": "text", "text": "Look"}, part]
    with pytest.raises(UnsupportedParameter) as refused:
        contents_of(HI, {"role": "user", "content": content})
    assert refused.value.param == f"messages[1].content[2]{place}"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        pytest.param([{"role": "function", "content": "x"}], "messages[0].role", id="role"),
        pytest.param(
            [HI, {"role": "system", "content": [IMAGE]}], "messages[1].content[0]", id="picture as instruction"
        ),
        pytest.param([calling(a_call()), a_result(content=[IMAGE])], "messages[1].content[0]", id="picture as result"),
        pytest.param([calling(a_call()), a_result("c2")], "messages[1].tool_call_id", id="result of no call"),
        pytest.param([a_result(), calling(a_call())], "messages[0].tool_call_id", id="result before its call"),
        pytest.param([{"role": "tool", "content": "x"}], "messages[0].tool_call_id", id="result without id"),
        pytest.param([calling({"id": "c", "custom": {}})], "messages[0].tool_calls[0]", id="no function"),
        pytest.param(
            [calling(a_call(), a_call("c2", "[]"))], "messages[0].tool_calls[1].function.arguments", id="arguments"
        ),
        pytest.param([{"role": "system", "content": "x"}, {"role": "user", "content": ""}], "messages", id="no words"),
    ],
)
def test_a_message_that_cannot_be_sent_is_refused_by_its_place(messages: list[object], place: str) -> None:
    with pytest.raises((UnsupportedParameter, InvalidParameter)) as refused:
        contents_of(*messages)
    assert refused.value.param == place


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("[1]", {"result": "[1]"}),
        ("5", {"result": "5"}),
        ("", {"result": ""}),
        (None, {"result": ""}),
        ('{"a"', {"result": '{"a"'}),
        ("[" * 3000, {"result": "[" * 3000}),
    ],
)
def test_a_result_is_an_object(content: object, response: object) -> None:
    result = contents_of(calling(a_call()), a_result(content=content))[1]["parts"][0]["functionResponse"]
    assert result == {"id": "c1", "name": "f", "response": response}


def test_results_stand_together_and_apart_from_other_words() -> None:
    contents = contents_of(calling(a_call(), a_call("c2")), a_result("c2"), a_result(), HI, HI)
    assert [(content["role"], len(content["parts"])) for content in contents] == [
        ("model", 2),
        ("user", 2),
        ("user", 2),
    ]
    assert [list(part) for part in contents[1]["parts"]] == [["functionResponse"]] * 2


@pytest.mark.parametrize(
    ("model", "signatures"),
    [
        ("gemini-1.5-pro", [None, None]),
        ("gemini-2.5-flash", [None, None]),
        ("gemini-3.8-flash", [UNSIGNED, None]),
        ("gemini-flash-latest", [UNSIGNED, None]),
    ],
)
def test_a_lost_signature_is_said_to_be_lost_where_it_is_asked_for(model: str, signatures: list[object]) -> None:
    messages = calling(a_call(), a_call("c2")), a_result(), a_result("c2"), calling(a_call("c3", signature="s"))
    first, _, second = contents_of(*messages, model=model)
    assert [part.get("thoughtSignature") for part in first["parts"]] == signatures
    assert second["parts"][0]["thoughtSignature"] == "s"


@pytest.mark.parametrize("extra", [{}, {"google": None}, {"google": {"thought_signature": 5}}, {"google": "s"}])
def test_a_signature_of_another_form_is_none(extra: object) -> None:
    message = calling(a_call() | {"extra_content": extra}, content="I look", extra_content=extra)
    assert contents_of(message, model="gemini-2.5-pro") == [
        {"role": "model", "parts": [{"text": "I look"}, {"functionCall": {"id": "c1", "name": "f", "args": {}}}]}
    ]


def test_words_go_back_with_their_signature() -> None:
    signed = {"role": "assistant", "content": "Hello", "extra_content": {"google": {"thought_signature": "s"}}}
    assert contents_of(signed)[0]["parts"] == [{"text": "Hello", "thoughtSignature": "s"}]


# Settings.


def test_no_cap_is_sent_that_the_caller_did_not_give() -> None:
    assert settings_of() is None
    assert settings_of(max_tokens=5) == {"maxOutputTokens": 5}


def test_one_answer_need_not_be_asked_for() -> None:
    assert settings_of(n=1) is None
    assert settings_of(n=2) == {"candidateCount": 2}


EFFORTS: list[tuple[str, str, dict[str, object]]] = [
    ("gemini-2.5-pro", "none", {"thinkingBudget": 0}),
    ("gemini-2.5-flash", "minimal", {"thinkingBudget": 1_024, "includeThoughts": True}),
    ("gemini-2.5-flash", "low", {"thinkingBudget": 1_024, "includeThoughts": True}),
    ("gemini-2.5-flash", "high", {"thinkingBudget": 24_576, "includeThoughts": True}),
    ("gemini-2.5-flash", "xhigh", {"thinkingBudget": 24_576, "includeThoughts": True}),
    ("gemini-3.8-flash", "none", {"thinkingLevel": "MINIMAL"}),
    ("gemini-3.8-flash", "minimal", {"thinkingLevel": "MINIMAL", "includeThoughts": True}),
    ("gemini-3.1-pro-preview", "minimal", {"thinkingLevel": "LOW", "includeThoughts": True}),
    ("gemini-3.1-pro-preview", "low", {"thinkingLevel": "LOW", "includeThoughts": True}),
    ("gemini-3.8-flash", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
    ("gemini-pro-latest", "xhigh", {"thinkingLevel": "HIGH", "includeThoughts": True}),
]


@pytest.mark.parametrize(("model", "effort", "config"), EFFORTS)
def test_an_effort_is_told_as_the_model_takes_it(model: str, effort: str, config: object) -> None:
    assert settings_of(model=model, reasoning_effort=effort) == {"thinkingConfig": config}


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (None, None),
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ({"type": "function", "function": {"name": "f"}}, {"mode": "ANY", "allowedFunctionNames": ["f"]}),
    ],
)
def test_a_choice_of_tools_is_told(choice: object, config: object) -> None:
    sent = sent_by(GEMINI, an_order(tools=[TOOL], tool_choice=choice))
    assert sent.get("toolConfig") == (config and {"functionCallingConfig": config})
    assert "toolConfig" not in sent_by(GEMINI, an_order(tool_choice=choice))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"reasoning_effort": "much"}, "reasoning_effort", id="effort"),
        pytest.param({"tools": [TOOL], "tool_choice": "any"}, "tool_choice", id="choice"),
        pytest.param({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice", id="allowed tools"),
        pytest.param({"tools": [TOOL, {"type": "custom"}]}, "tools[1]", id="tool"),
        pytest.param({"response_format": {"type": "grammar"}}, "response_format", id="form"),
        pytest.param({"response_format": {"type": "json_schema"}}, "response_format.json_schema", id="no schema"),
        pytest.param({"temperature": "hot"}, "temperature", id="type"),
        pytest.param({"logprobs": True}, "logprobs", id="refused by the table"),
        pytest.param({"grammar": "x"}, "grammar", id="unknown"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_refused_by_its_name(fields: dict[str, object], param: str) -> None:
    with pytest.raises((UnsupportedParameter, InvalidParameter)) as refused:
        sent_by(GEMINI, an_order(**fields))
    assert refused.value.param == param
