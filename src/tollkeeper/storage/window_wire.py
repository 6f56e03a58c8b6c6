"""What is said to Redis about windows, and what it answers: the scripts, and how passages and outcomes are written."""

from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path

import msgspec

from tollkeeper.core.limits import SPAN_US, Measure, Outcome, Standing, Window, Windows, of_refused
from tollkeeper.ports import Passage
from tollkeeper.storage.redis_pipe import pack

# How long a running call is believed in without news of it.
LEASE_US = 30_000_000

WINDOWS = Path(__file__).with_name("windows.lua").read_text(encoding="utf-8")
TOLD_AGAIN = Path(__file__).with_name("windows_told_again.lua").read_text(encoding="utf-8")
# The time, and since when the server remembers.
MARK = """
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('SET', KEYS[1], now, 'NX')
return {now, redis.call('GET', KEYS[1])}
"""
WINDOWS_SHA = sha1(WINDOWS.encode(), usedforsecurity=False).hexdigest()
TOLD_AGAIN_SHA = sha1(TOLD_AGAIN.encode(), usedforsecurity=False).hexdigest()


class Written(msgspec.Struct, frozen=True):
    """Windows as they go over the wire: their keys, and what the script is told of them."""

    keys: bytes
    keys_count: int
    figures: bytes
    figures_count: int


def command(prefix: str, passages: Sequence[Passage], span_us: int = SPAN_US) -> bytes:
    """One command for all of `passages`; their keys begin with `prefix`."""
    written: list[Written] = [passage.windows.written or _write(prefix, passage) for passage in passages]
    keys_count = sum([windows.keys_count for windows in written])
    words = 5 + keys_count + sum([windows.figures_count for windows in written])
    head = b"*%d\r\n%b%b" % (words, _words("EVALSHA", WINDOWS_SHA), _words(keys_count))
    keys = [windows.keys for windows in written]
    figures = [windows.figures for windows in written]
    return b"".join([head, *keys, _words(span_us, LEASE_US), *figures])


def outcomes(passages: Sequence[Passage], told: Sequence[int]) -> Iterator[Outcome]:
    """Read what the server told of each passage."""
    place = 0
    for passage in passages:
        each = passage.windows.each
        refused, at_us, retry_in_us, peak_us = told[place : place + 4]
        place += 4
        window = each[refused - 1] if refused else None
        yield Outcome(
            refused=window,
            at_us=at_us,
            retry_in_us=retry_in_us,
            peak_us=peak_us,
            standing=(of_refused(window, retry_in_us) if window else None) or _tightest(each, told, place),
        )
        place += 2 * len(each)


def told_again(prefix: str, windows: Windows, times: Sequence[int]) -> list[bytes]:
    """A command for each window of calls."""
    keys = [window_key(prefix, windows.whose, name) for name in windows.call_names]
    return [pack(("EVALSHA", TOLD_AGAIN_SHA, 1, key, SPAN_US, *times)) for key in keys]


def window_key(prefix: str, whose: str, name: str) -> str:
    """Where a window is; all of one account's are in one slot of a Cluster."""
    return f"{prefix}{{{whose}}}:{name}"


def _write(prefix: str, passage: Passage) -> Written:
    windows = passage.windows
    keys = [window_key(prefix, windows.whose, name) for name in ("peak", *(window.name for window in windows.each))]
    figures: list[object] = [len(windows.each)]
    for window in windows.each:
        figures += (window.measure.value, window.limit, _figure(window, passage))
    written = Written(_words(*keys), len(keys), _words(*figures), len(figures))
    if windows.only_calls:
        windows.written = written
    return written


def _words(*words: object) -> bytes:
    """As Redis reads them."""
    encoded = [str(word).encode() for word in words]
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded])


def _tightest(each: Sequence[Window], told: Sequence[int], place: int) -> Standing | None:
    """As `tightest` does, without making the others."""
    found, least = None, 0
    for window in each:
        if window.measure is Measure.CALLS:
            remaining = max(0, window.limit - told[place])
            if found is None or remaining < least:
                found, least = (window, place), remaining
        place += 2
    return None if found is None else Standing(found[0], told[found[1]], told[found[1] + 1])


def _figure(window: Window, passage: Passage) -> object:
    if window.measure is Measure.CALLS:
        return window.standard
    return passage.tokens if window.measure is Measure.TOKENS else passage.request_id
