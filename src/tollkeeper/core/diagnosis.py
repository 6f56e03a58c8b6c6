"""What `tollkeeper doctor` finds: one line for each thing it looks at, and what to do about it."""

from enum import StrEnum

import msgspec


class Condition(StrEnum):
    OK = "ok"
    # It works, and should be otherwise.
    TO_DO = "to do"
    BROKEN = "broken"


class Diagnosis(msgspec.Struct, frozen=True):
    about: str
    condition: Condition
    # What was seen, and what to do. Never a secret.
    told: str
    remedy: str = ""


def well(about: str, told: str) -> Diagnosis:
    return Diagnosis(about, Condition.OK, told)


def to_do(about: str, told: str, remedy: str) -> Diagnosis:
    return Diagnosis(about, Condition.TO_DO, told, remedy)


def broken(about: str, told: str, remedy: str) -> Diagnosis:
    return Diagnosis(about, Condition.BROKEN, told, remedy)


CLOCK_SECONDS_MOST = 1.0
CLOCK_SECONDS_BROKEN = 30.0
# From here on a running process speaks of it.
CLOCK_SECONDS_TOLD = 5.0
SET_CLOCK = "Let NTP set the clock of every machine (timedatectl set-ntp true)."


def clock(about: str, skew_seconds: float) -> Diagnosis:
    """`skew_seconds`: how far the store's clock is ahead of ours."""
    off = abs(skew_seconds)
    if off <= CLOCK_SECONDS_MOST:
        return well(about, f"agrees with this machine's clock ({off * 1_000:.0f} ms)")
    told = f"is {off:.1f} s {'ahead of' if skew_seconds > 0 else 'behind'} this machine's clock"
    return (broken if off > CLOCK_SECONDS_BROKEN else to_do)(about, told, SET_CLOCK)


def clock_trouble(ahead_seconds: float, *, uncertain_seconds: float) -> str:
    """What a running process says of its machine's clock, which is so far ahead of the database's; empty where it is
    right, or may be. `uncertain_seconds`: how wrong the measurement can be."""
    if not is_off(ahead_seconds, uncertain_seconds=uncertain_seconds):
        return ""
    where = "ahead of" if ahead_seconds > 0 else "behind"
    return (
        f"This machine's clock is {abs(ahead_seconds):.0f} s {where} the database's. Calls go "
        "on: charges, prices, limits and keys go by the stores' clocks. Its own log, traces and checks of certificates "
        f"go by this one. {SET_CLOCK}"
    )


def is_off(seconds: float, *, uncertain_seconds: float) -> bool:
    """Whether a clock that is off by so much, or has moved by it, is worth a word."""
    return abs(seconds) - uncertain_seconds > CLOCK_SECONDS_TOLD
