"""One provider account after another: which refusals and failures are followed by another attempt, and what is told."""

import asyncio
import json

import msgspec
import pytest

from tests.relay.fakes import Reply, Step
from tests.relay.house import DONE, FINISH, INPUT_TOKENS, House, an_account, report, whole, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.addresses import Address
from tollkeeper.core.errors import ProviderRejected, ProviderUnavailable, UnsupportedParameter
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import MILLIONTHS, Usage
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import Failure
from tollkeeper.relay.dispatch.dispatch import LOOP_HEADER
from tollkeeper.relay.dispatch.provider_refusal import TOO_LARGE

FREE = (Ending.REFUSED, Usage(0), UsageSource.NONE)


def an_error(message: str, **more: str) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


def a_refusal(status: int, message: str = "no", **headers: str) -> Reply:
    return Reply(an_error(message), status=status, headers={name.replace("_", "-"): headers[name] for name in headers})


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@in_virtual_time
async def test_what_a_provider_rejects_is_told_in_its_words_and_asked_of_nobody_else(status: int, stream: bool) -> None:
    reply = Reply(an_error("too warm", param="temperature", code="too_warm"), status=status)
    house = House(reply)
    heard = await house.chat(stream=stream)
    assert isinstance(heard.problem, ProviderRejected)
    assert heard.problem.message.startswith("too warm")
    assert (heard.problem.param, heard.problem.code) == ("temperature", "too_warm")
    assert heard.booked == FREE
    assert (heard.outcomes, house.pool.failed) == (["refused"], [])
    house.check()


@in_virtual_time
async def test_of_a_call_that_was_refused_nothing_is_kept() -> None:
    house = House(a_refusal(400))
    await house.chat()
    house.check_that_content_is_forgotten()


@in_virtual_time
async def test_the_secret_of_an_account_is_not_told() -> None:
    house = House(a_refusal(400, "the key 'secret of the account' is odd"))
    heard = await house.chat()
    assert isinstance(heard.problem, ProviderRejected)
    assert "secret" not in heard.problem.message


@in_virtual_time
async def test_a_rejected_model_is_named_as_its_caller_did() -> None:
    theirs = an_account(1, models={"m": "deployment-7"})
    house = House(a_refusal(400, "The model deployment-7 takes no images."), accounts=[theirs])
    heard = await house.chat()
    assert isinstance(heard.problem, ProviderRejected)
    assert heard.problem.message.startswith("The model m takes no images.")
    house.check()


class Trials(msgspec.Struct):
    """A refusal, what it says of the account, and what is told where every account refuses so."""

    reply: Reply
    trouble: Trouble | None
    told: type[Exception]


TRIED_ELSEWHERE = {
    "401": Trials(a_refusal(401), Trouble.CREDENTIAL, ProviderUnavailable),
    "402": Trials(a_refusal(402), Trouble.CREDENTIAL, ProviderUnavailable),
    "402, too large": Trials(
        a_refusal(402, "This request requires more credits, or fewer max_tokens."), None, ProviderRejected
    ),
    "403": Trials(a_refusal(403), None, ProviderRejected),
    "404": Trials(a_refusal(404), None, ProviderUnavailable),
    "408": Trials(a_refusal(408), None, ProviderUnavailable),
    "418": Trials(a_refusal(418), None, ProviderRejected),
    "429": Trials(a_refusal(429), Trouble.BUSY, ProviderUnavailable),
    "429, too large": Trials(a_refusal(429, "Request too large for m"), None, ProviderRejected),
    "301": Trials(a_refusal(301), None, ProviderUnavailable),
    "451": Trials(a_refusal(451), None, ProviderRejected),
    "500": Trials(a_refusal(500), Trouble.SERVER, ProviderUnavailable),
    "503": Trials(a_refusal(503), Trouble.SERVER, ProviderUnavailable),
    "503, says when": Trials(a_refusal(503, retry_after="7"), Trouble.BUSY, ProviderUnavailable),
    "204": Trials(a_refusal(204), Trouble.SERVER, ProviderUnavailable),
}


@pytest.mark.parametrize("trials", TRIED_ELSEWHERE.values(), ids=TRIED_ELSEWHERE)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@in_virtual_time
async def test_who_is_refused_at_one_account_is_answered_at_the_next(trials: Trials, stream: bool) -> None:
    answer = [*words(5), FINISH, DONE] if stream else [whole(5)]
    house = House(trials.reply, Reply(*answer))
    heard = await house.chat(stream=stream)
    assert heard.problem is None
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 5), UsageSource.COUNTED)
    assert heard.outcomes == ["refused", "completed"]
    wanted = [] if trials.trouble is None else [("account 1", trials.trouble)]
    assert [failed[:2] for failed in house.pool.failed] == wanted
    assert house.pool.succeeded == ["account 2"]
    house.check()


