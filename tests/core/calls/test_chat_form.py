"""What stands inside of messages and tools: what is not known is refused by its place."""

import json
from typing import Any

import pytest

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.errors import BadRequest

PICTURE = "data:image/png;base64,iVBORw0KGgo="
HELLO = {"role": "user", "content": "hello"}


def read(**fields: Any) -> ChatOrder:
    return read_chat(json.dumps({"model": "m", "messages": [HELLO], **fields}).encode())


def refused(**fields: Any) -> BadRequest:
    with pytest.raises(BadRequest) as refusal:
        read(**fields)
    return refusal.value


def with_part(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [HELLO, {"role": "user", "content": [{"type": "text", "text": "look"}, part]}]


def image(url: object, **more: object) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


@pytest.mark.parametrize(
    "kind",
    [
        *("video_url", "audio_url", "file_url", "document", "image", "input_text", "input_image", "input_file"),
        *("tool_use", "web_search", "image_embeds", "Text", "IMAGE_URL", "text ", ""),
    ],
)
def test_a_part_of_an_unknown_kind_is_refused(kind: str) -> None:
    refusal = refused(messages=with_part({"type": kind, "text": "long"}))
    assert (refusal.status, refusal.param) == (400, "messages[1].content[1].type")


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"type": "text", "text": "a", "Text": "b"}, ".Text"),
        ({"type": "text", "text": "a", "source": {"url": "x"}}, ".source"),
        ({"type": "video_url", "video_url": {"url": "https://films.example/1"}}, ".type"),
        ({"type": "text", "text": "a", "video_url": {"url": "x"}}, ".video_url"),
        (image(PICTURE, URL="file:///etc/passwd"), ".image_url.URL"),
        (image(PICTURE, uuid="1"), ".image_url.uuid"),
        ({"type": "image_url", "image_url": PICTURE}, ".image_url"),
        ({"type": "file", "file": {"file_url": "https://a.example/b.pdf"}}, ".file.file_url"),
        ({"type": "file", "file": {"file_id": "file-1"}}, ".file.file_id"),
        ({"type": "input_audio", "input_audio": {"url": "https://a.example/b.wav"}}, ".input_audio.url"),
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "24h"}}, ".cache_control.ttl"),
        ({"type": "text", "text": "a", "cache_control": {"TTL": "1h"}}, ".cache_control.TTL"),
        (
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
            ".prompt_cache_breakpoint.ttl",
        ),
        ({"type": "file", "file": {"file_data": PICTURE, "filename": "a" * 257}}, ".file.filename"),
        (image(PICTURE, detail="high " * 100), ".image_url.detail"),
        ({"type": "text", "text": "a", "image_url": {"url": PICTURE}}, ""),
        ({"type": "file", "image_url": {"url": PICTURE}, "file": {"file_data": PICTURE}}, ""),
    ],
)
def test_an_unknown_member_of_a_part_is_refused_by_its_place(part: dict[str, Any], place: str) -> None:
    assert refused(messages=with_part(part)).param == f"messages[1].content[1]{place}"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("audio", {"id": "audio_1"}),
        ("Content", "long"),
        ("attachments", []),
        ("images", [PICTURE]),
        ("file_ids", ["a"]),
        ("cache_control", {"type": "ephemeral", "ttl": "24h"}),
    ],
)
def test_an_unknown_member_of_a_message_is_refused(member: str, value: object) -> None:
    assert str(refused(messages=[{**HELLO, member: value}]).param).startswith(f"messages[0].{member}")


@pytest.mark.parametrize(
    "member", ["refusal", "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"]
)
def test_what_is_sent_back_of_an_answer_is_counted(member: str) -> None:
    words = "a thought of many words " * 20
    plain = read(messages=[HELLO, {"role": "assistant", "content": "x", member: None}])
    thoughtful = read(messages=[HELLO, {"role": "assistant", "content": "x", member: words}])
    assert thoughtful.input_tokens(part_tokens=0) > plain.input_tokens(part_tokens=0) + 60


def test_an_id_that_is_a_text_is_counted() -> None:
    def tokens(call_id: str) -> int:
        return read(messages=[{"role": "tool", "content": "x", "tool_call_id": call_id}]).input_tokens(part_tokens=0)

    assert tokens("call_abcdefghijklmnopqrstuvwx") == tokens("c")
    assert tokens("many words " * 100) > tokens("c") + 150


