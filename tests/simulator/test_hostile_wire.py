"""A malicious provider's bytes: heads, framing, bombs, and what has no end."""

import asyncio
import gzip
import json
import zlib
from uuid import uuid4

import pytest

from tests.simulator.formats import FORMATS, OPENAI, Format
from tests.simulator.raw import A_WHILE_SECONDS, look, look_and_know, post, see, unchunked
from tollkeeper_simulator.hostile.streams import ENDLESS
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator

MEGABYTE = 1_048_576
KEY = "sk-secret-0123456789"

in_every_format = pytest.mark.parametrize("speaks", FORMATS, ids=[speaks.name for speaks in FORMATS])
streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.mark.parametrize("what", sorted(ENDLESS))
@in_every_format
async def test_what_has_no_end_comes_before_the_finish(hostile_sim: Simulator, speaks: Format, what: str) -> None:
    text = f"[[tokens=3 endless={what} bytes=200000]]"
    seen = await speaks.call(hostile_sim, text, stream=True)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    start, again = ENDLESS[what]
    assert start + again * 100 in unchunked(seen.body)
    assert truth["bytes_sent"] > 200_000
    assert (truth["output_tokens"], truth["ending"]) == (3, "finished")


@pytest.mark.parametrize(
    ("letters", "sent"),
    [("surrogate", rb"\ud800river"), ("invalid_utf8", b"\xff\xc0\xafriver"), ("nul", rb"\u0000river")],
)
@streamed_or_not
@in_every_format
async def test_words_begin_with_letters_that_are_none(
    hostile_sim: Simulator, speaks: Format, stream: bool, letters: str, sent: bytes
) -> None:
    seen = await speaks.call(hostile_sim, f"[[tokens=3 letters={letters}]]", stream=stream)
    assert sent in seen.body


@streamed_or_not
@in_every_format
async def test_a_byte_order_mark_is_the_first_of_the_body(hostile_sim: Simulator, speaks: Format, stream: bool) -> None:
    seen = await speaks.call(hostile_sim, "[[tokens=3 bom=1]]", stream=stream)
    body = unchunked(seen.body) if stream else seen.body
    assert body.startswith((b"\xef\xbb\xbf{", b"\xef\xbb\xbfdata: {", b"\xef\xbb\xbfevent: "))
    assert body.count(b"\xef\xbb\xbf") == 1


async def test_lines_end_in_cr_alone(hostile_sim: Simulator) -> None:
    body = unchunked((await look(hostile_sim, "[[tokens=3 cr_only=1]]", stream=True)).body)
    assert b"\n" not in body
    assert body.count(b"\r\rdata: ") == 5


async def test_there_is_no_space_after_the_name_of_a_field(hostile_sim: Simulator) -> None:
    body = unchunked((await look(hostile_sim, "[[tokens=3 no_space=1]]", stream=True)).body)
    assert b"data: " not in body
    assert body.count(b"data:{") == 5


@pytest.mark.parametrize(
    ("framing", "sent"),
    [
        ("bad_size", b"\r\nzz\r\ndata: "),
        ("negative_size", b"\r\n-1"),
        ("huge_size", b"\r\nffffffffffffffffffff\r\ndata: "),
        ("no_line_end", b"null}]}\n\n11"),
        ("extension", b";xxxx"),
        ("trailers", b"0\r\nauthorization: murmur\r\n"),
        ("two_lengths", b"content-length: 7\r\n"),
    ],
)
async def test_the_framing_is_wrong(hostile_sim: Simulator, framing: str, sent: bytes) -> None:
    text = f"[[tokens=3 framing={framing}]]"
    seen, truth = await look_and_know(hostile_sim, text, stream=True, quiet_seconds=A_WHILE_SECONDS)
    assert sent in seen.data
    assert truth["output_tokens"] == 3


@pytest.mark.parametrize(("encoding", "bits"), [("gzip", 31), ("deflate", 15)])
@streamed_or_not
async def test_an_answer_is_packed(hostile_sim: Simulator, encoding: str, bits: int, stream: bool) -> None:
    seen, truth = await look_and_know(hostile_sim, f"[[tokens=30 encoding={encoding}]]", stream=stream)
    assert f"content-encoding: {encoding}" in seen.head
    body = zlib.decompress(unchunked(seen.body) if stream else seen.body, wbits=bits)
    assert (b" stone" in body, truth["output_tokens"]) == (True, 30)


@streamed_or_not
@pytest.mark.parametrize(
    ("direction", "sent"),
    [
        ("deep=100000", b"[" * 100_000),
        ("digits=5000", b'"number":' + b"7" * 5_000 + b","),
        ("duplicate_keys=1", b'"id":1,"id":2'),
        ("answer_mb=3", b"x" * 3 * MEGABYTE),
    ],
)
@in_every_format
async def test_the_first_object_has_a_member_that_is_hard_to_read(
    hostile_sim: Simulator, speaks: Format, direction: str, sent: bytes, stream: bool
) -> None:
    seen = await speaks.call(hostile_sim, f"[[tokens=3 {direction}]]", stream=stream)
    truth = await asyncio.to_thread(hostile_sim.wait_for, seen.request_id)
    assert (unchunked(seen.body) if stream else seen.body).count(sent) == 1
    assert truth["output_tokens"] == 3


