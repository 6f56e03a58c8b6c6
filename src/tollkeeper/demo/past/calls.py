"""The calls of a day: what each of the customer's programs asks for, and what becomes of it. Made from a seed alone.

Rules of this file
1. Nothing here knows money: what a call costs is reckoned by the service's own rules.
2. The same day is always the same, however many days are made.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import msgspec

from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.money.quote import Ask
from tollkeeper.relay.dispatch.attempt import REFUSED, Attempt

SATURDAY = 5
# How many of them: before so many days, the customer was only trying things out.
TRYING_OUT_BEFORE_DAYS, TRYING_OUT = 46, 0.22
# The provider accounts of the demo.
FIRST, SECOND = "first", "second"
MOST_SECONDS = 100


class Habit(msgspec.Struct, frozen=True, kw_only=True):
    """What one program asks for on a working day."""

    key: str
    model: str
    calls: float
    input_units: tuple[int, int]
    # None where nothing is said: images, characters, seconds.
    output_tokens: tuple[int, int] | None = None
    cached_part: float = 0.0
    variants: tuple[str, ...] = ("",)
    seconds: tuple[float, float]
    hours: tuple[float, float] = (8.0, 18.5)
    on_weekends: float = 0.25
    days_back: tuple[int, int] = (0, 1_000)


HABITS = (
    Habit(
        key="laptop",
        model="claude-sonnet-4.5",
        calls=9,
        input_units=(6_000, 80_000),
        output_tokens=(250, 4_000),
        cached_part=0.72,
        seconds=(3, 28),
        hours=(7.5, 21.5),
        on_weekends=0.35,
    ),
    Habit(
        key="backend",
        model="gpt-4o",
        calls=7,
        input_units=(2_000, 16_000),
        output_tokens=(150, 1_800),
        cached_part=0.3,
        seconds=(1.5, 12),
        on_weekends=0.6,
    ),
    Habit(
        key="backend",
        model="gpt-5-mini",
        calls=5,
        input_units=(2_000, 30_000),
        output_tokens=(300, 4_000),
        seconds=(2, 20),
        hours=(0.5, 23.5),
        on_weekends=1.0,
    ),
    Habit(
        key="newsletter bot",
        model="gemini-2.5-flash",
        calls=4,
        input_units=(6_000, 60_000),
        output_tokens=(600, 3_500),
        seconds=(2, 14),
        hours=(5, 7),
    ),
    Habit(
        key="pictures",
        model="dall-e-3",
        calls=1.6,
        input_units=(1, 1),
        variants=("1024x1024", "1024x1024", "1024x1024 hd", "1792x1024"),
        seconds=(7, 22),
    ),
    Habit(key="podcast", model="tts-1", calls=1.2, input_units=(500, 3_900), seconds=(2, 9)),
    Habit(key="backend", model="text-embedding-3-small", calls=2.4, input_units=(300, 6_000), seconds=(0.2, 1)),
    Habit(key="podcast", model="whisper-1", calls=1.3, input_units=(120, 1_500), seconds=(4, 30)),
    Habit(
        key="old phone",
        model="gpt-4o-mini",
        calls=3,
        input_units=(200, 3_000),
        output_tokens=(60, 700),
        seconds=(1, 6),
        on_weekends=1.4,
        days_back=(13, 1_000),
    ),
    Habit(
        key="staging",
        model="gpt-4o-mini",
        calls=3,
        input_units=(300, 4_000),
        output_tokens=(50, 600),
        seconds=(1, 5),
        on_weekends=0.0,
        days_back=(6, 1_000),
    ),
    Habit(
        key="workshop",
        model="gpt-4o-mini",
        calls=4,
        input_units=(150, 2_500),
        output_tokens=(80, 900),
        seconds=(1, 7),
        days_back=(0, 11),
    ),
)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a meter has read of an answer (`core.money.charge.Readings`)."""

    reported: Usage | None = None
    so_far: Usage | None = None
    output_tokens: int = 0
    guessed_tokens: int = 0


