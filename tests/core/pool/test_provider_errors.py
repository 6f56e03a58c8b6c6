import json
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.calls.test_chat import json_values
from tollkeeper.core.pool.provider_errors import (
    CLEANED_CHARACTERS_MOST,
    LEFT_OUT,
    MESSAGE_CHARACTERS_MOST,
    ModelNames,
    Rejection,
    read_rejection,
)

SECRET = "sk-proj-T3vQx8Zr1LmN0pWkYb5cDfGh"
# As vendors make them: with a prefix, in hexadecimal, without any mark.
SECRETS = [
    SECRET,
    "d41d8cd98f00b204e9800998ecf8427e",
    "gsk_9aZbYcXdWeVfUgTh",
    "AIzaSyD3x4mp1e-Key_0",
    "tokenwithoutmarks",
]
secrets = st.sampled_from(SECRETS) | st.text("abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=12, max_size=40)


def a_rejection(message: object = "No.", **fields: object) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **fields}}).encode()


def all_that_is_told(rejection: Rejection) -> str:
    return " ".join(filter(None, (rejection.message, rejection.param, rejection.code)))


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        pytest.param(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. "
            "Please reduce the length of the messages.",
            "messages",
            "context_length_exceeded",
            id="context length",
        ),
        pytest.param(
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
            id="unsupported parameter",
        ),
        pytest.param(
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function' and 'tool'.",
            "messages[0].role",
            "invalid_value",
            id="invalid value",
        ),
        pytest.param(
            "Invalid schema for function 'get_weather': In context=('properties', 'e-mail'), 'type' is not permitted.",
            "tools[0].function.parameters",
            "invalid_function_parameters",
            id="invalid schema",
        ),
        pytest.param("Invalid 'temperature': must be between 0.0 and 2.0, not 1.2.3.", "temperature", None, id="range"),
        pytest.param("An assistant message with 'tool_calls' must be followed.", "messages.[2].role", None, id="dots"),
        pytest.param("You must provide a model parameter.", None, None, id="neither parameter nor code"),
        pytest.param("输入长度超过限制\uff0c最多 8192 个令牌。", "messages", "1210", id="chinese"),
        pytest.param(
            "Missing required parameter: 'web_search_options.user_location.type'.",
            "web_search_options.user_location.type",
            "missing_required_parameter",
            id="a parameter that begins with user_",
        ),
        pytest.param(
            "The prompt contains user-provided tools, which this model does not take.",
            "tools",
            None,
            id="a word that begins with user-",
        ),
        pytest.param(
            "Invalid 'metadata': at most 16 key-value pairs are allowed.",
            "metadata",
            None,
            id="a word that begins with key-",
        ),
        pytest.param(
            "The batch window closed at 12:30:45.",
            None,
            None,
            id="a time of day",
        ),
    ],
)
def test_what_concerns_the_caller_comes_through_unchanged(message: str, param: str | None, code: str | None) -> None:
    told = read_rejection(a_rejection(message, param=param, code=code), SECRET)
    assert told == Rejection(message, param, code if code and code[0].isalpha() else None)


