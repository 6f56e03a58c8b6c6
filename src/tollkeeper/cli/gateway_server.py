"""The main process of `tollkeeper serve`: how workers follow each other, and how impatient people stop a node.

The first SIGTERM lets the workers go on for a while (`edge/http/lifespan`). Ctrl-C does not wait for balancers, and
each further signal ends what is waited for then: the lame-duck time, then the calls under way.

SIGHUP renews the workers: beside each one begins another, of the code and the settings that are installed by then. When
that one listens, the old one gives way: its calls end as they would have, however long they take. Where the new one
does not come to listening, the old one stays.

A worker that dies is followed by another. Where one dies again and again the others go on; only a node whose workers
all die soon after their beginning ends, so that its service manager sees it.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from granian import Granian

from tollkeeper.cli.listening import listeners

HURRY = signal.SIGUSR1
GIVE_WAY = signal.SIGUSR2
# A busy machine takes its time to start a process, and its books may have much to settle first.
LISTENS_WITHIN_SECONDS = 120.0
LOOK_SECONDS = 0.1
TELL_AGAIN_SECONDS = 1.0

log = logging.getLogger(__name__)


class GatewayServer(Granian):  # type: ignore[misc,valid-type]
    """Granian, which knows one kind of stopping, with a second one for whoever is impatient, and more patience."""

    def __init__(self, *args: Any, renewed: Callable[[], Any], **kwargs: Any) -> None:
        """`renewed`: what workers serve from the first SIGHUP on, found by its name in the code of that day."""
        super().__init__(*args, **kwargs)
        self._renewed = renewed
        self._is_renewed = False
        # Workers that gave way to others, while their calls end.
        self._leaving: list[Any] = []

    def startup(self, spawn_target: Any, target_loader: Any) -> None:
        # Workers inherit this: one that is still starting is not killed by it.
        signal.signal(HURRY, signal.SIG_IGN)
        signal.signal(GIVE_WAY, signal.SIG_IGN)
        super().startup(spawn_target, target_loader)

    def _spawn_worker(self, idx: int, target: Any, callback_loader: Any) -> Any:
        return super()._spawn_worker(idx, target, self._renewed if self._is_renewed else callback_loader)

    def _reload(self, spawn_target: Any, target_loader: Any) -> None:
        self.reload_signal = False
        self.main_loop_interrupt.clear()
        # One that is forked from here would have the code that this process began with.
        multiprocessing.set_start_method("spawn", force=True)
        self._is_renewed = True
        for number in range(self.workers):
            if not self.interrupt_signal:
                self._renew(number, spawn_target)
        if self.interrupt_signal or self.interrupt_children:
            # It may have been said before that was cleared.
            self.main_loop_interrupt.set()

    def _renew(self, number: int, spawn_target: Any) -> None:
        before = listeners(self.bind_port)
        new = self._spawn_worker(number, spawn_target, None)
        # Until it serves, its death is nobody's.
        new.interrupt_by_parent = True
        new.start()
        if not self._comes_to_listen(new, before):
            if not self.interrupt_signal:
                log.error("the new worker %d does not serve, and the old one stays: see what it said above", number + 1)
            self._see_out(new, signal.SIGTERM)
            return
        old, self.wrks[number] = self.wrks[number], new
        new.interrupt_by_parent, old.interrupt_by_parent = False, True
        self.interrupt_children[:] = [each for each in self.interrupt_children if each != number]
        if not new.is_alive():
            self.interrupt_children.append(number)
        self._see_out(old, GIVE_WAY)
        log.info("worker %d is renewed", number + 1)

    def _comes_to_listen(self, worker: Any, before: set[str]) -> bool:
        """Only this process starts any that listen here."""
        give_up_at = time.monotonic() + LISTENS_WITHIN_SECONDS
        while worker.is_alive() and time.monotonic() < give_up_at and not self.interrupt_signal:
            if listeners(self.bind_port) - before:
                return True
            time.sleep(LOOK_SECONDS)
        return False

    def _see_out(self, worker: Any, by: signal.Signals) -> None:
        """Let a worker go, in its own time."""
        self._leaving = [each for each in self._leaving if each.is_alive()] + [worker]
        threading.Thread(target=self._wait_for, args=(worker, by), daemon=True).start()

    def _wait_for(self, worker: Any, by: signal.Signals) -> None:
        give_up_at = time.monotonic() + (self.workers_kill_timeout or LISTENS_WITHIN_SECONDS)
        while worker.is_alive() and time.monotonic() < give_up_at:
            # One that has just begun may not listen to signals yet; who has heard it does not mind hearing it again.
            self._signal(worker, by)
            worker.join(TELL_AGAIN_SECONDS)
        if worker.is_alive():
            log.warning("a worker that was to go does not end, and is killed")
            worker.kill()

    def _stop_workers(self) -> None:
        super()._stop_workers()
        for worker in self._leaving:
            worker.join()

    def _respawn_workers(self, workers: Any, *args: Any, **kwargs: Any) -> None:
        super()._respawn_workers(workers, *args, **kwargs)
        # Granian ends the node when one of those that it remembers here dies within seconds.
        if len(workers) < self.workers:
            self.respawned_wrks.clear()

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        is_first = not self.interrupt_signal
        super().signal_handler_interrupt(*args, **kwargs)
        if not is_first or args[0] == signal.SIGINT:
            for worker in (*self.wrks, *self._leaving):
                self._signal(worker, HURRY)

    @staticmethod
    def _signal(worker: Any, number: signal.Signals) -> None:
        if worker.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.inner.pid, number)
