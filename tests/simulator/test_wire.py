"""Every misbehaviour as bytes on a socket, and the truth about it."""

import asyncio
import gzip
import itertools
import json
import time
from typing import Any
from uuid import uuid4

import pytest

from tests.simulator.raw import A_WHILE_SECONDS, chunks_in, look, look_and_know, request, unchunked
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator


async def test_the_truth_of_a_whole_answer_is_what_was_received(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "hi [[tokens=30]]")
    usage = json.loads(seen.body)["usage"]
    assert truth["bytes_sent"] == len(seen.data)
    assert (truth["input_tokens"], truth["output_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert (truth["model"], truth["stream"], truth["status"]) == ("demo-small", False, 200)
    assert truth["ending"] == "finished"
    assert truth["received_at"] <= truth["first_byte_at"] <= truth["closed_at"]


async def test_the_truth_of_a_stream_is_what_was_received(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "hi [[tokens=200 per_chunk=7]]", stream=True)
    assert seen.words == text_of(200)
    assert seen.events[-1] == "[DONE]"
    assert truth["bytes_sent"] == len(seen.data)
    assert (truth["output_tokens"], truth["stream"], truth["ending"]) == (200, True, "finished")


async def test_a_stamped_chunk_says_when_it_was_sent_and_nothing_else_changes(sim: Simulator) -> None:
    asked_ns = time.monotonic_ns()
    seen, truth = await look_and_know(sim, "[[tokens=5 chunk_ms=20 stamped=1]]", stream=True)
    chunks = [json.loads(event) for event in seen.events[:-1]]
    stamps = [int(chunk["obfuscation"]) for chunk in chunks if "obfuscation" in chunk]
    assert len(stamps) == 5
    assert all(later - earlier >= 15e6 for earlier, later in itertools.pairwise(stamps))
    assert asked_ns < stamps[0] < stamps[-1] < time.monotonic_ns()
    assert (seen.words, truth["output_tokens"]) == (text_of(5), 5)


async def test_a_whole_answer_has_no_stamp_and_a_stream_without_pauses_has_them_all(sim: Simulator) -> None:
    whole = await look(sim, "[[tokens=5 stamped=1]]")
    assert b"obfuscation" not in whole.body
    assert json.loads(whole.body)["choices"][0]["message"]["content"] == text_of(5)
    at_once = await look(sim, "[[tokens=5 stamped=1]]", stream=True)
    assert sum("obfuscation" in event for event in at_once.events) == 5


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("at", [0, 4, 1_000])
async def test_a_cut_resets_after_what_was_sent(sim: Simulator, at: int, stream: bool) -> None:
    seen, truth = await look_and_know(sim, f"[[tokens=20 cut_at={at}]]", stream=stream)
    assert seen.ended == "reset"
    assert (truth["ending"], truth["output_tokens"]) == ("cut", min(at, 20))
    assert truth["bytes_sent"] == len(seen.data)
    if stream:
        assert seen.words == text_of(min(at, 20))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_half_close_ends_our_side_only(sim: Simulator, stream: bool) -> None:
    seen, truth = await look_and_know(sim, "[[tokens=20 half_close_at=4]]", stream=stream)
    assert seen.ended == "closed"
    assert not seen.body.endswith(b"0\r\n\r\n")
    assert (truth["ending"], truth["output_tokens"]) == ("half_closed", 4)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_stall_lasts_until_the_client_goes(sim: Simulator, stream: bool) -> None:
    seen, truth = await look_and_know(sim, "[[tokens=20 stall_at=4]]", stream=stream, quiet_seconds=A_WHILE_SECONDS)
    assert seen.ended == "open"
    assert (truth["ending"], truth["output_tokens"]) == ("client_closed", 4)


async def test_a_client_that_leaves_is_noticed_within_milliseconds(sim: Simulator) -> None:
    request_id = uuid4().hex
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    writer.write(request("[[tokens=1000 chunk_ms=10]]", request_id, stream=True))
    await reader.readuntil(b" stone")
    writer.close()
    left_at = time.time()
    truth = await asyncio.to_thread(sim.wait_for, request_id)
    assert truth["ending"] == "client_closed"
    assert 2 <= truth["output_tokens"] < 10
    assert abs(truth["closed_at"] - left_at) < 0.1


async def test_a_client_that_leaves_before_the_headers_was_sent_nothing(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "[[delay_ms=60000]]", quiet_seconds=A_WHILE_SECONDS)
    assert seen.data == b""
    assert (truth["ending"], truth["status"], truth["bytes_sent"]) == ("client_closed", 0, 0)
    assert truth["first_byte_at"] is None


async def test_a_client_that_does_not_read_is_not_sent_more_than_it_takes(sim: Simulator) -> None:
    request_id = uuid4().hex
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port, limit=1_024)
    writer.write(request(f"[[long_line={10**9}]]", request_id, stream=True))
    await reader.readexactly(512)
    writer.close()
    truth = await asyncio.to_thread(sim.wait_for, request_id)
    assert truth["ending"] == "client_closed"
    assert truth["bytes_sent"] < 10**8


async def test_delays_are_kept(sim: Simulator) -> None:
    _, truth = await look_and_know(sim, "[[tokens=6 delay_ms=50 first_chunk_ms=40 chunk_ms=10]]", stream=True)
    assert truth["first_byte_at"] - truth["received_at"] >= 0.049
    assert truth["closed_at"] - truth["first_byte_at"] >= 0.04 + 5 * 0.01 - 0.002


@pytest.mark.parametrize("line_end", ["", " crlf=1", " comment=1"])
async def test_a_drip_is_the_same_stream_byte_by_byte(sim: Simulator, line_end: str) -> None:
    seen, truth = await look_and_know(sim, f"[[tokens=5 drip=1{line_end}]]", stream=True)
    assert {len(chunk) for chunk in chunks_in(seen.body)[:-1]} == {1}
    assert seen.words == text_of(5)
    assert (truth["output_tokens"], truth["ending"]) == (5, "finished")


async def test_a_whole_answer_drips_too(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "[[tokens=5 drip=1]]")
    assert json.loads(seen.body)["choices"][0]["message"]["content"] == text_of(5)
    assert truth["output_tokens"] == 5


async def test_line_ends_and_comments_are_as_asked(sim: Simulator) -> None:
    crlf = await look(sim, "[[tokens=2 crlf=1]]", stream=True)
    assert unchunked(crlf.body).count(b"\n") == unchunked(crlf.body).count(b"\r\n") > 0
    commented = await look(sim, "[[tokens=2 comment=1]]", stream=True)
    assert unchunked(commented.body).count(b": still here\n\n") == 5
    assert commented.words == text_of(2)


async def test_a_malformed_event_stands_between_good_ones(sim: Simulator) -> None:
    seen = await look(sim, "[[tokens=4 malformed_at=2]]", stream=True)
    broken = [event for event in seen.events if event.startswith("{") and not event.endswith("}")]
    assert len(broken) == 1
    assert seen.events.index(broken[0]) == 3
    assert seen.words == text_of(4)


@pytest.mark.parametrize(
    ("direction", "ending", "finishes"), [("no_done=1", "no_done", True), ("no_finish=1", "no_finish", False)]
)
async def test_a_stream_can_end_cleanly_and_too_soon(
    sim: Simulator, direction: str, ending: str, finishes: bool
) -> None:
    seen, truth = await look_and_know(sim, f"[[tokens=4 {direction}]]", stream=True)
    assert seen.body.endswith(b"0\r\n\r\n")
    assert "[DONE]" not in seen.events
    assert any('"finish_reason":"stop"' in event for event in seen.events) == finishes
    assert (truth["ending"], truth["output_tokens"]) == (ending, 4)


async def test_an_error_event_is_the_last(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, '[[error_at=2 status_text="it broke"]]', stream=True)
    assert json.loads(seen.events[-1])["error"]["message"] == "it broke"
    assert (truth["ending"], truth["output_tokens"]) == ("error_sent", 2)


async def test_a_giant_event_has_the_size_that_was_asked_for(sim: Simulator) -> None:
    seen = await look(sim, "[[tokens=2 long_line=300000]]", stream=True)
    assert max(len(event) for event in seen.events) > 300_000
    assert all(json.loads(event) for event in seen.events[:-1])
    whole = await look(sim, "[[long_line=300000]]")
    assert len(whole.body) > 300_000
    assert json.loads(whole.body)


async def test_a_wrong_length_promises_more_than_it_sends(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "[[wrong_length=1]]")
    assert seen.ended == "closed"
    assert f"content-length: {len(seen.body) + 100}" in seen.head
    assert truth["ending"] == "wrong_length"


async def test_answers_that_are_none(sim: Simulator) -> None:
    garbage = await look(sim, "[[json_garbage=1]]")
    assert (garbage.status, garbage.body[:6]) == (200, b"<html>")
    away = await look(sim, "[[redirect=http://127.0.0.1:1/v1]]")
    assert away.status == 302
    assert "location: http://127.0.0.1:1/v1" in away.head
    bomb = await look(sim, "[[gzip_bomb=5000000]]")
    assert len(bomb.data) < 20_000
    assert len(gzip.decompress(unchunked(bomb.body))) == 5_000_000


USAGES: list[tuple[str, Any]] = [
    ("no", None),
    ("absurd", 1_000_000_016),
    ("negative", -16),
    ("zero", 0),
    ("huge", 2**63),
    ("string", "16"),
]


@pytest.mark.parametrize(("said", "told"), USAGES)
@pytest.mark.parametrize("stream", [False, True])
async def test_usage_can_be_wrong_and_the_truth_is_not(sim: Simulator, said: str, told: Any, stream: bool) -> None:
    fields: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    seen, truth = await look_and_know(sim, f"[[usage={said}]]", **fields)
    last = json.loads(seen.events[-2]) if stream else json.loads(seen.body)
    assert (last.get("usage") or {}).get("completion_tokens") == told
    assert truth["output_tokens"] == 16


async def test_usage_can_come_twice(sim: Simulator) -> None:
    seen = await look(sim, "[[usage=twice]]", stream=True, stream_options={"include_usage": True})
    assert sum('"completion_tokens"' in event for event in seen.events) == 2
    whole = await look(sim, "[[usage=twice]]")
    assert whole.body.count(b'"usage"') == 2


async def test_a_connection_is_used_again_and_a_chunked_body_is_read(sim: Simulator) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    for text in ("one", "two"):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text + " [[tokens=2]]"}]}).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(body), 10):
            writer.write(b"%x\r\n%b\r\n" % (len(body[at : at + 10]), body[at : at + 10]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        assert json.loads(await reader.readexactly(length))["choices"][0]["message"]["content"] == text_of(2)
    writer.close()


async def test_a_large_body_is_taken_and_a_larger_one_refused(sim: Simulator) -> None:
    seen, truth = await look_and_know(sim, "word " * 1_000_000, quiet_seconds=30)
    assert seen.status == 200
    assert truth["input_tokens"] > 1_000_000
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n")
    assert (await reader.readline()).split()[1] == b"413"
    writer.close()


ODD_BODIES = {
    "not json": b"{nope",
    "no messages": b'{"model":"m"}',
    "deep": b'{"model":"m","messages":[],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "wrong tools": b'{"model":"m","messages":[],"tools":[3]}',
    "half a character in the tools": b'{"model":"m","messages":[],"tools":["\xff"]}',
    "wrong n": b'{"model":"m","messages":[],"n":-1}',
}


@pytest.mark.parametrize("body", ODD_BODIES.values(), ids=ODD_BODIES)
async def test_an_order_that_cannot_be_read_is_refused_and_on_file(sim: Simulator, body: bytes) -> None:
    request_id = uuid4().hex
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nx-request-id: {request_id}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    assert (await reader.readline()).split()[1] == b"400"
    writer.close()
    truth = await asyncio.to_thread(sim.wait_for, request_id)
    assert (truth["ending"], truth["status"], truth["output_tokens"]) == ("refused", 400, 0)


async def test_nothing_that_was_said_is_in_the_truth_file(sim: Simulator) -> None:
    await look_and_know(sim, "kanarienvogel [[echo=1]]", stream=True)
    await look_and_know(sim, '[[status=400 status_text="kanarienvogel"]]')
    text = json.dumps(sim.truth())
    assert "kanarienvogel" not in text
    assert "river stone" not in text


@pytest.mark.not_quick
async def test_a_storm_comes_and_goes() -> None:
    with Simulator(storm="1:503") as stormy:
        assert (await look(stormy, "hi")).status == 503
        await asyncio.to_thread(stormy.storm, "")
        assert (await look(stormy, "hi")).status == 200
        await asyncio.to_thread(stormy.storm, "0.5:429")
        statuses = {(await look(stormy, "hi")).status for _ in range(40)}
        assert statuses == {200, 429}


@pytest.mark.not_quick
async def test_workers_share_a_port_and_a_truth_file() -> None:
    with Simulator(workers=2, tokens=3) as pair:
        seen = await asyncio.gather(*(look(pair, "hi") for _ in range(50)))
        assert {one.status for one in seen} == {200}
        rows = await asyncio.to_thread(pair.wait_for_lines, 50)
        assert sum(row["output_tokens"] for row in rows) == 150


@pytest.mark.not_quick
async def test_a_stop_closes_what_runs_and_files_it() -> None:
    with Simulator() as brief:
        reader, writer = await asyncio.open_connection("127.0.0.1", brief.port)
        writer.write(request("[[stall_at=1]]", "running", stream=True))
        await reader.readuntil(b"river")
        await asyncio.to_thread(brief.stop)
        writer.close()
        assert [(row["ending"], row["output_tokens"]) for row in brief.truth()] == [("stopped", 1)]
        assert brief.process is not None
        assert brief.process.returncode == 0