@pytest.mark.parametrize("trials", TRIED_ELSEWHERE.values(), ids=TRIED_ELSEWHERE)
@in_virtual_time
async def test_who_is_refused_everywhere_is_told_so_and_pays_nothing(trials: Trials) -> None:
    house = House(trials.reply, trials.reply)
    heard = await house.chat()
    assert type(heard.problem) is trials.told
    assert heard.booked == FREE
    assert heard.outcomes == ["refused", "refused"]
    house.check()


@in_virtual_time
async def test_who_asks_for_too_much_is_told_what_to_do() -> None:
    house = House(*[a_refusal(429, "Request too large for m")] * 2)
    problem = (await house.chat()).problem
    assert isinstance(problem, ProviderRejected)
    assert (problem.message.startswith(TOO_LARGE), problem.code) == (True, "request_too_large")


@in_virtual_time
async def test_one_account_that_may_be_well_later_makes_it_a_matter_of_later() -> None:
    house = House(a_refusal(500), a_refusal(403))
    assert isinstance((await house.chat()).problem, ProviderUnavailable)


FAILURES = {
    "out of reach": Reply(before=[Failure.UNREACHABLE]),
    "lost on the way": Reply(before=[Failure.BROKEN]),
    "silent": Reply(before=[10_000.0]),
    "broken before it said anything": Reply(Failure.BROKEN),
    "no answer": Reply(b"data: <p>\n\n"),
    "empty": Reply(),
}


@pytest.mark.parametrize("reply", FAILURES.values(), ids=FAILURES)
@in_virtual_time
async def test_a_stream_that_fails_before_its_first_word_is_begun_anew_elsewhere(reply: Reply) -> None:
    house = House(reply, Reply(*words(5), FINISH, DONE))
    heard = await house.chat(stream=True)
    assert heard.text == b"".join([*words(5), FINISH, DONE])
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 5), UsageSource.COUNTED)
    assert [failed[:2] for failed in house.pool.failed] == [("account 1", Trouble.SERVER)]
    house.check()


@pytest.mark.parametrize("reply", [Reply(whole(5)[:30], Failure.BROKEN), Reply(whole(5)[:30], 10_000.0)])
@in_virtual_time
async def test_a_whole_answer_is_begun_anew_until_it_is_complete(reply: Reply) -> None:
    house = House(reply, Reply(whole(5)))
    heard = await house.chat()
    assert heard.text == whole(5)
    assert heard.receipt is not None
    broken, delivered = heard.receipt.attempts
    # The input of the one that broke is our cost, and nobody's charge.
    assert (broken["cost"], delivered["cost"]) == (INPUT_TOKENS * MILLIONTHS, (INPUT_TOKENS + 10) * MILLIONTHS)
    assert heard.receipt.charge.amount == delivered["cost"]
    house.check()


@in_virtual_time
async def test_words_that_were_heard_are_followed_by_no_other_beginning() -> None:
    house = House(Reply(*words(1), Failure.BROKEN))
    heard = await house.chat(stream=True)
    assert heard.outcomes == ["upstream_broke"]
    assert house.pool.failed == [("account 1", Trouble.SERVER, None)]


