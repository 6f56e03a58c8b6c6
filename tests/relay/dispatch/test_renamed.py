"""The name of a model that has another one at its provider account."""

import json

import msgspec
import pytest

from tests.relay.fakes import Reply, ScriptedAnswer, ScriptedUpstream
from tests.relay.house import House, an_account
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.catalog.models import Kind
from tollkeeper.relay.answers.gathered import GATHERED_BYTES_MOST
from tollkeeper.relay.dispatch.renamed import MEMBER_BYTES_MOST, RenamedAnswer, RenamedPieces
from tollkeeper.relay.operations import EMBEDDING

ANSWER = (
    b'{"id":"c", "model" : "our-secret\\"deployment","choices":[{"index":0,"message":{"content":%b},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
)
QUOTED = json.dumps('I was told {"model":"x"}.').encode()
DEPLOYED = an_account(1, models={"m": "our-secret-deployment"})


def a_chunk(name: str, **delta: str) -> bytes:
    chunk = {"id": "c", "model": name, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


FINISH = (
    b'data: {"id":"c","model":"our-secret-deployment","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
)


@in_virtual_time
async def test_a_whole_answer_has_the_name_that_was_asked_for() -> None:
    house = House(Reply(ANSWER % QUOTED), accounts=[DEPLOYED])
    heard = await house.chat()
    assert heard.text == (ANSWER % QUOTED).replace(b'"our-secret\\"deployment"', b'"m"')
    house.check()


@pytest.mark.parametrize("piece_bytes", [1, 50, 10_000])
@in_virtual_time
async def test_every_event_of_a_stream_has_it_however_it_arrives(piece_bytes: int) -> None:
    sent = a_chunk("", content="") + a_chunk("our-secret-deployment", content='say "model":"x"') + FINISH
    pieces = [sent[at : at + piece_bytes] for at in range(0, len(sent), piece_bytes)]
    house = House(Reply(*pieces, b"data: [DONE]\n\n"), accounts=[DEPLOYED])
    heard = await house.chat(stream=True)
    assert heard.text == sent.replace(b'"our-secret-deployment"', b'"m"') + b"data: [DONE]\n\n"
    house.check()


@in_virtual_time
async def test_where_both_have_the_same_name_bytes_pass_as_they_came() -> None:
    house = House(Reply(ANSWER % QUOTED))
    assert (await house.chat()).text == ANSWER % QUOTED


@pytest.mark.parametrize("piece_bytes", [1, 7, 40, 10_000])
def test_an_answer_in_pieces_has_it_wherever_they_break(piece_bytes: int) -> None:
    long = b"x" * MEMBER_BYTES_MOST
    sent = b'{"data":["mod"],"model" : "theirs","a":"\\"model\\":","model":"%b","model":7,"model":"theirs"}' % long
    pieces = RenamedPieces(RenamedAnswer(ScriptedAnswer(ScriptedUpstream(idle_seconds=1), Reply()), "m").shown)
    told = [pieces.take(sent[at : at + piece_bytes]) for at in range(0, len(sent), piece_bytes)]
    told.append(pieces.take(b""))
    # One that is too long for a name is none, unless all of it is there at once.
    kept = b"m" if piece_bytes > len(sent) else long
    wanted = b'{"data":["mod"],"model" : "m","a":"\\"model\\":","model":"%b","model":7,"model":"m"}' % kept
    assert b"".join(told) == wanted


@pytest.mark.parametrize("at", [3, 12, 40, 60])
@in_virtual_time
async def test_an_answer_that_is_too_large_to_be_gathered_has_it_as_well(at: int) -> None:
    vector = b'{"object":"list","data":[{"index":0,"embedding":"' + b"A" * GATHERED_BYTES_MOST + b'"}],'
    end = b'"model":"our-secret-deployment","usage":{"prompt_tokens":1,"total_tokens":1}}'
    house = House(Reply(vector, end[:at], end[at:]), accounts=[DEPLOYED])
    shelf = house.catalog.on_offer
    model = msgspec.structs.replace(shelf.models["m"], kind=Kind.EMBEDDING)
    house.catalog.on_offer = msgspec.structs.replace(shelf, models={"m": model})
    heard = await house.ask(EMBEDDING, b'{"model":"m","input":"hi"}')
    assert heard.problem is None
    assert heard.text[len(vector) :] == end.replace(b"our-secret-deployment", b"m")
    house.check()
