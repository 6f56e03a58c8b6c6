"""The chat over a real gateway, a real console and a provider: streamed, stopped, charged, ended with its session."""

import json
import time
from uuid import UUID

import asyncpg
import pytest

from proofs.privacy.sinks import dump
from tests.chat import receipt_of
from tests.client import ask
from tests.console.chat_visitor import ChatVisitor, next_line, said, words
from tests.people import People, Person
from tollkeeper.accounts.chat import ChatKeyMaker
from tollkeeper.app.secrets import mark_of, peppers_of
from tollkeeper.console.figures import usd_fine
from tollkeeper.core.money.charge import Ending
from tollkeeper.settings import Settings
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper_simulator.speech import text_of
from tools.console import Console
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

PICTURE = "data:image/png;base64,iVBORw0KGgo="
pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture
async def visitor(chat_console: Console, chatter: Person) -> ChatVisitor:
    return ChatVisitor(chat_console, chatter)


def key_of(settings: Settings, visitor: ChatVisitor) -> str:
    maker = ChatKeyMaker(settings.cell, peppers_of(settings), mark_of(settings, b"chat").encode())
    return maker.make(visitor.session_token)[0]


def settled(visitor: ChatVisitor, call: str) -> dict[str, str]:
    wait_until(lambda: visitor.cost(call)["state"] == "settled", within_seconds=30)
    return visitor.cost(call)


@pytest.mark.rule("S5.2")
async def test_an_answer_comes_as_it_is_made_and_its_cost_is_that_of_its_receipt(
    visitor: ChatVisitor, talker: str, receipts: SqlReceipts
) -> None:
    with visitor.sent(talker, said("Hello [[tokens=6 chunk_ms=400]]")) as answer:
        call = next_line(answer, "call")
        begun = time.monotonic()
        first = next_line(answer, "text")
        rest = [json.loads(line) for line in answer.read().splitlines() if line]
    assert time.monotonic() - begun > 1.5, "the first piece came only with the last"
    assert first + words(rest) == text_of(6)
    assert rest[-1] == {"end": "stop"}
    receipt = await receipt_of(receipts, call)
    told = settled(visitor, call)
    assert (receipt.ending, receipt.usage.output_units) == (Ending.COMPLETED, 6)
    assert (told["state"], told["usd"]) == ("settled", usd_fine(receipt.charged))
    assert visitor.page(told["href"])[0] == 200


async def test_who_stops_pays_for_what_was_made(
    visitor: ChatVisitor, talker: str, receipts: SqlReceipts, simulator: Simulator
) -> None:
    with visitor.sent(talker, said("[[tokens=500 chunk_ms=50]]")) as answer:
        call = next_line(answer, "call")
        next_line(answer, "text")
    receipt = await receipt_of(receipts, call)
    assert receipt.ending is Ending.CLIENT_LEFT
    assert 0 < receipt.usage.output_units < 100
    assert 0 < receipt.charged < receipt.held
    assert simulator.wait_for(call)["ending"] == "client_closed"
    assert settled(visitor, call)["usd"] == usd_fine(receipt.charged)


async def test_who_stops_a_silent_provider_is_noticed_at_once(
    visitor: ChatVisitor, talker: str, simulator: Simulator
) -> None:
    with visitor.sent(talker, said("[[tokens=50 stall_at=2]]")) as answer:
        call = next_line(answer, "call")
        next_line(answer, "text")
    assert simulator.wait_for(call, within_seconds=5)["ending"] == "client_closed"


async def test_a_session_has_one_answer_at_a_time_in_every_process(visitor: ChatVisitor, talker: str) -> None:
    with visitor.sent(talker, said("[[tokens=500 chunk_ms=50]]")) as answer:
        call = next_line(answer, "call")
        refused = [visitor.answer(talker, said("me too")) for _ in range(4)]
    assert [[*line] for lines in refused for line in lines] == [["trouble"]] * 4
    assert "still on its way" in refused[0][0]["trouble"]["words"]
    assert settled(visitor, call)
    assert words(visitor.answer(talker, said("[[tokens=3]]"))) == text_of(3)


