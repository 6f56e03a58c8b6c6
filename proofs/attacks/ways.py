"""Ways to a free ride: a form of order, a form of answer and a moment of leaving, and the calls that try each."""

import itertools
import random
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from proofs.attacks.answers import AnswerForm, forms
from proofs.attacks.moments import OF_WHOLE, Moment, draw_leaving, pace
from proofs.attacks.order_forms import OrderForm, draw_order
from proofs.attacks.target import model_of
from proofs.rig.customers import Customer
from proofs.rig.raw_calls import Leaving, chat_request

T = TypeVar("T")
TOKENS = (20, 300)
PER_CHUNK = (1, 1, 2, 5, 20)
# Every byte comes alone: a short answer has enough of them.
DRIPPED_TOKENS = 25


class Way(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    order: OrderForm
    answer: AnswerForm
    moment: Moment

    @property
    def name(self) -> str:
        return f"way {self.number}: {self.order.name} | {self.answer.name} | leaves {self.moment}"


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a way."""

    way: Way
    customer: Customer
    sent: bytes
    leaving: Leaving
    # What is asked for, as far as no cap stands against it.
    asked_tokens: int


def draw_ways(chance: random.Random) -> Iterator[Way]:
    """Ways without end; every form of answer and every moment has its turn."""
    answers, moments, of_whole = _deck(forms(), chance), _deck(list(Moment), chance), _deck(list(OF_WHOLE), chance)
    for number in itertools.count():
        answer = next(answers)
        order = draw_order(answer, chance)
        moment = next(moments if order.stream else of_whole)
        yield Way(number=number, order=order, answer=answer, moment=moment)


def a_try(way: Way, customer: Customer, size_bytes: int, chance: random.Random) -> Try:
    tokens = DRIPPED_TOKENS if "drip" in way.answer.directions else chance.randint(*TOKENS)
    per_chunk = chance.choice(PER_CHUNK)
    paced = pace(way.moment, tokens, per_chunk, chance)
    # What the form of answer says of itself is said last, and so holds.
    directions = f"tokens={tokens} per_chunk={per_chunk} timeline=true {paced} {way.answer.directions}".strip()
    model = model_of(way.answer.vendor, of_thinker=way.order.of_thinker)
    return Try(
        way=way,
        customer=customer,
        sent=chat_request(
            customer.key,
            way.order.body(model, f"Say something. [[{directions}]]", tokens),
            path=way.order.dialect,
        ),
        # The size is that of an answer of middling length.
        leaving=draw_leaving(way.moment, size_bytes * tokens * 2 // sum(TOKENS), chance),
        asked_tokens=tokens * int(str(way.order.fields.get("n", 1))),
    )


def _deck(cards: list[T], chance: random.Random) -> Iterator[T]:
    while True:
        chance.shuffle(cards)
        yield from cards
