"""The main process of a node: begins workers, follows those that die with others, renews them, and stops them.

Rules of this file
1. The main process has the port: it is bound before the first worker begins, and closed by the last that stops.
2. A worker that dies is followed by another, at once or, where one after the other dies, after a pause. Where one dies
   that never took calls, and none of the others does or is still on its first way there, the node ends, so that its
   service manager sees it.
3. The first SIGTERM lets workers take their time. SIGINT (Ctrl-C), and each further signal, makes them hurry (SIGUSR1).
4. SIGHUP renews workers, one after the other: beside each begins another, of the code and the settings that are
   installed by then. When that takes calls, the old one is told to give way (SIGUSR2), and ends when its calls have.
   Where the new one does not come to that, the old one stays. Whoever follows one that died is of the new code and
   settings as soon as one of them has come to take calls.
5. Where no process can be begun, for want of memory or descriptors, that is tried again after a pause. A main process
   that fails takes its workers with it: nobody would look after them.
6. One thread, one loop: signals are waited for. (They are caught as well: whoever begins a process anew lets some
   through for a moment.)
"""

import contextlib
import logging
import math
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Final

import msgspec

from tollkeeper.server.worker import Post, Served, work

HURRY, GIVE_WAY = signal.SIGUSR1, signal.SIGUSR2
STOPS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
HEEDED: Final = STOPS | {signal.SIGHUP, signal.SIGCHLD}
HELD_BACK: Final = HEEDED | {HURRY, GIVE_WAY}
LOOK_SECONDS: Final = 0.1
# A busy machine takes its time to start a process, and its books may have much to settle first.
BEGINS_WITHIN_SECONDS: Final = 120.0
# How long a worker that follows one that died at once waits, and one that follows that, and so on.
PAUSE_SECONDS: Final = (0.0, 0.5, 1.0, 2.0, 5.0)
# Who lived for so long did not die at once.
SETTLED_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class WorkerProcess:
    """One worker process, as its main process sees it."""

    def __init__(self, process: Any, ready: Connection) -> None:
        self.process = process
        self._ready = ready
        self.begun_at = time.monotonic()
        self._takes_calls = False

    @property
    def takes_calls(self) -> bool:
        """Whether it has come to that, be it alive or not."""
        if not self._takes_calls and not self._ready.closed and self._ready.poll():
            try:
                self._ready.recv()
                self._takes_calls = True
            except EOFError:
                pass
            self._ready.close()
        return self._takes_calls

    @property
    def is_alive(self) -> bool:
        return bool(self.process.is_alive())

    @property
    def age_seconds(self) -> float:
        return time.monotonic() - self.begun_at

    def signal(self, number: signal.Signals) -> None:
        # Somebody else may have been told of its end.
        with contextlib.suppress(ProcessLookupError):
            if self.is_alive:
                os.kill(self.process.pid, number)


class Slot(msgspec.Struct):
    """A worker's place in the node: one follows another in it."""

    number: int
    worker: WorkerProcess
    # How many have died at once, one after the other, and when the next begins.
    deaths: int = 0
    next_at: float = 0.0
    # One that is to take its place.
    renewing: WorkerProcess | None = None
    # When that begins.
    renewed_at: float = math.inf


class Leaving(msgspec.Struct):
    """A worker that was told to go, and when it is not waited for any longer."""

    worker: WorkerProcess
    kill_at: float