# What is left out, and what of it must not be seen.
OURS = {
    "workspace": ("The workspace wrkspc_011CZkZaBF1tNoB5 has no access.", "011CZ"),
    "organisation by uuid": ("The organisation 8f14e45f-ceea-467f-a9a1-0b1c2d3e4f5a is over its limit.", "8f14"),
    "project by number": ("Quota exceeded for project 123456789012.", "123456"),
    "project by path": ("The model projects/our-project-7/locations/x is unknown.", "our-project"),
    "google's key": ("The key AIzaSyD4nQx8Zr1LmN0pWk was refused.", "SyD4"),
    "key": ("Incorrect API key provided: sk-T3vQx8Zr1LmN0pWk.", "T3vQ"),
    "key of a project": ("Incorrect API key provided: sk-proj-T3vQ_x8Zr-1LmN.", "T3vQ"),
    "key in stars": ("Incorrect API key provided: sk-proj-********************Gh12.", "Gh12"),
    "key shortened": ("The key sk-T3v...Gh12 was revoked.", "Gh12"),
    "key in quotes": ("Invalid key 'sk-T3vQx8Zr1LmN'.", "T3vQ"),
    "key in capitals": ("Invalid key SK-T3VQX8ZR1LMN.", "T3VQ"),
    "organisation": ("Rate limit reached for gpt-4o in organization org-Ab12Cd34Ef on tokens.", "Ab12Cd34Ef"),
    "project": ("Project proj_Ab12Cd34Ef does not have access to model gpt-4o.", "Ab12Cd34Ef"),
    "user": ("This user-Ab12Cd34Ef is blocked.", "Ab12Cd34Ef"),
    "request": ("Include the request ID req_Ab12Cd34Ef in your email.", "Ab12Cd34Ef"),
    "URL": ("See https://we-are-here.openai.azure.com/openai/deployments/x?api-version=1 for more.", "we-are-here"),
    "URL without TLS": ("POST http://we-are-here:8000/v1 failed.", "we-are-here"),
    "URL in brackets": ("Quota is used up (https://console.example/we-are-here/billing).", "we-are-here"),
    "e-mail": ("Write to ann.keeper+ai@tollkeeper.example about your plan.", "tollkeeper"),
    "e-mail, its name": ("Write to <ann.keeper@tollkeeper.example>.", "ann.keeper"),
    "IPv4": ("Your address 203.0.113.77 is not on the list.", "203.0.113.77"),
    "IPv6": ("Your address 2001:db8:85a3::8a2e:370:7334 is not on the list.", "db8"),
    "IPv6, all groups": ("Your address 2001:0db8:85a3:0000:0000:8a2e:0370:7334 is not on the list.", "db8"),
    "IPv6 in capitals": ("Your address (2001:DB8::77) is not on the list.", "DB8"),
    "IPv6 in brackets": ("connect to [fd00::12:3]:8000 failed", "fd00"),
    "IPv6, this host": ("connect to ::1 failed", "::1"),
    "IPv4 and port": ("connect to 10.1.2.3:8000 failed", "10.1.2"),
    "host alone": ("The host we-are-here.openai.azure.com does not answer.", "we-are-here"),
    "organisation without a digit": ("Rate limit reached for organization org-AbCdEfGhIjKlMnOpQrStUvWx.", "AbCdEf"),
    "IPv6 with IPv4 in it": ("Your address ::ffff:203.0.113.77 is not on the list.", "113.77"),
    "IPv6 behind a colon": ("The client_ip:2001:db8::77 is not on the list.", "db8"),
    "IPv6 network": ("The network 2001:db8:1:2::/64 is not on the list.", "db8"),
}


@pytest.mark.parametrize(
    ("message", "ours"),
    [pytest.param(*case, id=name) for name, case in OURS.items()],
)
def test_what_is_between_the_provider_and_us_is_left_out(message: str, ours: str) -> None:
    told = read_rejection(a_rejection(message), "unrelated").message
    assert told is not None
    assert ours not in told
    assert LEFT_OUT in told
    assert told.split(maxsplit=1)[0] == message.split(maxsplit=1)[0]


@pytest.mark.parametrize("place", ["message", "param", "code"])
@settings(max_examples=200, deadline=None)
@given(secret=secrets, before=st.text(max_size=20), behind=st.text(max_size=20), bare=st.booleans())
def test_the_accounts_own_secret_never_comes_through(
    place: str, secret: str, before: str, behind: str, bare: bool
) -> None:
    planted = secret if bare else f"{before}{secret}{behind}"
    told = read_rejection(a_rejection(**{"message": "No.", place: planted}), secret)
    assert secret not in all_that_is_told(told)


@settings(max_examples=100, deadline=None)
@given(secret=secrets, times=st.integers(2, 5), between=st.text(max_size=3))
def test_a_secret_said_again_and_again_never_comes_through(secret: str, times: int, between: str) -> None:
    told = read_rejection(a_rejection(between.join([secret] * times)), secret)
    assert secret not in all_that_is_told(told)


@pytest.mark.parametrize("place", ["param", "code"])
@pytest.mark.parametrize("ours", ["org_ab12cd34ef", "proj_ab12cd34ef", "user_ab12cd34ef", "req_ab12cd34ef"])
def test_ids_between_the_provider_and_us_come_through_nowhere_else(place: str, ours: str) -> None:
    assert ours not in all_that_is_told(read_rejection(a_rejection(**{place: ours}), SECRET))


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        pytest.param({"param": None, "code": None}, None, None, id="null"),
        pytest.param({"code": 400}, None, None, id="a number for a code"),
        pytest.param({"code": "Not A Code"}, None, None, id="a sentence for a code"),
        pytest.param({"code": "x" * 65}, None, None, id="a long code"),
        pytest.param({"code": "x\n"}, None, None, id="a code and a line end"),
        pytest.param({"param": "see https://we.example"}, None, None, id="a sentence for a parameter"),
        pytest.param({"param": "x" * 65}, None, None, id="a long parameter"),
        pytest.param({"param": "n\r\nx: y"}, None, None, id="a parameter of two lines"),
        pytest.param({"param": "", "code": ""}, None, None, id="empty"),
        pytest.param(
            {"param": "stop[0]", "code": "string_too_long"}, "stop[0]", "string_too_long", id="as it should be"
        ),
    ],
)
def test_code_and_parameter_come_through_where_they_have_that_form(
    fields: dict[str, object], param: str | None, code: str | None
) -> None:
    assert read_rejection(a_rejection(**fields), SECRET) == Rejection("No.", param, code)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>Bad Request: sk-T3vQx8Zr1LmN</html>", id="a page"),
        pytest.param(b'{"error":"sk-T3vQx8Zr1LmN"}', id="a text for an error"),
        pytest.param(b'{"error":null}', id="error null"),
        pytest.param(b'{"detail":"x"}', id="no error"),
        pytest.param(b'{"error":{"message":"x"}', id="cut off"),
        pytest.param(b'{"error":{"message":"\xff"}}', id="not UTF-8"),
        pytest.param(b"[" * 10**5, id="10^5 arrays"),
        pytest.param(b'{"x":' + b"[" * 10**5, id="10^5 arrays in an object"),
        pytest.param(a_rejection(["x"]), id="an array for a message"),
        pytest.param(a_rejection(""), id="an empty message"),
        pytest.param(a_rejection(" \n"), id="a blank message"),
    ],
)
def test_a_body_without_words_for_the_caller_tells_nothing(body: bytes) -> None:
    assert read_rejection(body, SECRET) == Rejection()


