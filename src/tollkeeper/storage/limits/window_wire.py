"""The wire format of rate limits in Redis: the Lua scripts, their arguments, and their replies as outcomes."""

from collections.abc import Sequence
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from tollkeeper.core.limits.windows import SPAN_US, LimitOutcome, Measure, Window, Windows, WindowStanding, of_refused
from tollkeeper.ports import Passage
from tollkeeper.storage.redis.pipe import pack

# How long a running call is believed in without news of it.
LEASE_US = 30_000_000

WINDOWS = Path(__file__).with_name("windows.lua").read_text(encoding="utf-8")
REPLAY = Path(__file__).with_name("windows_told_again.lua").read_text(encoding="utf-8")
# The time, and since when the server remembers.
MARK = """
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('SET', KEYS[1], now, 'NX')
return {now, redis.call('GET', KEYS[1])}
"""
WINDOWS_SHA = sha1(WINDOWS.encode(), usedforsecurity=False).hexdigest()
EVALSHA_WINDOWS = b"$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % WINDOWS_SHA.encode()
REPLAY_SHA = sha1(REPLAY.encode(), usedforsecurity=False).hexdigest()


class WrittenWindows(NamedTuple):
    """Windows as they go over the wire: their keys, and what the script is told of them."""

    keys: bytes
    keys_count: int
    figures: bytes
    figures_count: int


def command(prefix: str, passages: Sequence[Passage], span_us: int = SPAN_US) -> bytes:
    """One command for all of `passages`; their keys begin with `prefix`."""
    written: list[WrittenWindows] = [passage.windows.written or _write(prefix, passage) for passage in passages]
    keys, keys_counts, figures, figures_counts = zip(*written, strict=True)
    keys_count = sum(keys_counts)
    head = b"*%d\r\n%b%b" % (5 + keys_count + sum(figures_counts), EVALSHA_WINDOWS, _words(keys_count))
    return b"".join([head, *keys, _spans(span_us), *figures])


def outcomes(passages: Sequence[Passage], told: Sequence[int]) -> list[LimitOutcome]:
    """Read what the server told of each passage."""
    found, figure = [], iter(told)
    # The figures of one passage follow each other.
    for passage, refused, at_us, retry_in_us, peak_us, tightest, used, free_in_us in zip(
        passages, figure, figure, figure, figure, figure, figure, figure, strict=True
    ):
        each = passage.windows.each
        standing = WindowStanding(each[tightest - 1], used, free_in_us) if tightest else None
        window = each[refused - 1] if refused else None
        if window is not None:
            standing = of_refused(window, retry_in_us) or standing
        found.append(LimitOutcome(window, at_us, retry_in_us, peak_us, standing))
    return found


def replay_commands(prefix: str, windows: Windows, times: Sequence[int]) -> list[bytes]:
    """A command for each window of calls."""
    keys = [window_key(prefix, windows.whose, name) for name in windows.call_names]
    return [pack(("EVALSHA", REPLAY_SHA, 1, key, SPAN_US, *times)) for key in keys]


def window_key(prefix: str, whose: str, name: str) -> str:
    """Where a window is; all of one account's are in one slot of a Cluster."""
    return f"{prefix}{{{whose}}}:{name}"


def _write(prefix: str, passage: Passage) -> WrittenWindows:
    windows = passage.windows
    keys = [window_key(prefix, windows.whose, name) for name in ("peak", *(window.name for window in windows.each))]
    figures: list[object] = [len(windows.each)]
    for window in windows.each:
        figures += (window.measure.value, window.limit, _figure(window, passage))
    written = WrittenWindows(_words(*keys), len(keys), _words(*figures), len(figures))
    if windows.only_calls:
        windows.written = written
    return written


@cache
def _spans(span_us: int) -> bytes:
    return _words(span_us, LEASE_US)


def _words(*words: object) -> bytes:
    """As Redis reads them."""
    encoded = [str(word).encode() for word in words]
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded])


def _figure(window: Window, passage: Passage) -> object:
    if window.measure is Measure.CALLS:
        return window.standard
    return passage.tokens if window.measure is Measure.TOKENS else passage.request_id
