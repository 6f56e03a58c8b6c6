"""A provider that is malicious: it can spoil its own answer, and nothing else.

Whatever it sends, the call ends with a documented status, the next call is served, the books are clean, the caller sees
no key of a provider, nothing is fetched from where a redirect points, and absurd usage is nobody's bill.
"""

import socket
from collections.abc import AsyncIterator

import pytest

from tests.attacks.hostile_town import PROVIDER_KEY, THEIRS, Town, a_hostile_town
from tests.chat import words
from tests.client import Answer
from tests.command_line import tollkeeper
from tests.conftest import Stores
from tollkeeper.core.calls.sse import EVENT_BYTES_MOST
from tollkeeper.core.money.charge import UsageSource
from tollkeeper_simulator.hostile.wording import FORMS
from tollkeeper_simulator.speech import text_of

# What may be said in place of an answer, if it is no fault of the caller's.
DOCUMENTED = {"provider_unavailable", "stream_broken", "time_limit_reached", "edge_timeout"}

# The provider refuses, so the caller is told that it did.
REFUSING = [
    "error_bytes=3000000",
    "leak=error",
    "leak=code",
    "leak=type",
    "leak=param",
    "leak=status_text",
    # A status that nobody knows is about the request, whoever is asked.
    "raw_status=418",
]
# More than one event may have.
TOO_LONG_A_LINE = f"endless=line bytes={EVENT_BYTES_MOST + 1_000_000}"
# What every vendor's reader has to cope with, and what happens before any of them reads.
ANYWHERE = [
    "index=-1",
    "index='x'",
    "letters=surrogate",
    "letters=invalid_utf8",
    "letters=nul",
    "letters=control",
    "endless=line bytes=3000000",
    TOO_LONG_A_LINE,
    "endless=pings bytes=3000000",
    "deep=100000",
    "digits=100000",
    "duplicate_keys=1",
    "bom=1",
    "cr_only=1",
    "error_in_200=1",
    "leak=event",
    "told_twice=1",
    "usage_name=tally",
    'usage_value="1e400:1"',
]
ONCE = [
    "header_count=2000",
    "header_bytes=2000000",
    "header_drip_ms=1",
    "header_drip_ms=1000",
    "error_bytes=3000000 status=500",
    "encoding=gzip",
    "encoding=deflate",
    "encoding=br",
    "encoding=unknown",
    "gzip_bomb=5000000 bom=1",
    "drip=1 bom=1",
    "framing=bad_size",
    "framing=negative_size",
    "framing=huge_size",
    "framing=no_line_end",
    "framing=extension",
    "framing=trailers",
    "framing=two_lengths",
    "raw_status=204",
    "raw_status=205",
    "raw_status=206",
    "raw_status=304",
    "raw_status=999",
    "early_hints=100",
    "switching=1",
    "leak=error status=401",
    "leak=error status=500",
    "leak=headers",
    "extra_choices=3",
    "logprobs_mb=2",
    "early_finish=1",
    "more_after=finish",
    "more_after=usage",
    "more_after=done",
    "usage_place=before",
    "usage_place=every",
    "index=1000000000",
    "index=0.5",
    "hide=all",
    "endless=comments bytes=3000000",
    "endless=empty bytes=3000000",
    "endless=blanks bytes=3000000",
    "endless=events bytes=3000000",
    "endless=fields bytes=3000000",
    "no_space=1",
    "stall_after_finish=60000",
    'usage=twice usage_value="1:1" usage_second="2:2"',
    "answer_mb=2",
]
HIDING = [(vendor, f"hide={form}") for vendor in THEIRS for form in FORMS[vendor]]
ACTS = [
    *((vendor, act) for vendor in THEIRS for act in (*ANYWHERE, *REFUSING)),
    *(("openai", act) for act in ONCE),
    *HIDING,
]
ABSURD = [
    "-5:-6:-7",
    "0:-1",
    f"{2**63}:{2**63}",
    f"{10**40}:1",
    "1:999999999",
    "1.5:2.5",
    "'12':'7'",
    "[1]:true",
]

streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module")
async def town(stores: Stores) -> AsyncIterator[Town]:
    async with a_hostile_town(stores) as found:
        yield found


def _is_documented(answer: Answer) -> bool:
    return answer.status < 500 or answer.error["code"] in DOCUMENTED


@streamed_or_not
@pytest.mark.parametrize(("vendor", "act"), ACTS, ids=[f"{vendor}-{act}" for vendor, act in ACTS])
async def test_an_answer_is_spoilt_and_nothing_else(town: Town, vendor: str, act: str, stream: bool) -> None:
    answer = town.call(vendor, f"[[tokens=9 {act}]]", stream=stream)
    assert _is_documented(answer), answer
    assert (answer.status == 400) == (act in REFUSING), answer
    seen = answer.text + repr(answer.headers).encode()
    assert PROVIDER_KEY.encode() not in seen
    receipt = await town.receipt(answer)
    assert 0 <= receipt.charged <= receipt.held
    after = town.call(vendor, "[[tokens=5]]", stream=True)
    assert (after.status, words(after.text)) == (200, text_of(5))


@pytest.mark.parametrize("vendor", THEIRS)
async def test_a_line_that_is_longer_than_an_event_may_be_reaches_no_caller(town: Town, vendor: str) -> None:
    answer = town.call(vendor, f"[[tokens=9 {TOO_LONG_A_LINE}]]", stream=True)
    assert _is_documented(answer), answer
    assert len(answer.text) < EVENT_BYTES_MOST // 10
    receipt = await town.receipt(answer)
    assert 0 <= receipt.charged <= receipt.held


@streamed_or_not
@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("vendor", THEIRS)
async def test_usage_that_cannot_be_is_taken_for_none(town: Town, vendor: str, value: str, stream: bool) -> None:
    answer = town.call(vendor, f'[[tokens=9 usage_value="{value}"]]', stream=stream)
    receipt = await town.receipt(answer)
    assert answer.status == 200
    assert (receipt.usage_source, receipt.usage.output_units) == (UsageSource.COUNTED, 9)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@streamed_or_not
async def test_no_redirect_is_followed(town: Town, status: int, stream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        where = f"http://127.0.0.1:{canary.getsockname()[1]}/v1/chat/completions"
        answer = town.call("openai", f"[[redirect={where} redirect_status={status}]]", stream=stream)
        assert _is_documented(answer), answer
        assert answer.status != status
        assert where not in answer.text.decode() + repr(answer.headers)
        assert (await town.receipt(answer)).charged == 0
        with pytest.raises(BlockingIOError):
            canary.accept()


async def test_afterwards_the_books_are_clean_and_no_key_is_in_the_log(town: Town) -> None:
    town.call("openai", "[[leak=error]]", stream=False)
    checked = tollkeeper(town.settings, "books", "check")
    assert checked.stdout.endswith("The books are clean.\n"), checked
    assert PROVIDER_KEY not in town.node.log.read_text()