async def test_pictures_reach_the_provider(visitor: ChatVisitor, talker: str, receipts: SqlReceipts) -> None:
    plain = visitor.answer(talker, said("What is this? [[tokens=3]]"))
    seen = visitor.answer(talker, said("What is this? [[tokens=3]]", PICTURE))
    assert [line["end"] for line in (plain[-1], seen[-1])] == ["stop", "stop"]
    costs = [(await receipt_of(receipts, lines[0]["call"])).held for lines in (plain, seen)]
    assert costs[1] > costs[0]


@pytest.mark.parametrize(
    ("text", "told", "some"),
    [
        ("[[status=400 status_text=no_such_thing]]", "did not take this", False),
        ("[[status=500]]", "No provider of this model", False),
        ("[[tokens=9 cut_at=3]]", "broke off", True),
        ("[[tokens=9 error_at=3]]", "broke off", True),
    ],
)
async def test_what_goes_wrong_is_told_in_words(
    visitor: ChatVisitor, talker: str, text: str, told: str, some: bool
) -> None:
    lines = visitor.answer(talker, said(text))
    assert told in lines[-1]["trouble"]["words"]
    assert bool(words(lines)) == some
    assert (settled(visitor, lines[0]["call"])["usd"] == "Nothing was charged.") != some


async def test_without_quota_the_answer_says_so_and_nothing_is_charged(
    chat_console: Console, people: People, talker: str
) -> None:
    poor = ChatVisitor(chat_console, await people.a_person())
    lines = poor.answer(talker, said("Hello"))
    assert lines[-1]["trouble"]["href"] == "/top-up"
    assert poor.cost(lines[0]["call"]) == {"state": "none"}


async def test_a_model_that_is_gone_is_told_in_words(visitor: ChatVisitor) -> None:
    assert "Choose another one" in visitor.answer("no-such-model", said("Hello"))[-1]["trouble"]["words"]


async def test_the_key_ends_with_its_session_and_others_go_on(
    chat_console: Console, chatter: Person, node: Node, talker: str, town_settings: Settings
) -> None:
    one, other = ChatVisitor(chat_console, chatter), ChatVisitor(chat_console, chatter)
    assert words(one.answer(talker, said("[[tokens=2]]")))
    assert words(other.answer(talker, said("[[tokens=2]]")))
    mine, others = key_of(town_settings, one), key_of(town_settings, other)
    assert mine != others
    assert [ask(node, "/v1/models", key=key).status for key in (mine, others)] == [200, 200]
    one.sign_out()
    wait_until(lambda: ask(node, "/v1/models", key=mine).status == 401, within_seconds=5)
    assert ask(node, "/v1/models", key=mine).error["code"] == "revoked_api_key"
    assert ask(node, "/v1/models", key=others).status == 200
    with one.sent(talker, said("Hello")) as answer:
        assert (answer.status, answer.getheader("location")) == (303, "/sign-in")
    assert words(other.answer(talker, said("[[tokens=2]]")))


async def test_a_stream_ends_when_its_session_is_ended_from_elsewhere(
    chat_console: Console, chatter: Person, talker: str, receipts: SqlReceipts
) -> None:
    one, other = ChatVisitor(chat_console, chatter), ChatVisitor(chat_console, chatter)
    with one.sent(talker, said("[[tokens=2000 chunk_ms=50]]")) as answer:
        call = next_line(answer, "call")
        assert other.page("/security/sessions/end-others", sent="1")[0] == 303
        assert "session is over" in next_line(answer, "trouble")["words"]
    assert (await receipt_of(receipts, call)).ending is Ending.REVOKED


