"""What worker processes serve, loaded by them alone: the main process that starts them needs none of it.

Rules of this file
1. Nothing of the service is imported before a worker asks for it.
"""

from typing import Any

from tollkeeper.settings import Settings


def load_gateway(settings: Settings) -> Any:
    from tollkeeper.app.gateway import gateway  # noqa: PLC0415 (rule 1)

    return gateway(settings)


def load_console(settings: Settings) -> Any:
    from tollkeeper.app.console import console  # noqa: PLC0415 (rule 1)

    return console(settings)
