"""Numbers that nobody means: refused, and never a negative or an overflowing hold or charge."""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.attacker import Attacker
from tests.client import ask
from tests.core.money.test_charge import Read
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.errors import BadRequest
from tollkeeper.core.money.charge import ChargeTerms, Ending, charge
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.money.quote import Ask, TokenCaps, quote

MOST = 2**63 - 1
EXTREMES = {
    "n": (10**9, -1, 0, 1.5, 129, 2**63, 2**64, 1e3, "2", True, [], {}, -(2**63)),
    "max_tokens": (-1, 0, 2**63, 2**64, 10**9 + 1, 1.5, -0.5, "7", True, [5], {"a": 1}),
    "max_completion_tokens": (-1, 0, 2**63, 10**30, 1.5, "7", False),
    "top_logprobs": (-1, 21, 2**31, 1.5, "5"),
    "stream": (1, "true", [], 0),
    "logprobs": (1, "yes"),
    "stream_options": ([], 1, {"include_usage": 1}),
}
CASES = [(name, value) for name, values in EXTREMES.items() for value in values]
# prove-attacks in full size asks for a million.
FUZZED_BODIES = int(os.environ.get("FUZZED_BODIES", "20000"))


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value}" for name, value in CASES])
def test_an_extreme_is_400(attacker: Attacker, name: str, value: Any) -> None:
    answer = attacker.chat(**{name: value})
    assert answer.status == 400, answer.text
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("n", [0, -1, 2**63, 1.5, "x", 10**9])
def test_extreme_counts_of_images_are_400(attacker: Attacker, n: object) -> None:
    body = {"model": attacker.models[Kind.IMAGE], "prompt": "A cat", "n": n}
    answer = ask(attacker.node, "/v1/images/generations", method="POST", key=attacker.key, body=body)
    assert answer.status == 400, answer.text


def test_nothing_came_of_any(attacker: Attacker) -> None:
    attacker.check_nothing_came_of()


NUMBERS = (0, 1, -1, 2, 127, 128, 129, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**9, 10**18, 10**30, 1.5, 1e308)
VALUES: tuple[object, ...] = (
    *NUMBERS,
    None,
    True,
    False,
    "",
    "7",
    "-1",
    [],
    [1],
    {},
    {"type": "text"},
    "\0",
    "x" * 100,
)
PARAMETERS = ("n", "max_tokens", "max_completion_tokens", "top_logprobs", "logprobs", "stream", "seed", "temperature")
PARTS = (
    {"type": "text", "text": "Hi"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 999}},
    {"type": "file", "file": {"file_data": "A" * 5_000}},
    {"type": "input_audio", "input_audio": {"data": "A" * 99, "format": "wav"}},
    {"type": "text", "text": -1},
)
TEXTS = ("Hi", "", "word " * 50, None, 7, "\0", "é" * 30)


def a_body(chance: random.Random) -> bytes:
    """A body of which much is right, so that some are accepted."""
    content = chance.choice((chance.choice(TEXTS), chance.choices(PARTS, k=chance.randint(0, 4))))
    fields: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": content}]}
    for name in chance.sample(PARAMETERS, chance.randint(0, 3)):
        fields[name] = chance.choice(NUMBERS[:6]) if chance.random() < 0.5 else chance.choice(VALUES)
    return msgspec.json.encode(fields)


def a_rate(chance: random.Random) -> Rate:
    multipliers = [chance.choice((0, 1, 75_000, MILLIONTHS, 150 * MILLIONTHS)) for _ in range(3)]
    price = Price(
        id=1,
        model_id="m",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        model=multipliers[0],
        completion=multipliers[1],
        cached=multipliers[2],
    )
    return Rate(price, chance.choice((1, 900_000, MILLIONTHS)))


@pytest.mark.timeout(300 + FUZZED_BODIES // 500)
def test_no_hold_and_no_charge_is_negative_or_overflows(record_property: Callable[[str, object], None]) -> None:
    chance, limits, accepted = random.Random(6), TokenCaps(), 0  # noqa: S311 (the same bodies every time)
    for _ in range(FUZZED_BODIES):
        body = a_body(chance)
        try:
            order = read_chat(body)
        except BadRequest:
            continue
        accepted += 1
        rate = a_rate(chance)
        ask_of = Ask(
            input_units=order.input_tokens(part_tokens=limits.hold_part_tokens),
            max_output_tokens=order.max_output_tokens,
            n=order.n,
            thinks=order.thinks,
            has_media=order.media_parts > 0,
            media_tokens=min(order.media_tokens, limits.context_tokens),
        )
        held = quote(ask_of, limits, rate)
        counts = [chance.choice((0, 7, -1, 2**63, 10**30, 100_000)) for _ in range(3)]
        reported = Usage(counts[0], counts[1], counts[2])
        most = limits.context_tokens * order.n
        read = Read(reported=reported, output_tokens=chance.randint(0, most))
        due = charge(
            chance.choice(list(Ending)),
            ChargeTerms(ask_of, limits, rate),
            read,
            complete=chance.choice((True, False)),
            covered_tokens=most,
            held=held,
        )
        assert 0 <= held <= MOST, body
        assert 0 <= due.amount <= MOST, body
        assert isinstance(held, int)
        assert isinstance(due.amount, int)
    assert accepted > FUZZED_BODIES // 20
    record_property("cases", FUZZED_BODIES)