@pytest.mark.parametrize("shown", range(8, 32, 8))
def test_no_half_of_a_secret_comes_through_behind_much_that_is_left_out(shown: int) -> None:
    secret = "d41d8cd98f00b204e9800998ecf8427e"
    address = "https://".ljust(CLEANED_CHARACTERS_MOST - shown - 1, "x")
    told = read_rejection(a_rejection(f"{address} {secret}"), secret)
    assert secret[:8] not in all_that_is_told(told)


def test_an_account_without_a_secret_has_none_to_hide() -> None:
    assert read_rejection(a_rejection("No."), "").message == "No."


def test_a_long_message_is_cut_after_it_was_cleaned() -> None:
    told = read_rejection(a_rejection("x " * (MESSAGE_CHARACTERS_MOST // 2 - 2) + SECRET), SECRET).message
    assert told is not None
    assert len(told) <= MESSAGE_CHARACTERS_MOST
    assert "sk-" not in told
    long = read_rejection(a_rejection("x " * MESSAGE_CHARACTERS_MOST), SECRET).message
    assert long is not None
    assert len(long) in {MESSAGE_CHARACTERS_MOST - 1, MESSAGE_CHARACTERS_MOST}


@pytest.mark.parametrize(
    ("letters", "characters"),
    [
        pytest.param("QUJD", 16_000, id="base64"),
        pytest.param("@", 1_000, id="ats"),
        pytest.param("sk-", 10_000, id="beginnings of keys"),
        pytest.param("https://", 10_000, id="beginnings of addresses"),
        pytest.param("word ", 10_000, id="many words"),
    ],
)
def test_a_long_word_in_a_message_takes_no_time(letters: str, characters: int) -> None:
    body = a_rejection("Invalid image: " + letters * (characters // len(letters)))
    started = perf_counter()
    read_rejection(body, SECRET)
    assert perf_counter() - started < 0.1


told_of = st.fixed_dictionaries(
    {}, optional={"message": st.text() | json_values, "param": st.text() | json_values, "code": st.text() | json_values}
)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=60)
    | st.builds(json.dumps, st.fixed_dictionaries({"error": told_of | json_values}) | json_values).map(str.encode)
)
def test_any_body_is_read_without_failing(body: bytes) -> None:
    told = read_rejection(body, SECRET)
    assert told.message != ""
    assert len(all_that_is_told(told)) <= MESSAGE_CHARACTERS_MOST + 64 + 64 + 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The model `dep-7.b` does not exist.", "The model `ours` does not exist."),
        ("models/dep-7.b is not found. Use DEP-7.B.", "models/ours is not found. Use ours."),
        ("dep-7.b-mini and a.dep-7.b are others", "dep-7.b-mini and a.dep-7.b are others"),
        ("dep-7xb is another", "dep-7xb is another"),
    ],
)
def test_a_model_is_told_by_our_name_of_it(said: str, told: str) -> None:
    assert read_rejection(a_rejection(said), SECRET, ModelNames("dep-7.b", "ours")).message == told


def test_a_code_or_parameter_that_is_the_providers_name_of_a_model_is_left_out() -> None:
    rejected = a_rejection("No.", param="gpt_x", code="gpt_x")
    assert read_rejection(rejected, SECRET, ModelNames("gpt_x", r"\1")) == Rejection("No.", None, None)
    assert read_rejection(rejected, SECRET, ModelNames(None, "ours")) == Rejection("No.", "gpt_x", "gpt_x")