async def test_the_next_session_has_the_same_key_under_another_text(
    chat_console: Console, chatter: Person, talker: str, town_settings: Settings, town_owner: asyncpg.Connection
) -> None:
    one = ChatVisitor(chat_console, chatter)
    one.answer(talker, said("[[tokens=2]]"))
    one.sign_out()
    other = ChatVisitor(chat_console, chatter)
    other.answer(talker, said("[[tokens=2]]"))
    rows = await town_owner.fetch("select name, for_chat, hint from api_key where account_id = $1", chatter.account_id)
    [row] = rows
    assert (row["name"], row["for_chat"]) == ("Chat in the console", True)
    assert row["hint"][-4:] == key_of(town_settings, other)[-4:]
    assert key_of(town_settings, one) != key_of(town_settings, other)


async def test_the_key_is_not_among_the_owners_own_and_stands_in_usage(
    visitor: ChatVisitor, chatter: Person, talker: str, town_owner: asyncpg.Connection
) -> None:
    visitor.answer(talker, said("[[tokens=2]]"))
    key_id = await town_owner.fetchval("select id from api_key where account_id = $1", chatter.account_id)
    assert "Chat in the console" not in visitor.page("/keys")[1]
    for path in (f"/keys/{key_id}", f"/keys/{key_id}/rotate", f"/keys/{key_id}/revoke"):
        assert visitor.page(path)[0] == 404
    assert "Chat in the console" in visitor.page("/usage")[1]
    assert "Chat in the console" in visitor.page("/usage?by=key")[1]
    visitor.cookies["tollkeeper-language-unsafe"] = "zh"
    assert "Chat in the console" not in visitor.page("/usage?by=key")[1]


async def test_the_key_lasts_for_minutes_and_no_longer_than_its_session(
    visitor: ChatVisitor, chatter: Person, talker: str, town_owner: asyncpg.Connection
) -> None:
    lasts = "select expires_at - ledger_now() from api_key where account_id = $1"
    visitor.answer(talker, said("[[tokens=2]]"))
    assert 800 < (await town_owner.fetchval(lasts, chatter.account_id)).total_seconds() <= 900
    soon = "update api_key set expires_at = ledger_now() - interval '1 second' where account_id = $1"
    await town_owner.execute(soon, chatter.account_id)
    visitor.answer(talker, said("[[tokens=2]]"))
    assert (await town_owner.fetchval(lasts, chatter.account_id)).total_seconds() > 800
    await town_owner.execute(
        "update session set expires_at = ledger_now() + interval '60 seconds' where account_id = $1", chatter.account_id
    )
    await town_owner.execute(soon, chatter.account_id)
    visitor.answer(talker, said("[[tokens=2]]"))
    assert (await town_owner.fetchval(lasts, chatter.account_id)).total_seconds() <= 60


async def test_another_accounts_call_costs_nothing_to_see(
    chat_console: Console, visitor: ChatVisitor, people: People, talker: str
) -> None:
    call = visitor.answer(talker, said("[[tokens=2]]"))[0]["call"]
    stranger = ChatVisitor(chat_console, await people.a_person())
    assert stranger.cost(call) == stranger.cost(str(UUID(int=7))) == {"state": "none"}


async def test_no_word_of_a_chat_is_kept(
    visitor: ChatVisitor, talker: str, chat_console: Console, node: Node, town_settings: Settings
) -> None:
    canary = "canary-5e1c0b7a"
    visitor.answer(talker, said(f"{canary} [[echo=true tokens=9]]", PICTURE))
    visitor.answer(talker, said(canary), {"role": "system", "text": canary})
    with visitor.sent(talker, said(f"{canary} [[tokens=300 chunk_ms=20]]")) as answer:
        next_line(answer, "text")
    kept = (dump(str(town_settings.database_url.reveal())), chat_console.log.read_bytes(), node.log.read_bytes())
    assert [canary.encode() in place for place in kept] == [False] * 3
    assert [PICTURE.partition(",")[2].encode() in place for place in kept] == [False] * 3
    assert key_of(town_settings, visitor).encode() not in kept[0]
