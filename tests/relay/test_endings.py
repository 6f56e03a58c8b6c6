"""How a call can end, what is charged then and what its caller hears: the table of ARCHITECTURE.md, row by row."""

import asyncio
import json
from collections.abc import Sequence
from uuid import uuid4

import msgspec
import pytest

from tests.relay.fakes import Reply, Step
from tests.relay.house import (
    DONE,
    FINISH,
    INPUT_TOKENS,
    LIMITS,
    Heard,
    House,
    Request,
    an_account,
    chat_body,
    cost,
    events,
    report,
    whole,
    words,
)
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.addresses import Address
from tollkeeper.core.errors import (
    AccountDisabled,
    AnswerTooLarge,
    InsufficientQuota,
    KeyRevoked,
    NodeStopping,
    ProviderUnavailable,
    StreamBroken,
    TimeLimitReached,
)
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import Failure
from tollkeeper.relay.answers.streamed import STUCK_SECONDS
from tollkeeper.relay.answers.whole import AnyAnswer
from tollkeeper.relay.call import CUT_OFF_SECONDS, Call, ClientLeft
from tollkeeper.relay.operations import CHAT
from tollkeeper.relay.pipeline import serve
from tollkeeper.relay.revoked import Revocations

FOR_EVER = 10_000.0
COUNTED, INPUT_ALONE, PROVIDER = UsageSource.COUNTED, UsageSource.COUNTED_INPUT, UsageSource.PROVIDER


# More than a remark, in a place that we do not know.
STRANGE = events({"index": 0, "delta": {"murmur": "a river and its banks " * 20}, "finish_reason": None})


class Row(msgspec.Struct, kw_only=True):
    """What the provider does, and what is to come of it."""

    steps: Sequence[Step] = ()
    before: Sequence[Step] = ()
    ending: Ending
    input_tokens: int = INPUT_TOKENS
    output_tokens: int = 0
    source: UsageSource = COUNTED
    told: type[Exception] | None = None
    model: str = "m"
    address: Address = Address.MAIN


def refused(*steps: Step, before: Sequence[Step] = (), told: type[Exception] = ProviderUnavailable) -> Row:
    return Row(steps=steps, before=before, ending=Ending.REFUSED, input_tokens=0, source=UsageSource.NONE, told=told)