class PastCall(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    seconds: float
    key: str
    model: str
    variant: str
    ask: Ask
    reading: Reading
    ending: Ending
    attempts: tuple[Attempt, ...]
    # For its request id.
    chance: bytes

    @property
    def ended_at(self) -> datetime:
        return self.at + timedelta(seconds=self.seconds)


def calls_of(midnight: datetime, days_back: int, seed: int) -> Sequence[PastCall]:
    """In the order of their time; none is begun before the one before has ended."""
    chance = Random(f"{seed}:{days_back}")  # noqa: S311 - a story, not a secret
    mood = chance.uniform(0.55, 1.35)
    planned = [
        _call(midnight, habit, chance)
        for habit in HABITS
        if habit.days_back[0] <= days_back < habit.days_back[1]
        for _ in range(_how_many(habit, midnight, days_back, mood, chance))
    ]
    free_from, kept = midnight, []
    for call in sorted(planned, key=lambda each: each.at):
        if call.at > free_from:
            kept.append(call)
            free_from = call.ended_at
    return kept


def _how_many(habit: Habit, midnight: datetime, days_back: int, mood: float, chance: Random) -> int:
    expected = habit.calls * mood * (habit.on_weekends if midnight.weekday() >= SATURDAY else 1.0)
    if days_back > TRYING_OUT_BEFORE_DAYS:
        expected *= TRYING_OUT
    return int(expected + chance.random())


def _call(midnight: datetime, habit: Habit, chance: Random) -> PastCall:
    ending, attempts_before = _fate(habit, chance)
    input_units = chance.randint(*habit.input_units)
    is_chat = habit.output_tokens is not None
    output_tokens = chance.randint(*habit.output_tokens) if habit.output_tokens else 0
    cached = int(input_units * habit.cached_part * chance.uniform(0.6, 1.2)) if chance.random() < 0.85 else 0
    usage = Usage(input_units, output_tokens, min(cached, input_units))
    seconds = chance.uniform(*habit.seconds) if ending is not Ending.CUT else chance.uniform(MOST_SECONDS + 5, 160)
    wasted_seconds = sum(attempt.ms or 0 for attempt in attempts_before) / 1_000
    return PastCall(
        at=midnight + timedelta(hours=chance.uniform(*habit.hours)),
        seconds=seconds + wasted_seconds,
        key=habit.key,
        model=habit.model,
        variant=chance.choice(habit.variants),
        ask=Ask(input_units=input_units, measured=not is_chat),
        reading=_reading(usage, ending, chance),
        ending=ending,
        attempts=(*attempts_before, *_last_attempt(ending, seconds, attempts_before, chance)),
        chance=chance.randbytes(10),
    )


def _fate(habit: Habit, chance: Random) -> tuple[Ending, tuple[Attempt, ...]]:
    """How it ends, and the attempts that failed before."""
    dice = chance.random()
    if dice < 0.012:
        return Ending.REFUSED, (_failed(FIRST, chance), _failed(SECOND, chance))
    before = (_failed(FIRST, chance),) if dice > 0.95 else ()
    if habit.output_tokens is None:
        return Ending.COMPLETED, before
    if dice < 0.024:
        return Ending.UPSTREAM_BROKE, before
    if dice < 0.044:
        return Ending.CLIENT_LEFT, before
    return Ending.CUT if dice < 0.048 else Ending.COMPLETED, before


def _failed(account: str, chance: Random) -> Attempt:
    outcome, status, ms = chance.choice(
        ((REFUSED, 503, 180), (REFUSED, 429, 90), (REFUSED, 500, 640), ("unreachable", None, 2_000))
    )
    return Attempt(account=account, outcome=outcome, status=status, ms=ms + chance.randrange(300))


def _last_attempt(ending: Ending, seconds: float, before: Sequence[Attempt], chance: Random) -> tuple[Attempt, ...]:
    """The one that was answered, if any was. It has no outcome of its own: it ended as the call did."""
    if ending is Ending.REFUSED:
        return ()
    ms = int(seconds * 1_000)
    first_byte_ms = min(ms - 200, chance.randrange(280, 1_400))
    account = SECOND if before else FIRST
    return (Attempt(account=account, status=200, first_byte_ms=first_byte_ms, ms=ms, sent=True),)


def _reading(usage: Usage, ending: Ending, chance: Random) -> Reading:
    if ending in {Ending.UPSTREAM_BROKE, Ending.CLIENT_LEFT}:
        return Reading(output_tokens=int(usage.output_units * chance.uniform(0.1, 0.8)))
    return Reading(reported=usage, output_tokens=usage.output_units)
