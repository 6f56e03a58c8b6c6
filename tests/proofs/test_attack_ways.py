"""The search for free rides: which forms it tries, and what it takes for prove-attacks to pass."""

import asyncio
import random
from itertools import islice
from typing import Any, cast

import msgspec
import pytest

from proofs.attacks.__main__ import Found, holds
from proofs.attacks.answers import REPORTS_OF_HIDDEN, VENDORS, AnswerForm, forms
from proofs.attacks.bystander import Bystander
from proofs.attacks.charges import WayVerdict, Wrong
from proofs.attacks.moments import Moment
from proofs.attacks.order_forms import OrderDialect, OrderForm
from proofs.attacks.raw_call import Heard
from proofs.attacks.rows import ROWS, Rows
from proofs.attacks.search import Plan, Tried
from proofs.attacks.storms import Storms
from proofs.attacks.target import Target
from proofs.attacks.ways import Try, Way, a_try, draw_ways
from proofs.rig.customers import Customer
from proofs.rig.raw_calls import Leaving
from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_messages
from tollkeeper.core.dialects.responses.order import read_responses
from tollkeeper_simulator.hostile.wording import FORMS

CUSTOMER = Customer(1, "sk-")
WAYS = list(islice(draw_ways(random.Random(19)), 1_500))  # noqa: S311
WAY = Way(
    number=1,
    order=OrderForm(stream=True, fields={}),
    answer=AnswerForm(vendor="openai", directions=""),
    moment=Moment.NEVER,
)
READERS = {
    OrderDialect.CHAT: read_chat,
    OrderDialect.MESSAGES: lambda body: read_messages(Spoken(body)),
    OrderDialect.RESPONSES: read_responses,
}
CLEAN = Rows(frozenset(range(1, ROWS + 1)), 1, 0, "")


def test_whatever_hides_is_tried_with_every_report() -> None:
    tried = {(form.vendor, form.directions) for form in forms()}
    for said in REPORTS_OF_HIDDEN:
        assert {(vendor, f"hide={name} {said}".strip()) for vendor in VENDORS for name in FORMS[vendor]} <= tried


def test_every_form_of_answer_has_its_turn_and_every_dialect_is_asked_in() -> None:
    assert {way.answer.name for way in WAYS} == {form.name for form in forms()}
    asked = {(way.order.dialect, way.answer.vendor) for way in WAYS}
    assert asked == {(dialect, vendor) for dialect in OrderDialect for vendor in VENDORS}


@pytest.mark.parametrize("dialect", OrderDialect)
def test_orders_are_of_their_dialect(dialect: OrderDialect) -> None:
    for fields in ({}, {"temperature": 1}):
        order = OrderForm(stream=True, dialect=dialect, fields=fields, cap_percent=50)
        read: ChatOrder = READERS[dialect](order.body("a-model", "Say something.", 40))
        assert (read.model, read.stream, read.max_output_tokens) == ("a-model", True, 20)


def test_an_order_goes_to_the_path_of_its_dialect() -> None:
    for way in WAYS[:50]:
        sent = a_try(way, CUSTOMER, 1_000, random.Random(1)).sent  # noqa: S311
        assert sent.startswith(f"POST {way.order.dialect} HTTP/1.1\r\n".encode())


def what_was_found(**changes: Any) -> Found:
    """Two calls of one way, as they should be."""
    bystander = Bystander(0, CUSTOMER, "a-model")
    attempt = Try(way=WAY, customer=CUSTOMER, sent=b"", leaving=Leaving(), asked_tokens=1)
    found = Found(
        plan=Plan(ways=1, calls_each=2),
        tried=[Tried(attempt, Heard(status=200))] * 2,
        ways=[WayVerdict(way=WAY, calls=2, made=1, charged=5_000_000, example="")],
        wrong=[],
        leaked=[],
        storms=Storms(cast(Target, None), [], bystander),
        bystanders=[bystander],
        books_clean=True,
    )
    return msgspec.structs.replace(found, **changes)


@pytest.mark.parametrize("judges", [False, True], ids=["in CI", "by hand"])
def test_what_is_as_it_should_be_passes(judges: bool) -> None:
    assert holds(what_was_found(), CLEAN, judges=judges)


@pytest.mark.parametrize(("stayed", "passes_in_ci"), [(True, False), (False, True)])
def test_a_wrong_charge_fails_anywhere_if_its_caller_heard_the_answer_to_its_end(
    stayed: bool, passes_in_ci: bool
) -> None:
    found = what_was_found(wrong=[Wrong("not the price", WAY, "", stayed)])
    assert holds(found, CLEAN, judges=False) is passes_in_ci
    assert not holds(found, CLEAN, judges=True)


def test_a_search_of_too_few_calls_fails() -> None:
    found = what_was_found()
    looks = [msgspec.structs.replace(one, is_look=True) for one in found.tried]
    assert not holds(msgspec.structs.replace(found, tried=looks), CLEAN, judges=False)


def test_what_a_bystander_feels_is_judged_by_hand_alone() -> None:
    found = what_was_found()
    found.bystanders[0].worst_seconds["while another customer sends large bodies"] = 0.3
    assert holds(found, CLEAN, judges=False)
    assert not holds(found, CLEAN, judges=True)


async def test_a_bystander_calls_at_least_once_however_short_the_attack_is() -> None:
    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        bystander = Bystander(server.sockets[0].getsockname()[1], CUSTOMER, "a-model")
        async with bystander.present("while nothing happens"):
            pass
    assert bystander.calls == bystander.failed.total() == 1
    assert bystander.worst_seconds["while nothing happens"] > 0
