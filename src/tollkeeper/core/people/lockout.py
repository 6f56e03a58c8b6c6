"""Lockouts: how often something may be tried, and for how long it is locked then.

Rules of this file
1. An attempt is counted as a failure when it begins, and taken back when it succeeds: a thousand at once get no further
   than a thousand in a row.
2. Five failures within 15 minutes lock for 15 minutes, each further lock for twice as long, up to 24 hours. A day
   without a lock, and the next is a first one again.
3. What many people share (an IP), and what many could spoil for one (an e-mail tried from everywhere), allows more.
4. What anybody can bring about for anybody is flat: it never lasts longer for being done again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Self

import msgspec


class Rule(msgspec.Struct, frozen=True):
    failures_most: int = 5
    window: timedelta = timedelta(minutes=15)
    lock: timedelta = timedelta(minutes=15)
    lock_most: timedelta = timedelta(hours=24)
    memory: timedelta = timedelta(hours=24)
    # Whether each further lock lasts twice as long.
    doubles: bool = True


RULES: Mapping[str, Rule] = {
    "sign_in_of_email_from_ip": Rule(),
    # Whoever has a crowd of addresses can lock a stranger out by this. So it takes a hundred guesses, lasts 15 minutes
    # however often it is done, and a new password by mail ends it. Without it that crowd could go on guessing for ever:
    # with it, it has 10,000 guesses a day.
    "sign_in_of_email": Rule(failures_most=100, doubles=False),
    # Whoever shares an address (an office, a carrier's NAT) can bring these about for all the others.
    "sign_in_from_ip": Rule(failures_most=50, doubles=False),
    # A cap on mails of one purpose, of which the requester is told nothing. Of those that were sent, one still works.
    "mail_to": Rule(window=timedelta(hours=1), lock=timedelta(hours=1), doubles=False),
    "mail_from_ip": Rule(failures_most=25, doubles=False),
    # Signatures cannot be guessed: this bounds the work that one address can make. Nothing is counted by account, so
    # nobody can keep anybody else from their passkey.
    "passkey_from_ip": Rule(failures_most=50, doubles=False),
    "password": Rule(),
    "second_factor": Rule(),
}
USUAL = Rule()
# Aimed at an account that was recognised, by its number.
OF_ACCOUNTS = ("password", "second_factor")


class Subject(msgspec.Struct, frozen=True):
    """What attempts are aimed at. It need not exist."""

    kind: str
    of: str
    # At whose login, where it is one e-mail's.
    email: str = ""

    @classmethod
    def of_account(cls, kind: str, account_id: int) -> Self:
        return cls(kind, str(account_id))

    @classmethod
    def of_email(cls, kind: str, email: str, of: str = "") -> Self:
        """`of` tells apart what is aimed at one e-mail."""
        return cls(kind, f"{email} {of}", email)

    @property
    def rule(self) -> Rule:
        return RULES.get(self.kind, USUAL)


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the attempts at one subject."""

    failures: int = 0
    window_start: datetime
    locked_until: datetime | None = None
    locks: int = 0


def is_locked(attempts: Attempts, now: datetime) -> bool:
    return attempts.locked_until is not None and attempts.locked_until > now


def count(attempts: Attempts, rule: Rule, now: datetime) -> Attempts:
    """With one more attempt, which may be made."""
    locked_until = attempts.locked_until
    forgotten = locked_until is not None and now - locked_until >= rule.memory
    locks = 0 if forgotten else attempts.locks
    fresh = now - attempts.window_start >= rule.window
    failures = 1 if fresh else attempts.failures + 1
    if failures < rule.failures_most:
        start = now if fresh else attempts.window_start
        kept = None if forgotten else locked_until
        return Attempts(failures=failures, window_start=start, locked_until=kept, locks=locks)
    # Bounded before it is multiplied: a date ends in the year 9999.
    lasts = min(rule.lock * 2 ** min(locks, 16), rule.lock_most) if rule.doubles else rule.lock
    return Attempts(failures=0, window_start=now, locked_until=now + lasts, locks=locks + 1)


def take_back(attempts: Attempts, rule: Rule, now: datetime) -> Attempts:
    """Without one attempt that was counted and did not fail, nor what it brought about."""
    if attempts.failures == 0 and is_locked(attempts, now):
        return Attempts(failures=rule.failures_most - 1, window_start=attempts.window_start, locks=attempts.locks - 1)
    return msgspec.structs.replace(attempts, failures=max(attempts.failures - 1, 0))
