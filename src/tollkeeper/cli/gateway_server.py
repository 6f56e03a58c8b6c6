"""The main process of `tollkeeper serve`: how impatient people stop a node.

The first SIGTERM lets the workers go on for a while (`edge/http/lifespan`). Ctrl-C does not wait for balancers, and
each further signal ends what is waited for then: the lame-duck time, then the calls under way.
"""

import contextlib
import os
import signal
from typing import Any

from granian import Granian

HURRY = signal.SIGUSR1


class GatewayServer(Granian):  # type: ignore[misc,valid-type]
    """Granian, which knows one kind of stopping, with a second one for whoever is impatient."""

    def startup(self, spawn_target: Any, target_loader: Any) -> None:
        # Workers inherit this: one that is still starting is not killed by it.
        signal.signal(HURRY, signal.SIG_IGN)
        super().startup(spawn_target, target_loader)

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