def as_rows(table: dict[str, Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", table.values(), ids=table)


async def check(row: Row, *, stream: bool) -> None:
    house = House(Reply(*row.steps, before=row.before), accounts=[an_account(1)])
    async with asyncio.TaskGroup() as beside:
        looking = beside.create_task(Revocations(house.running, house.keys).follow())
        heard = await house.chat(stream=stream, model=row.model, address=row.address)
        looking.cancel()
    wanted = Usage(row.input_tokens, row.output_tokens)
    assert heard.booked == (row.ending, wanted, row.source)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == cost(wanted)
    assert type(heard.problem) is (row.told or type(None))
    house.check()


@as_rows(
    {
        "reported": Row(
            steps=[whole(5, (12, 7))], ending=Ending.COMPLETED, input_tokens=12, output_tokens=7, source=PROVIDER
        ),
        "in pieces": Row(
            steps=[whole(5, (12, 7))[:50], 30.0, whole(5, (12, 7))[50:]],
            ending=Ending.COMPLETED,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "reported as nothing": Row(steps=[whole(5, (0, 0))], ending=Ending.COMPLETED, input_tokens=0, source=PROVIDER),
        "not reported": Row(steps=[whole(5)], ending=Ending.COMPLETED, output_tokens=5),
        "reported absurdly": Row(steps=[whole(5, (12, 10**9))], ending=Ending.COMPLETED, output_tokens=5),
        "empty and not reported": Row(steps=[whole(0)], ending=Ending.COMPLETED, source=INPUT_ALONE),
        "broken off": refused(whole(5)[:20], Failure.BROKEN),
        "ended in the middle": refused(whole(5)[:20]),
        "not an answer": refused(b"<html>"),
        "an error, with a good status": refused(b'{"error": {"message": "oh"}}'),
        "stalled": refused(whole(5)[:20], FOR_EVER),
        "out of reach": refused(before=[Failure.UNREACHABLE]),
        "lost on the way": refused(before=[Failure.BROKEN]),
        "client left": Row(
            steps=[House.client_leaves, 50.0, whole(5, (12, 7))],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "client left, and then it broke": Row(
            steps=[House.client_leaves, Failure.BROKEN],
            ending=Ending.CLIENT_LEFT,
            source=INPUT_ALONE,
            told=ProviderUnavailable,
        ),
        "client left before it was sent": refused(before=[House.client_leaves, Failure.UNREACHABLE]),
        "cut": Row(
            steps=[House.edge_cuts, 50.0, whole(5, (12, 7))],
            ending=Ending.CUT,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "cut, and never answered": Row(
            before=[House.edge_cuts, FOR_EVER], ending=Ending.CUT, source=INPUT_ALONE, told=TimeLimitReached
        ),
        "cut, and the node stops": Row(
            before=[House.edge_cuts, House.node_stops, FOR_EVER],
            ending=Ending.CUT,
            source=INPUT_ALONE,
            told=NodeStopping,
        ),
        "out of time": Row(before=[FOR_EVER], ending=Ending.TIME_LIMIT, source=INPUT_ALONE, told=TimeLimitReached),
        "out of time, half of it": Row(
            steps=[piece for letter in b"<p>" * 3 for piece in (b"%c" % letter, 100.0)],
            ending=Ending.TIME_LIMIT,
            source=INPUT_ALONE,
            told=TimeLimitReached,
        ),
        "node stops": refused(House.node_stops, FOR_EVER, told=NodeStopping),
        "key revoked meanwhile": Row(
            steps=[House.key_is_revoked, 50.0, whole(5)], ending=Ending.COMPLETED, output_tokens=5
        ),
    }
)
@in_virtual_time
async def test_a_whole_answer_ends_by_its_rule(row: Row) -> None:
    await check(row, stream=False)


@as_rows(
    {
        "reported": Row(
            steps=[*words(5), FINISH, report(12, 7), DONE],
            ending=Ending.COMPLETED,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "not reported": Row(steps=[*words(5), FINISH, DONE], ending=Ending.COMPLETED, output_tokens=5),
        "reported absurdly": Row(
            steps=[*words(5), FINISH, report(12, 10**9), DONE], ending=Ending.COMPLETED, output_tokens=5
        ),
        "finished, without saying that it is done": Row(
            steps=[*words(5), FINISH], ending=Ending.COMPLETED, output_tokens=5
        ),
        "finished, and broken": Row(
            steps=[*words(5), FINISH, Failure.BROKEN], ending=Ending.COMPLETED, output_tokens=5
        ),
        "longer than any other call may last": Row(
            steps=[step for word in words(10) for step in (word, 100.0)] + [FINISH],
            ending=Ending.COMPLETED,
            output_tokens=10,
        ),
        "broken off": Row(
            steps=[*words(5), Failure.BROKEN], ending=Ending.UPSTREAM_BROKE, output_tokens=5, told=StreamBroken
        ),
        "stalled": Row(steps=[*words(5), FOR_EVER], ending=Ending.UPSTREAM_BROKE, output_tokens=5, told=StreamBroken),
        "ended without a reason": Row(steps=words(5), ending=Ending.UPSTREAM_BROKE, output_tokens=5, told=StreamBroken),
        "done without a reason": Row(
            steps=[*words(5), DONE], ending=Ending.UPSTREAM_BROKE, output_tokens=5, told=StreamBroken
        ),
        "an error in the middle": Row(
            steps=[*words(5), b'data: {"error": {"message": "oh"}}\n\n', *words(3)],
            ending=Ending.UPSTREAM_BROKE,
            output_tokens=5,
            told=StreamBroken,
        ),
        "garbled in the middle": Row(
            steps=[*words(5), b"data: <p>\n\n"], ending=Ending.UPSTREAM_BROKE, output_tokens=5, told=StreamBroken
        ),
        "an event without end": Row(
            steps=[*words(5), b"data: " + b"x" * 5_000_000],
            ending=Ending.UPSTREAM_BROKE,
            output_tokens=5,
            told=StreamBroken,
        ),
        "reported early, and broken off": Row(
            steps=[report(12, 1), *words(5), Failure.BROKEN],
            ending=Ending.UPSTREAM_BROKE,
            input_tokens=12,
            output_tokens=5,
            told=StreamBroken,
        ),
        "broken before its first word": refused(Failure.BROKEN),
        "ended before its first word": refused(),
        "an error for a first word": refused(b'data: {"error": {"message": "oh"}}\n\n'),
        "done before its first word": refused(DONE),
        "an event without end for a first one": refused(b"data: " + b"x" * 5_000_000),
        "silent before its first byte": refused(before=[FOR_EVER]),
        "silent before its first word": refused(b": hello\n\n", FOR_EVER),
        "node stops before its first word": refused(House.node_stops, FOR_EVER, told=NodeStopping),
        "node stops": Row(
            steps=[*words(5), House.node_stops, FOR_EVER],
            ending=Ending.NODE_STOPPED,
            output_tokens=5,
            told=NodeStopping,
        ),
        "another settles our calls": Row(
            steps=[*words(5), House.another_settles_our_calls, 6.0, *words(1), FOR_EVER],
            ending=Ending.NODE_STOPPED,
            output_tokens=5,
            told=NodeStopping,
        ),
        "key revoked": Row(
            # What was under way to us counts, and what comes later is not waited for.
            steps=[*words(5), House.key_is_revoked, 1.5, *words(1), *words(3), 1.0, *words(5)],
            ending=Ending.REVOKED,
            output_tokens=9,
            told=KeyRevoked,
        ),
        "key revoked, and silence": Row(
            steps=[*words(5), House.key_is_revoked, FOR_EVER],
            ending=Ending.REVOKED,
            output_tokens=5,
            told=KeyRevoked,
        ),
        "key gone": Row(
            steps=[*words(5), House.key_is_gone, 1.5, *words(1)],
            ending=Ending.REVOKED,
            output_tokens=6,
            told=KeyRevoked,
        ),
        "key expired": Row(
            steps=[*words(5), House.key_expires, 50.0, *words(1), FINISH], ending=Ending.COMPLETED, output_tokens=6
        ),
        "key paused": Row(
            steps=[*words(5), House.key_is_paused, 50.0, *words(1), FINISH], ending=Ending.COMPLETED, output_tokens=6
        ),
        "keys cannot be looked up": Row(
            steps=[*words(5), House.keys_are_away, 50.0, *words(1), FINISH], ending=Ending.COMPLETED, output_tokens=6
        ),
        "account disabled": Row(
            steps=[*words(5), House.account_is_disabled, 1.5, *words(1)],
            ending=Ending.REVOKED,
            output_tokens=6,
            told=AccountDisabled,
        ),
        "out of time, on backup": Row(
            steps=[step for word in words(10) for step in (word, 100.0)],
            ending=Ending.TIME_LIMIT,
            output_tokens=6,
            told=TimeLimitReached,
            address=Address.BACKUP,
        ),
    }
)
@in_virtual_time
async def test_a_stream_ends_by_its_rule(row: Row) -> None:
    await check(row, stream=True)


@as_rows(
    {
        "before the first word": Row(
            steps=[House.client_leaves, FOR_EVER], ending=Ending.CLIENT_LEFT, source=INPUT_ALONE, told=ClientLeft
        ),
        "before it was sent": refused(before=[House.client_leaves, Failure.UNREACHABLE]),
        "before the first word, and only a report comes": Row(
            steps=[House.client_leaves, report(12, 7), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
            told=ProviderUnavailable,
        ),
        "in the middle": Row(
            steps=[*words(5), House.client_leaves, FOR_EVER],
            ending=Ending.CLIENT_LEFT,
            output_tokens=5,
            told=ClientLeft,
        ),
        "and more was under way": Row(
            steps=[*words(5), House.client_leaves, 0.3, *words(2), 0.3, *words(2)],
            ending=Ending.CLIENT_LEFT,
            output_tokens=7,
            told=ClientLeft,
        ),
        "and all was under way": Row(
            steps=[*words(5), House.client_leaves, 0.3, FINISH, report(12, 7), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "and it broke": Row(
            steps=[*words(5), House.client_leaves, Failure.BROKEN],
            ending=Ending.CLIENT_LEFT,
            output_tokens=5,
            told=StreamBroken,
        ),
        "after the last word, before the report": Row(
            steps=[*words(5), FINISH, House.client_leaves, 4.0, report(12, 7), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=7,
            source=PROVIDER,
        ),
        "after the last word, and no report comes": Row(
            steps=[*words(5), FINISH, House.client_leaves, FOR_EVER],
            ending=Ending.CLIENT_LEFT,
            output_tokens=5,
            told=TimeLimitReached,
        ),
        "a model that thinks": Row(
            steps=[*words(5), House.client_leaves, 50.0, *words(3), FINISH, report(12, 99), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=99,
            source=PROVIDER,
            model="thinker",
        ),
        "a model that thinks for too long": Row(
            steps=[step for word in (words(1)[0], *words(9)) for step in (word, House.client_leaves, 100.0)],
            ending=Ending.CLIENT_LEFT,
            output_tokens=7,
            told=TimeLimitReached,
            model="thinker",
        ),
        "and the key is revoked": Row(
            steps=[*words(5), House.client_leaves, House.key_is_revoked, 50.0, FINISH, report(12, 99), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=99,
            source=PROVIDER,
            model="thinker",
        ),
        "an answer of unknown form": Row(
            steps=[STRANGE, House.client_leaves, 50.0, FINISH, report(12, 99), DONE],
            ending=Ending.CLIENT_LEFT,
            input_tokens=12,
            output_tokens=99,
            source=PROVIDER,
        ),
        "is there and does not read": Row(
            steps=[*words(5), House.client_is_stuck, FOR_EVER],
            ending=Ending.CLIENT_LEFT,
            output_tokens=5,
            told=ClientLeft,
        ),
        "twice": Row(
            steps=[*words(5), House.client_leaves, House.client_leaves, 0.3, *words(1), 0.4],
            ending=Ending.CLIENT_LEFT,
            output_tokens=6,
            told=ClientLeft,
        ),
    }
)
@in_virtual_time
async def test_who_leaves_a_stream_pays_for_what_was_made(row: Row) -> None:
    await check(row, stream=True)


@in_virtual_time
async def test_a_silent_stream_of_a_revoked_key_is_ended_within_seconds() -> None:
    house = House(Reply(*words(5), FOR_EVER))
    calling = asyncio.create_task(house.chat(stream=True))
    await asyncio.sleep(1)
    house.key_is_revoked()
    await Revocations(house.running, house.keys).look()
    assert isinstance((await calling).problem, KeyRevoked)
    assert asyncio.get_running_loop().time() < 1 + CUT_OFF_SECONDS + 0.5
    house.check()


@in_virtual_time
async def test_what_waits_unread_for_a_client_that_is_stuck_counts() -> None:
    """The call is ended while the edge tries to send: the provider has gone on meanwhile."""
    house = House(Reply(*words(3), 0.01, *words(4), FOR_EVER))
    heard = await house.chat(stream=True, reads_pieces=2)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(INPUT_TOKENS, 7), COUNTED)
    house.check()


@in_virtual_time
async def test_an_answer_that_waits_unread_and_is_whole_is_charged_as_reported() -> None:
    house = House(Reply(*words(5), FINISH, report(12, 3), DONE))
    heard = await house.chat(stream=True, reads_pieces=2)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(12, 3), PROVIDER)
    house.check()


@in_virtual_time
async def test_for_a_client_that_is_stuck_a_report_is_waited_for_half_a_minute() -> None:
    house = House(Reply(*words(2), 100.0, FINISH, report(12, 99), DONE))
    heard = await house.chat(stream=True, model="thinker", reads_pieces=1)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(INPUT_TOKENS, 2), COUNTED)
    assert asyncio.get_running_loop().time() == LIMITS.longest_seconds + STUCK_SECONDS
    house.check()


@in_virtual_time
async def test_who_sent_a_picture_and_leaves_pays_what_the_provider_reports() -> None:
    """What a picture comes to only the provider knows."""
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,YQ=="}}]
    house = House(Reply(*words(5), House.client_leaves, 50.0, *words(1), FINISH, report(812, 6), DONE))
    heard = await house.chat(stream=True, messages=[{"role": "user", "content": parts}])
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(812, 6), PROVIDER)
    house.check()


@in_virtual_time
async def test_a_process_that_stops_waits_until_its_last_call_is_settled() -> None:
    house = House(Reply(*words(5), 30.0, *words(1), FINISH, DONE))
    calling = asyncio.create_task(house.chat(stream=True))
    # It is in the middle of its answer.
    await asyncio.sleep(10)
    assert len(house.running.streams()) == 1
    await house.running.wait_until_none()
    house.ledger.check()
    assert (await calling).booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 6), COUNTED)


@in_virtual_time
async def test_who_leaves_after_the_last_word_has_a_complete_answer() -> None:
    house = House(Reply(*words(5), FINISH, DONE))
    heard = await house.chat(stream=True)
    house.client_leaves()
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 5), COUNTED)
    house.check()


@in_virtual_time
async def test_a_stream_that_quota_runs_out_for_costs_what_was_held() -> None:
    # For the input, and for a hundred words, two quota each; then there is enough for thirty more.
    quota = INPUT_TOKENS + 2 * 130
    house = House(Reply(*words(500), FINISH, DONE), quota=quota)
    heard = await house.chat(stream=True)
    assert isinstance(heard.problem, InsufficientQuota)
    assert heard.receipt is not None
    assert heard.receipt.ending is Ending.QUOTA_RAN_OUT
    assert heard.receipt.charge.amount == quota * 1_000_000
    house.check()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@in_virtual_time
async def test_an_answer_that_is_too_large_is_charged_as_estimated_and_asked_of_nobody_else(stream: bool) -> None:
    piece = b"data: " + b"x" * 1_000_000 if stream else b"x" * 17_000_000
    house = House(Reply(*[piece] * 5), quota=100_000_000)
    heard = await house.chat(stream=stream, model="talker", max_tokens=2_000_000)
    assert isinstance(heard.problem, AnswerTooLarge)
    assert heard.receipt is not None
    assert heard.outcomes == ["too_long"]
    assert heard.receipt.charge.source is COUNTED
    assert heard.receipt.charge.usage.output_units > 1_000_000
    assert house.pool.failed == []
    house.check()


@in_virtual_time
async def test_an_answer_that_only_a_lenient_reader_could_read_is_too_large_for_one() -> None:
    house = House(Reply(b"x" * 3_000_000), quota=100_000_000)
    heard = await house.chat(model="talker")
    assert isinstance(heard.problem, AnswerTooLarge)
    assert heard.outcomes == ["too_long"]
    house.check()


@in_virtual_time
async def test_a_report_reaches_only_who_asked_for_it() -> None:
    script = [*words(1), FINISH, report(12, 7), DONE]
    asked, unasked = House(Reply(*script)), House(Reply(*script))
    told = (await asked.chat(stream=True, stream_options={"include_usage": True})).text
    assert told.startswith(b"".join([*words(1), FINISH]))
    # Twelve and seven, at one and two quota tokens each, of which there are 500,000 to a USD.
    *_, [reported], [done] = [event.splitlines() for event in told.split(b"\n\n") if event]
    assert json.loads(reported.removeprefix(b"data: "))["usage"] == {
        "prompt_tokens": 12,
        "completion_tokens": 7,
        "cost": 0.000052,
    }
    assert done + b"\n\n" == DONE
    assert (await unasked.chat(stream=True)).text == b"".join([*words(1), FINISH, DONE])
    assert b'"include_usage":true' in unasked.upstream.requests[0].body


@in_virtual_time
async def test_what_a_vendor_remarks_does_not_pass_and_does_not_end_an_answer() -> None:
    remarks = [b": hello\n\n", b"data: \n\n", b"data:\n\n", events()]
    house = House(Reply(*remarks, *words(1), *remarks, FINISH))
    assert (await house.chat(stream=True)).text == words(1)[0] + FINISH + DONE
    house.check()


@pytest.mark.parametrize("stream", [False, True])
@in_virtual_time
async def test_who_left_before_anything_was_sent_is_asked_nothing_for(stream: bool) -> None:
    house, request = House(), Request(uuid4(), Address.MAIN)

    async def body() -> bytes:
        return chat_body(stream=stream)

    async def leave(answer: AnyAnswer) -> None:
        answer.client_left()
        with pytest.raises(ProviderUnavailable):
            await answer.read()

    await serve(Call(request, house.let_go_of_body), CHAT, body, house.relay, leave)
    [receipt] = house.ledger.receipts
    assert (receipt.ending, receipt.charge.amount) == (Ending.REFUSED, 0)
    house.check()


@in_virtual_time
async def test_whose_key_is_revoked_before_anything_was_sent_is_told_so() -> None:
    house, request = House(), Request(uuid4(), Address.MAIN)

    async def body() -> bytes:
        return chat_body(stream=True)

    call = Call(request, house.let_go_of_body)

    async def lose_key(answer: AnyAnswer) -> None:
        call.cut_off(KeyRevoked("revoked"), Ending.REVOKED)
        with pytest.raises(KeyRevoked):
            await answer.read()

    await serve(call, CHAT, body, house.relay, lose_key)
    [receipt] = house.ledger.receipts
    assert receipt.charge.amount == 0
    house.check()


@in_virtual_time
async def test_who_has_the_whole_answer_may_call_again_at_once() -> None:
    """However long the provider keeps its connection open."""
    more = Reply(*words(3), FINISH, DONE)
    house = House(Reply(*words(3), FINISH, DONE, 30.0), more, rates=Rates(concurrency=1))
    request = Request(uuid4(), Address.MAIN)

    async def body() -> bytes:
        return chat_body(stream=True)

    async def hear_all(answer: AnyAnswer) -> "asyncio.Future[Heard]":
        while await answer.read():
            pass
        return asyncio.ensure_future(house.chat(stream=True))

    again = await serve(Call(request, house.let_go_of_body), CHAT, body, house.relay, hear_all)
    assert (await again).problem is None
    house.check()
