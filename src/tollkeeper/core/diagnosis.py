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


def clock(about: str, skew_seconds: float) -> Diagnosis:
    """`skew_seconds`: how far the store's clock is ahead of ours."""
    off = abs(skew_seconds)
    if off <= CLOCK_SECONDS_MOST:
        return well(about, f"agrees with this machine's clock ({off * 1_000:.0f} ms)")
    told = f"is {off:.1f} s {'ahead of' if skew_seconds > 0 else 'behind'} this machine's clock"
    remedy = "Let NTP set the clock of every machine (timedatectl set-ntp true)."
    return (broken if off > CLOCK_SECONDS_BROKEN else to_do)(about, told, remedy)
