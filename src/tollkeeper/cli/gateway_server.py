"""The main process of `tollkeeper serve`: how impatient people stop a node, and which deaths of workers it survives.

The first SIGTERM lets the workers go on for a while (`edge/http/lifespan`). Ctrl-C does not wait for balancers, and
each further signal ends what is waited for then: the lame-duck time, then the calls under way.

A worker that dies is followed by another. Where one dies again and again the others go on; only a node whose workers
all die soon after their beginning ends, so that its service manager sees it.
"""

import contextlib
import os
import signal
from typing import Any

from granian import Granian

HURRY = signal.SIGUSR1


class GatewayServer(Granian):  # type: ignore[misc,valid-type]
    """Granian, which knows one kind of stopping, with a second one for whoever is impatient, and more patience."""

    def startup(self, spawn_target: Any, target_loader: Any) -> None:
        # Workers inherit this: one that is still starting is not killed by it.
        signal.signal(HURRY, signal.SIG_IGN)
        super().startup(spawn_target, target_loader)

    def _respawn_workers(self, workers: Any, *args: Any, **kwargs: Any) -> None:
        super()._respawn_workers(workers, *args, **kwargs)
        # Granian ends the node when one of those that it remembers here dies within seconds.
        if len(workers) < self.workers:
            self.respawned_wrks.clear()

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        is_first = not self.interrupt_signal
        super().signal_handler_interrupt(*args, **kwargs)
        if not is_first or args[0] == signal.SIGINT:
            for worker in self.wrks:
                self._hurry(worker.inner)

    @staticmethod
    def _hurry(process: Any) -> None:
        if process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, HURRY)
