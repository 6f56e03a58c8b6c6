"""Journeys through pages: each is made, timed and told, and one that fails does not end the others."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from playwright.sync_api import Browser, Error

from proofs.rig.checks import Check
from proofs.rig.console.place import Place
from proofs.rig.proof import Run, say

Journey = Callable[[Browser, Place], None]
Journeys = Mapping[int, tuple[str, Journey]]


def travelled(browser: Browser, place: Place, run: Run, journeys: Journeys, in_all: int) -> list[Check]:
    """Make every journey of the table, or the only one that is wanted."""
    checks = []
    for number, (name, journey) in sorted(journeys.items()):
        if run.only not in (None, number):
            continue
        begun = time.monotonic()
        problem = problem_on(journey, browser, place)
        say(f"journey {number}, {name}: {problem or 'made'} in {time.monotonic() - begun:.1f} s")
        checks.append(Check(f"journey {number}, {name}", not problem, problem))
        run.figures["journeys"] = f"{sum(check.holds for check in checks)}/{in_all}"
    if run.only is not None:
        return checks or [Check(f"journey {run.only}", False, "is not in the table")]
    missing = in_all - len(journeys)
    return [*checks, Check("every journey is in the table", not missing, f"{missing} are not")]


def problem_on(journey: Journey, browser: Browser, place: Place) -> str:
    """What went wrong, and on which pages."""
    try:
        journey(browser, place)
    except (AssertionError, Error, OSError, ValueError) as problem:
        return f"{type(problem).__name__} {_line(problem)}: {problem} on {'; '.join(_open_pages(browser))}"
    finally:
        for context in list(browser.contexts):
            context.close()
    return ""


def _open_pages(browser: Browser) -> Iterator[str]:
    for page in (page for context in browser.contexts for page in context.pages):
        try:
            yield f"{page.url}: {' '.join(page.locator('main').all_inner_texts())[:200]}"
        except Error:
            # It is on its way to another.
            yield page.url


def _line(problem: BaseException) -> str:
    """Of the journey, not of what it called."""
    trace, found = problem.__traceback__, ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        found = f"{file.name}:{trace.tb_lineno}" if file.parent.name == "journeys" else found
        trace = trace.tb_next
    return found
