"""How commands talk to people: results to standard output, complaints to standard error."""

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.core.one_line import shown
from tollkeeper.settings import BadSettings, Settings, load, operator_access


class Mistake(Exception):
    """A mistake that the command's user can mend; the message says what. It is printed in red, without a traceback."""

    def __init__(self, told: str, code: ExitCode = ExitCode.REFUSED) -> None:
        super().__init__(told)
        self.code = code


class PlainConsole(Console):
    """Shows no control character but those of its own styles: what is told may be a customer's text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)


def say(text: str) -> None:
    plain_console().print(text, markup=False)


def complain(text: str) -> None:
    plain_console(stderr=True).print(text, style="red", markup=False)


def settings_or_complain() -> Settings:
    """Raise BadSettings; Mistake where it is tried with an operator key alone."""
    try:
        return load(os.environ)
    except BadSettings as problem:
        if operator_access(os.environ) is None:
            raise
        raise Mistake(
            "This command works on the stores themselves, which an operator key does not reach "
            f"(TOLLKEEPER_OPERATOR_URL). Run it where the service's own settings are:\n{problem}"
        ) from None


def plain_console(*, stderr: bool = False) -> Console:
    """As wide as the terminal is now."""
    return PlainConsole(stderr=stderr, highlight=False, soft_wrap=True)