@in_virtual_time
async def test_an_account_costs_its_share_of_the_list_price() -> None:
    house = House(Reply(whole(5)), accounts=[an_account(1, cost=MILLIONTHS // 2)])
    heard = await house.chat()
    assert heard.receipt is not None
    assert [attempt["cost"] for attempt in heard.receipt.attempts] == [(INPUT_TOKENS + 10) * MILLIONTHS // 2]


@pytest.mark.parametrize(("address", "attempts"), [(Address.MAIN, 3), (Address.BACKUP, 1)])
@in_virtual_time
async def test_so_many_attempts_are_made_and_no_more(address: Address, attempts: int) -> None:
    house = House(*[a_refusal(500)] * attempts, accounts=[an_account(number) for number in range(1, 6)])
    heard = await house.chat(address=address)
    assert heard.outcomes == ["refused"] * attempts
    assert len({failed[0] for failed in house.pool.failed}) == attempts
    house.check()


@in_virtual_time
async def test_when_too_much_fails_nothing_is_tried_again() -> None:
    house = House(a_refusal(500))
    house.pool.retries_left = 0
    assert (await house.chat()).outcomes == ["refused"]
    house.check()


@in_virtual_time
async def test_a_refused_key_is_no_retry() -> None:
    house = House(a_refusal(401), Reply(whole(5)))
    house.pool.retries_left = 0
    assert (await house.chat()).outcomes == ["refused", "completed"]


@in_virtual_time
async def test_nothing_is_tried_again_for_a_caller_who_has_left() -> None:
    house = House(Reply(House.client_leaves, an_error("no"), status=429))
    heard = await house.chat()
    assert heard.outcomes == ["refused"]
    assert heard.booked == FREE
    house.check()


@pytest.mark.parametrize(("seconds", "told"), [(None, 2), (0.2, 1), (7.5, 8), (1_000.0, 60)])
@in_virtual_time
async def test_where_no_account_takes_calls_it_is_told_when_one_will(seconds: float | None, told: int) -> None:
    house = House()
    house.pool.out, house.pool.seconds_out = {1, 2}, seconds
    heard = await house.chat()
    assert isinstance(heard.problem, ProviderUnavailable)
    assert heard.problem.retry_after_seconds == told
    assert (heard.booked, heard.outcomes) == (FREE, [])
    house.check()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("0", None), ("-3", None), ("inf", None), ("nan", None), ("Wed, 1 Jul 2026", None)],
)
@in_virtual_time
async def test_a_busy_account_is_left_alone_for_as_long_as_it_says(header: str, seconds: float | None) -> None:
    house = House(a_refusal(429, retry_after=header), Reply(whole(5)))
    await house.chat()
    assert house.pool.failed == [("account 1", Trouble.BUSY, seconds)]


@pytest.mark.parametrize(
    "words_said", [[10_000.0], [b"{", Failure.BROKEN], [b"x" * 40_000] * 3], ids=["none", "half", "too many"]
)
@in_virtual_time
async def test_a_rejection_is_told_even_if_its_words_cannot_be_heard(words_said: list[bytes | float]) -> None:
    house = House(Reply(*words_said, status=400))
    heard = await house.chat()
    assert isinstance(heard.problem, ProviderRejected)
    assert heard.problem.message == ProviderRejected().message
    house.check()


@in_virtual_time
async def test_an_account_whose_vendor_cannot_do_it_is_passed_over() -> None:
    house = House(Reply(whole(5)), accounts=[an_account(1, vendor="anthropic"), an_account(2)])
    heard = await house.chat(logit_bias={"1": 1})
    assert heard.problem is None
    assert house.pool.left == [("account 2", 7)]
    house.check()


@in_virtual_time
async def test_what_no_vendor_of_a_model_can_do_is_refused_by_name() -> None:
    house = House(accounts=[an_account(1, vendor="anthropic")])
    heard = await house.chat(logit_bias={"1": 1})
    assert isinstance(heard.problem, UnsupportedParameter)
    assert heard.problem.param == "logit_bias"
    assert heard.booked == FREE
    house.check()


@in_virtual_time
async def test_what_another_account_could_do_if_it_were_well_is_a_matter_of_later() -> None:
    house = House(accounts=[an_account(1, vendor="anthropic"), an_account(2)])
    house.pool.out = {2}
    assert isinstance((await house.chat(logit_bias={"1": 1})).problem, ProviderUnavailable)


@in_virtual_time
async def test_an_order_carries_its_id_and_our_mark() -> None:
    house = House(Reply(whole(5)))
    await house.chat()
    [request] = house.upstream.requests
    assert house.call is not None
    assert ("x-request-id", str(house.call.request.request_id)) in request.headers
    assert (LOOP_HEADER, "mark") in request.headers
    assert (request.url, request.first_byte_seconds) == ("https://provider-1.test/v1/chat/completions", 600)


@in_virtual_time
async def test_who_was_tried_and_failed_is_told_of_rather_than_who_could_not_have_done_it() -> None:
    """The account that was tried has been paused meanwhile, and nobody is left who could do it."""
    paused = Reply(before=[lambda house: house.pool.accounts.pop(0)], status=500)
    house = House(paused, accounts=[an_account(1), an_account(2, vendor="anthropic")])
    assert isinstance((await house.chat(logit_bias={"1": 1})).problem, ProviderUnavailable)
    house.check()


@in_virtual_time
async def test_remarks_are_no_first_word_and_do_not_prolong_the_wait_for_it() -> None:
    dawdling: list[Step] = [b": hello\n\n", 50.0, b": hello\n\n", 50.0, *words(1), FINISH]
    house = House(Reply(*dawdling), Reply(*words(5), FINISH, DONE))
    heard = await house.chat(stream=True)
    assert heard.outcomes == ["silent", "completed"]
    assert 59 < asyncio.get_running_loop().time() < 61
    house.check()


@in_virtual_time
async def test_who_leaves_while_a_refusal_is_being_read_pays_nothing() -> None:
    house = House(Reply(House.client_leaves, 2.0, an_error("no"), status=400))
    heard = await house.chat(stream=True)
    assert heard.booked == FREE
    house.check()


@in_virtual_time
async def test_what_an_attempt_reported_before_it_failed_is_forgotten() -> None:
    house = House(Reply(report(500, 400), Failure.BROKEN), Reply(*words(5), FINISH, DONE))
    heard = await house.chat(stream=True)
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 5), UsageSource.COUNTED)
    house.check()


@in_virtual_time
async def test_the_calls_of_a_conversation_are_known_by_it_unless_they_fail_over() -> None:
    """Where it failed over to is not its home."""
    house = House(a_refusal(500), Reply(whole(5)), Reply(whole(5)))
    for _ in range(2):
        assert (await house.chat(prompt_cache_key="session 7")).problem is None
    first, retry, second = house.pool.conversations
    assert (retry, first) == (b"", second)
    assert b"session 7" in first