class Workers:
    def __init__(
        self,
        make: Callable[[], Served],
        listening: socket.socket,
        *,
        count: int,
        renewed: Callable[[], Served] | None = None,
        kill_after_seconds: float,
    ) -> None:
        """`make` makes what the first workers serve; `renewed` what those do that begin after SIGHUP: it is found by
        its name in the code of that day. Without it, SIGHUP does nothing."""
        self._make = make
        self._renewed = renewed
        # Whether one of the new ones has come to take calls.
        self._is_renewed = False
        self._listening = listening
        self._count = count
        self._kill_after_seconds = kill_after_seconds
        self._lifeline, self._own_end = multiprocessing.Pipe(duplex=False)
        self._slots: list[Slot] = []
        # Those that were told to go, while their calls end.
        self._leaving: list[Leaving] = []
        # Signals that came while they were not held back.
        self._caught: list[int] = []
        self._is_stopping = False
        self._exit_code = 0

    def run(self) -> int:
        """Keep workers at work until told to stop. Return the exit code."""
        # Whoever began this process may have let it ignore that: the kernel would not keep how workers ended.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for stop in STOPS:
            signal.signal(stop, lambda caught, _: self._caught.append(caught))
        # Held back from those that begin, too, until they listen to them.
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        with contextlib.ExitStack() as failing:
            # At the end of this process, those that are not killed would be waited for.
            failing.callback(self._kill_all)
            for number in range(self._count):
                self._slots.append(Slot(number + 1, self._begin(self._make)))
            while self._slots or self._leaving:
                self._turn()
            failing.pop_all()
        return self._exit_code

    def _turn(self) -> None:
        found = signal.sigtimedwait(HEEDED, LOOK_SECONDS)
        came, self._caught = self._caught, []
        for heard in came if found is None else (*came, found.si_signo):
            self._heed(heard)
        self._look()

    def _kill_all(self) -> None:
        for slot in self._slots:
            for worker in filter(None, (slot.worker, slot.renewing)):
                worker.process.kill()
        for leaving in self._leaving:
            leaving.worker.process.kill()

    def _heed(self, number: int) -> None:
        if number in STOPS:
            self._stop(is_hasty=self._is_stopping or number == signal.SIGINT)
        elif number == signal.SIGHUP and self._renewed is not None:
            for slot in self._slots:
                slot.renewed_at = 0.0

    def _look(self) -> None:
        for slot in list(self._slots):
            if self._is_stopping:
                break
            if slot.renewing is not None:
                self._look_at_renewal(slot, slot.renewing)
            if not slot.worker.is_alive:
                self._follow(slot)
        if not any(slot.renewing for slot in self._slots):
            self._renew()
        self._leaving = [leaving for leaving in self._leaving if self._waits_for(leaving)]

    def _renew(self) -> None:
        """Begin a worker beside the next that is to be renewed."""
        now = time.monotonic()
        for slot in self._slots:
            if now >= slot.renewed_at:
                slot.renewing = self._tried(slot, is_new=True)
                slot.renewed_at = now + PAUSE_SECONDS[-1] if slot.renewing is None else math.inf
                break

    def _begin(self, make: Callable[[], Served]) -> WorkerProcess:
        """Another process beside this one; a renewed one has not the code with which this one began."""
        is_new = make is self._renewed
        context: Any = multiprocessing.get_context("spawn" if is_new else "fork")
        ready, their_end = multiprocessing.Pipe(duplex=False)
        post = Post(self._listening, their_end, self._lifeline)
        # What is forked has everything of ours, and the lifeline would not end with this process.
        ours = () if is_new else (self._own_end,)
        process = context.Process(target=_work_alone, args=(make, post, ours))
        try:
            if is_new:
                # Its first start lets SIGINT and SIGTERM through afterwards, and they would kill one that begins.
                resource_tracker.ensure_running()
                signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
            process.start()
        except OSError:
            ready.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
            their_end.close()
        return WorkerProcess(process, ready)

    def _tried(self, slot: Slot, *, is_new: bool) -> WorkerProcess | None:
        try:
            return self._begin(self._renewed if is_new and self._renewed is not None else self._make)
        except OSError as problem:
            log.error("no process can be begun for worker %d: %s", slot.number, problem.strerror)
            return None

    def _follow(self, slot: Slot) -> None:
        """A worker has died: another begins, at once or after a pause."""
        dead, now = slot.worker, time.monotonic()
        if not slot.next_at:
            how = dead.process.exitcode
            log.error("worker %d died (%s)", slot.number, f"exit code {how}" if how >= 0 else f"signal {-how}")
            slot.deaths = 0 if dead.takes_calls and dead.age_seconds > SETTLED_SECONDS else slot.deaths + 1
            slot.next_at = now + PAUSE_SECONDS[min(max(0, slot.deaths - 1), len(PAUSE_SECONDS) - 1)]
            if not dead.takes_calls and not any(map(_is_hopeful, self._slots)):
                log.error("no worker takes calls, and the node ends; what they said is above")
                self._exit_code = 1
                self._stop(is_hasty=True)
                return
        if now >= slot.next_at and not self._is_stopping:
            following = self._tried(slot, is_new=self._is_renewed)
            if following is None:
                slot.next_at = now + PAUSE_SECONDS[-1]
            else:
                slot.worker, slot.next_at = following, 0.0

    def _look_at_renewal(self, slot: Slot, new: WorkerProcess) -> None:
        if new.takes_calls and new.is_alive:
            old, slot.worker, slot.renewing = slot.worker, new, None
            slot.deaths, slot.next_at = 0, 0.0
            self._is_renewed = True
            self._see_out(old, GIVE_WAY)
            log.info("worker %d is renewed", slot.number)
        elif not new.is_alive or new.age_seconds > BEGINS_WITHIN_SECONDS:
            slot.renewing = None
            log.error("the new worker %d does not serve, and the old one stays: see what it said above", slot.number)
            self._see_out(new, signal.SIGTERM)

    def _stop(self, *, is_hasty: bool) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._listening.close()
            for slot in self._slots:
                for worker in filter(None, (slot.worker, slot.renewing)):
                    self._see_out(worker, signal.SIGTERM)
            for leaving in self._leaving:
                leaving.worker.signal(signal.SIGTERM)
            self._slots.clear()
        if is_hasty:
            for leaving in self._leaving:
                leaving.worker.signal(HURRY)

    def _see_out(self, worker: WorkerProcess, by: signal.Signals) -> None:
        worker.signal(by)
        self._leaving.append(Leaving(worker, time.monotonic() + self._kill_after_seconds))

    @staticmethod
    def _waits_for(leaving: Leaving) -> bool:
        if leaving.worker.is_alive and time.monotonic() >= leaving.kill_at:
            log.warning("a worker that was to go does not end, and is killed")
            leaving.worker.process.kill()
        return leaving.worker.is_alive


def _is_hopeful(slot: Slot) -> bool:
    """Whether its worker takes calls, or has yet to show whether it will."""
    return slot.worker.is_alive and (slot.worker.takes_calls or not slot.deaths)


def _work_alone(make: Callable[[], Served], post: Post, not_ours: tuple[Connection, ...]) -> None:
    for end in not_ours:
        end.close()
    work(make, post)