@streamed_or_not
async def test_log_probabilities_fill_megabytes(hostile_sim: Simulator, stream: bool) -> None:
    seen = await OPENAI.call(hostile_sim, "[[tokens=3 logprobs_mb=2]]", stream=stream)
    assert len(seen.body) > 1.9 * MEGABYTE
    assert OPENAI.spoken(seen) == text_of(3)


@streamed_or_not
async def test_headers_are_many_or_long_or_slow(hostile_sim: Simulator, stream: bool) -> None:
    many = await look(hostile_sim, "[[header_count=500]]", stream=stream)
    assert many.head.count("\r\nx-murmur-") == 500
    long = await look(hostile_sim, "[[header_bytes=300000]]", stream=stream)
    assert "x-long: " + "x" * 300_000 + "\r" in long.head + "\r"
    slow, truth = await look_and_know(hostile_sim, "[[header_drip_ms=1]]", stream=stream)
    assert slow.status == 200
    assert truth["closed_at"] - truth["first_byte_at"] >= 0.0005 * len(slow.head)


async def test_early_hints_come_before_the_answer(hostile_sim: Simulator) -> None:
    text = "[[tokens=3 early_hints=100]]"
    seen, truth = await look_and_know(hostile_sim, text, stream=True, quiet_seconds=A_WHILE_SECONDS)
    assert seen.data.startswith(b"HTTP/1.1 103 Early Hints\r\n")
    assert seen.data.count(b"HTTP/1.1 103 ") == 100
    assert (b"HTTP/1.1 200 OK" in seen.data, truth["output_tokens"]) == (True, 3)


async def test_protocols_are_switched_though_nobody_asked(hostile_sim: Simulator) -> None:
    seen, truth = await look_and_know(hostile_sim, "[[switching=1]]")
    assert (seen.status, truth["ending"], truth["output_tokens"]) == (101, "switched", 0)


@pytest.mark.parametrize("status", [204, 205, 206, 304, 418, 600, 999])
@streamed_or_not
async def test_any_status_has_a_body(hostile_sim: Simulator, status: int, stream: bool) -> None:
    seen, truth = await look_and_know(hostile_sim, f"[[tokens=3 raw_status={status}]]", stream=stream)
    assert (seen.status, truth["status"]) == (status, status)
    assert seen.body
    assert truth["output_tokens"] == (3 if status < 300 else 0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_has_any_status(hostile_sim: Simulator, status: int) -> None:
    text = f"[[redirect=http://127.0.0.1:1/x redirect_status={status}]]"
    seen, truth = await look_and_know(hostile_sim, text)
    assert (seen.status, truth["ending"]) == (status, "redirected")
    assert "location: http://127.0.0.1:1/x" in seen.head


@in_every_format
async def test_an_error_has_status_200_or_megabytes(hostile_sim: Simulator, speaks: Format) -> None:
    fine = await speaks.call(hostile_sim, "[[error_in_200=1]]")
    assert (fine.status, "error" in json.loads(fine.body)) == (200, True)
    long = await speaks.call(hostile_sim, "[[error_bytes=500000 status=500]]")
    assert (long.status, b"x" * 500_000 in long.body) == (500, True)


@pytest.mark.parametrize("where", ["content", "error", "code", "type", "param", "status_text", "headers"])
@streamed_or_not
async def test_the_key_comes_back(hostile_sim: Simulator, where: str, stream: bool) -> None:
    request_id = uuid4().hex
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": f"[[leak={where}]]"}]}
    headers = {"Authorization": f"Bearer {KEY}"}
    message = post("/v1/chat/completions", body, request_id, headers)
    seen = await see(hostile_sim, request_id, message, A_WHILE_SECONDS)
    assert KEY.encode() in seen.data
    assert seen.status == (200 if where in {"content", "headers"} else 400)


async def test_the_key_comes_back_in_an_error_event(hostile_sim: Simulator) -> None:
    request_id = uuid4().hex
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "[[leak=event]]"}]}
    message = post("/v1/chat/completions", body, request_id, {"Authorization": f"Bearer {KEY}"})
    seen = await see(hostile_sim, request_id, message)
    assert KEY in json.loads(seen.events[-1])["error"]["message"]


async def test_a_bomb_is_there_in_every_encoding(hostile_sim: Simulator) -> None:
    seen = await look(hostile_sim, f"[[gzip_bomb={MEGABYTE} header_count=1]]")
    assert len(gzip.decompress(unchunked(seen.body))) == MEGABYTE


async def test_an_image_can_be_refused_in_hostile_ways_and_nothing_else(hostile_sim: Simulator) -> None:
    for direction, status in (("raw_status=999", 999), ("leak=error", 400), ("hide=audio", 400)):
        request_id = uuid4().hex
        message = post("/v1/images/generations", {"model": "dall-e-2", "prompt": f"[[{direction}]]"}, request_id)
        assert (await see(hostile_sim, request_id, message)).status == status
