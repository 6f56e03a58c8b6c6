"""Rate limits while Redis is away, a local fallback: a process judges by its own admissions and its share of limits."""

import time
from collections.abc import Callable, Iterable

import msgspec

from tollkeeper.core.limits.window_log import WindowLog
from tollkeeper.core.limits.windows import SPAN_US, LimitOutcome, Window, of_refused
from tollkeeper.ports import Passage
from tollkeeper.storage.limits.own_admissions import Admitted, OwnAdmissions

# The longest Retry-After of a refusal by this process alone: Redis may be back any moment.
WAIT_US_MOST = 5_000_000


class Alone:
    def __init__(
        self,
        own: OwnAdmissions,
        *,
        has: Callable[[str], bool],
        share: Callable[[], int],
        running: Callable[[], Iterable[Passage]],
    ) -> None:
        """`has`: whether somebody is judged here; `share`: among how many processes limits are divided; `running`: the
        calls of this process that are counted as running."""
        self._own = own
        self._has = has
        self._share = share
        self._running = running
        self._log: WindowLog | None = None

    def admit(self, passage: Passage, now_us: int) -> LimitOutcome:
        windows, share = passage.windows, self._share()
        log = self._log = self._log or self._begin()
        heard, monotonic_us = windows.latest, time.monotonic_ns() // 1_000
        if heard is not None and heard.window.divided and windows.latest_us + SPAN_US > monotonic_us:
            part = Window(heard.window.name, max(1, heard.window.limit // share))
            log.leave_room_for(windows.whose, part, heard.remaining // share, now_us)
        # Time at peak is not counted: a share of the standard rate is soon exceeded, which is not the customer's doing.
        each = [
            Window(window.name, max(1, window.limit // share) if window.divided else window.limit, 0, window.measure)
            for window in windows.each
        ]
        outcome = log.admit(windows.whose, each, now_us, tokens=passage.tokens, request_id=passage.request_id)
        if outcome.refused is not None:
            wait_us = min(outcome.retry_in_us, WAIT_US_MOST)
            standing = of_refused(outcome.refused, wait_us) or outcome.standing
            return msgspec.structs.replace(outcome, retry_in_us=wait_us, standing=standing)
        if windows.divided:
            self._own.note([(outcome.at_us, windows)], monotonic_us, alone=True)
        return outcome

    def recall(self, admitted: Iterable[Admitted]) -> None:
        """Calls that were admitted by all together meanwhile."""
        if self._log is not None:
            self._log.recall_all(admitted)

    def ended(self, passage: Passage, more_tokens: int, now_us: int) -> None:
        if self._log is not None:
            self._log.ended(passage.windows, passage.request_id, more_tokens, now_us)

    def forget_old(self, now_us: int) -> None:
        if self._log is not None:
            self._log.forget_old(now_us)

    def end(self) -> None:
        """The shared windows are back. Next time it begins anew, from what was admitted until then."""
        self._log = None

    def _begin(self) -> WindowLog:
        begun = WindowLog()
        begun.recall_all(admitted for admitted, _ in self._own.since(0) if self._has(admitted[1].whose))
        for passage in self._running():
            if self._has(passage.windows.whose):
                begun.recall_running(passage.windows, passage.request_id)
        return begun
