"""prove-console: people's journeys in a real browser, pages that everybody can use, and attacks that come to nothing.

Shows, over a whole deployment with Debian's chromium: sixteen journeys end to end; axe-core finds nothing on any page
of the table, nor on those that forms lead to, light and dark, at a desk and on a phone; scripts in fields, forged
forms, planted sessions and others' ids come to nothing (rows 12 to 14 of the attacks); no text is left untranslated;
and among many customers with many calls every page takes the server 150 ms at the most, at p95.
"""

import random
from contextlib import ExitStack

import msgspec
from playwright.sync_api import Browser, sync_playwright

from proofs.console.attacks import Tally, forms, others, sessions, xss
from proofs.console.journeys import IN_ALL, JOURNEYS
from proofs.console.looks import look_at_every_page
from proofs.rig.checks import Check, failed
from proofs.rig.console import timing
from proofs.rig.console.place import Place
from proofs.rig.console.residents import a_resident
from proofs.rig.console.timing import P95_MS_MOST, Crowd
from proofs.rig.console.travel import travelled
from proofs.rig.console.visitor import launched
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import Run, prove, say, seed
from tollkeeper.look.words import LANGUAGES, USUAL
from tools.words import CONSOLE, GATEWAY, missing, stale, unmarked


class Size(msgspec.Struct, frozen=True):
    crowd: Crowd
    # Of the fifty, how many are tried on each page that says again what it was sent. What is stored is tried with all.
    payloads: int


SIZES = {
    "small": Size(Crowd(rows=1_000_000, customers=10_000, times=20), payloads=5),
    "full": Size(Crowd(rows=10_000_000, customers=100_000, times=40), payloads=50),
}
# Where nobody judges how long pages take, a crowd shows no more than that each of them is there.
IN_CI = Crowd(rows=50_000, customers=5_000, times=3)
LAST_LINE = ("journeys", "pages", "axe_violations", "attacks_refused", "missing_strings", "p95_ms", "books")


def main(run: Run) -> int:
    asked = SIZES[run.size]
    chance = random.Random(seed())
    strings = missing_strings()
    run.figures["missing_strings"] = len(strings)
    checks = [Check("every text is translated", not strings, str(strings[:5]))]
    with ExitStack() as stack:
        place = Place(stack)
        place.open()
        playwright = stack.enter_context(sync_playwright())
        browser = launched(playwright)
        stack.callback(browser.close)
        checks += travelled(browser, place, run, JOURNEYS, IN_ALL)
        checks += looked_at(browser, place, run)
        checks += attacked(browser, place, run, asked, chance)
        clean = books_are_clean(place.settings)
        run.figures["books"] = "clean" if clean else "broken"
        checks.append(Check("the books are clean", clean))
        checks += timed(stack, place, run, asked)
    return 1 if failed(checks, timed=run.judges_timings) else 0


def looked_at(browser: Browser, place: Place, run: Run) -> list[Check]:
    looked = look_at_every_page(browser, place, a_resident(place), run.pictures_folder())
    run.figures |= {"pages": looked.pages, "axe_violations": len(looked.violations)}
    rules = sorted({f"{each.address} {each.rule}" for each in looked.violations})
    return [Check("axe finds nothing", not looked.violations, "; ".join(rules))]


def attacked(browser: Browser, place: Place, run: Run, asked: Size, chance: random.Random) -> list[Check]:
    tally = Tally()
    ada, bob = a_resident(place, "Ada"), a_resident(place, "Bob")
    xss.attack(browser, place, tally, chance, each=asked.payloads)
    xss.headers_that_are_shown(place, ada.person, tally)
    say(f"scripts in fields: {tally}")
    others.attack(place, tally, ada, bob)
    forms.attack(browser, place, tally, ada, bob)
    sessions.attack(browser, place, tally, bob)
    run.figures["attacks_refused"] = tally
    return [Check("every attack came to nothing", tally.refused == tally.tried, str(tally))]


def timed(stack: ExitStack, place: Place, run: Run, asked: Size) -> list[Check]:
    crowd = asked.crowd if run.judges_timings else IN_CI
    say(f"{crowd.customers:,} customers with {crowd.rows:,} calls come in")
    waits = timing.p95_of_every_page(stack, place.settings, crowd, place.wait_for)
    slowest = max(waits.values())
    run.figures["p95_ms"] = round(slowest, 1)
    slow = {path: round(wait) for path, wait in waits.items() if wait > P95_MS_MOST}
    return [Check("every page is quick", not slow, str(slow), timed=True)]


def missing_strings() -> list[str]:
    languages = sorted(set(LANGUAGES) - {USUAL})
    found = [
        f"{language}: {text}"
        for room in (CONSOLE, GATEWAY)
        for language in languages
        for text in (*missing(room, language), *stale(room, language))
    ]
    return found + [text for room in (CONSOLE, GATEWAY) for text in unmarked(room)]


if __name__ == "__main__":
    prove(main, *LAST_LINE)
