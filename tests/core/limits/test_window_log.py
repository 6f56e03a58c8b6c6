"""Windows that one process keeps for itself."""

from uuid import uuid4

from tollkeeper.core.limits.window_log import WindowLog
from tollkeeper.core.limits.windows import SPAN_US, LimitOutcome, Measure, Window, Windows

KEY = Window("key:1", 6)
NOW = 1_000 * SPAN_US


def admit(log: WindowLog, window: Window, now_us: int) -> LimitOutcome:
    return log.admit("1", [window], now_us, tokens=0, request_id=uuid4())


def test_what_others_may_have_taken_becomes_free_evenly() -> None:
    log = WindowLog()
    log.recall_all([(NOW - SPAN_US // 2, Windows("1", (KEY,)))])
    log.leave_room_for("1", KEY, 1, NOW)
    # One of its own, one that was left for it, four of others.
    assert admit(log, KEY, NOW).refused is None
    assert admit(log, KEY, NOW).refused == KEY
    later = [admit(log, KEY, NOW + SPAN_US * part // 16).refused is None for part in range(16)]
    assert 4 <= sum(later) <= 5


def test_room_is_left_once() -> None:
    log = WindowLog()
    for _ in range(3):
        log.leave_room_for("1", KEY, 2, NOW)
    assert [admit(log, KEY, NOW).refused is None for _ in range(3)] == [True, True, False]


def test_windows_in_which_nothing_is_left_are_forgotten() -> None:
    log = WindowLog()
    tokens, running = Window("tokens", 9, measure=Measure.TOKENS), Window("running", 9, measure=Measure.RUNNING)
    request_id = uuid4()
    log.admit("1", [KEY, tokens, running], NOW, tokens=3, request_id=request_id)
    log.ended(Windows("1", (KEY, tokens, running)), request_id, 2, NOW)
    log.forget_old(NOW)
    assert (log._calls, log._tokens) != ({}, {})
    log.forget_old(NOW + 2 * SPAN_US)
    assert (log._calls, log._tokens, log._running) == ({}, {}, {})