def test_an_answer_passes_as_sdks_send_it_back() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "index": 0}
    answer: dict[str, object] = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
        "audio": None,
    }
    result = {"role": "tool", "tool_call_id": "c", "name": "f", "content": "4"}
    read(messages=[HELLO, {**answer, "function_call": None, "tool_calls": [call]}, result])


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "f", "strict": True, "return": {"type": "string"}}},
        {"type": "function", "function": {"name": "f"}, "cache_control": {"type": "ephemeral"}},
        {"type": "custom", "custom": {"name": "f", "format": {"type": "text"}}},
        {"function": {"name": "f"}},
    ],
)
def test_tools_of_the_caller_pass(tool: dict[str, Any]) -> None:
    assert read(tools=[tool]).fields["tools"]


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        *(
            ({"type": kind}, ".type")
            for kind in ("web_search", "web_search_preview", "code_interpreter", "file_search", "mcp", "computer", "x")
        ),
        ({"type": "function", "Type": "web_search"}, ".Type"),
        ({"googleSearch": {}}, ".googleSearch"),
        ({"type": "function", "function": {"name": "f"}, "server_url": "https://a.example"}, ".server_url"),
        (
            {"type": "function", "function": {"name": "f", "cache_control": {"ttl": "24h"}}},
            ".function.cache_control.ttl",
        ),
        ({"type": "function", "function": {"name": "f"}, "cache_control": {"ttl": "24h"}}, ".cache_control.ttl"),
    ],
)
def test_tools_of_the_provider_are_refused(tool: dict[str, Any], place: str) -> None:
    assert refused(tools=[{"type": "function", "function": {"name": "f"}}, tool]).param == f"tools[1]{place}"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stream_options": {"continuous_usage_stats": True}}, "stream_options.continuous_usage_stats"),
        ({"stream_options": {"Include_Usage": False}}, "stream_options.Include_Usage"),
        ({"cache_control": {"type": "ephemeral", "ttl": "24h"}}, "cache_control.ttl"),
        ({"cache_control": {"type": "lasting"}}, "cache_control.type"),
        ({"prompt_cache_options": {"ttl": "12h"}}, "prompt_cache_options.ttl"),
        ({"prompt_cache_options": {"retention": "24h"}}, "prompt_cache_options.retention"),
    ],
)
def test_unknown_members_of_options_are_refused(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields).param == param


@pytest.mark.parametrize(
    "url",
    [
        "https://pictures.example/1.png?x=1",
        "http://8.8.8.8/a.png",
        PICTURE,
        "DATA:image/PNG;BASE64,AAAA",
        "data:image/jpeg;charset=utf-8;base64,AAAA",
        "data:image/webp;base64," + "A" * 100_000,
    ],
)
def test_pictures_pass_as_data_and_by_public_address(url: str) -> None:
    assert read(messages=with_part(image(url, detail="high"))).media_parts == 1


def test_a_picture_passes_as_some_writers_escape_it() -> None:
    for url in ("https://pictures.example/1.png", "data:image/png;base64," + "/A" * 10_000):
        escaped = json.dumps({"model": "m", "messages": with_part(image(url))}).replace("/", "\\/")
        assert read_chat(escaped.encode()).media_parts == 1


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "http://127.1/",
        "http://[::ffff:169.254.169.254]/",
        "data:text/html;base64,AAAA",
        "data:image/svg+xml;base64,AAAA",
        "data:;base64,AAAA",
        "data:image/png",
        "",
        None,
        7,
        ["https://pictures.example/1.png"],
        "https://pictures.example/" + "a" * 100_000,
        "x" * 100_000,
    ],
)
def test_other_addresses_of_pictures_are_refused_by_their_place(url: object) -> None:
    assert refused(messages=with_part(image(url))).param == "messages[1].content[1].image_url.url"


def test_an_escaped_address_is_read_as_it_will_be() -> None:
    body = json.dumps({"model": "m", "messages": with_part(image("FILE"))})
    for escaped in (r"\u0066ile:///etc/passwd", r"http:\/\/127.0.0.1\/", r"http://\u0031\u0032\u0037.1/"):
        with pytest.raises(BadRequest):
            read_chat(body.replace("FILE", escaped).encode())


@pytest.mark.parametrize("data", ["https://a.example/b.pdf", "file:///etc/passwd", "/etc/passwd", "JVBERi0=", "", None])
def test_files_are_data(data: object) -> None:
    part = {"type": "file", "file": {"file_data": data, "filename": "a.pdf"}}
    assert refused(messages=with_part(part)).param == "messages[1].content[1].file.file_data"


@pytest.mark.parametrize(
    "data", ["https://a.example/b.wav", "file:///a.wav", "//a.example/b", "data:audio/wav,http://a"]
)
def test_sounds_are_data(data: str) -> None:
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    assert refused(messages=with_part(part)).param == "messages[1].content[1].input_audio.data"


@pytest.mark.parametrize("data", ["", "UklGRg==", "//uQ" * 200, "QUJD" * 19 + "\nQUJD", "data:;base64,UklGRg=="])
def test_sounds_pass_as_base64(data: str) -> None:
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}
    assert read(messages=with_part(part)).media_parts == 1
