"""prove-operators: journeys of staff in a real browser, pages and an API with exactly the rights that their tables say.

Shows, over a whole deployment: fourteen journeys end to end; axe-core finds nothing on any page of staff; every kind of
visitor on every page, and every scope on every act, is let in or refused as the tables say; whatever schemathesis sends
is answered as the published document says; the same request to move money, fifty times at once, moves it once; webhooks
arrive, signed; and among a crowd every page of staff and every act that reads takes 150 ms at the most, at p95. The
preview of a price has a bound of its own: it reckons the bill of everybody who used the model.

`python -m proofs.operators --size small` runs everything, `--only 7` one journey and nothing else, and `--pictures
FOLDER` leaves pictures of every page. A journey is a function of a browser and a place, and stands in `journeys`.
"""

from collections.abc import Mapping
from contextlib import ExitStack

import msgspec
from playwright.sync_api import Browser, sync_playwright

from proofs.operators import matrix
from proofs.operators.api import key_of_every_scope
from proofs.operators.cases import cases_sent
from proofs.operators.furnished import furnished
from proofs.operators.journeys import IN_ALL, JOURNEYS
from proofs.operators.looks import look_at_every_staff_page
from proofs.operators.once import once_checked
from proofs.operators.timing import PREVIEW, PREVIEW_MS_MOST, p95_of_everything
from proofs.operators.webhooks import webhooks_hold
from proofs.rig.checks import Check, failed
from proofs.rig.console.place import Place
from proofs.rig.console.residents import a_resident
from proofs.rig.console.timing import P95_MS_MOST, Crowd
from proofs.rig.console.travel import travelled
from proofs.rig.console.visitor import launched
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import Run, prove, say
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.table import ACTS


class Size(msgspec.Struct, frozen=True):
    crowd: Crowd
    # Requests by schemathesis for each act.
    examples: int
    # Whether they are others each time.
    by_chance: bool


SIZES = {
    "small": Size(Crowd(rows=1_000_000, customers=10_000, times=20), examples=4, by_chance=False),
    "full": Size(Crowd(rows=10_000_000, customers=100_000, times=40), examples=100, by_chance=True),
}
# Where nobody judges how long pages take, a crowd shows no more than that each of them is there.
IN_CI = Crowd(rows=20_000, customers=2_000, times=1)
LAST_LINE = (
    *("journeys", "routes", "roles_matrix", "schemathesis_cases", "server_errors"),
    *("once", "p95_ms", "preview_ms", "webhooks"),
)


def main(run: Run) -> int:
    asked = SIZES[run.size]
    with ExitStack() as stack:
        place = Place(stack)
        place.open()
        browser = launched(stack.enter_context(sync_playwright()))
        stack.callback(browser.close)
        checks = travelled(browser, place, run, JOURNEYS, IN_ALL)
        if run.only is None:
            keys = key_of_every_scope(place)
            ids = furnished(place, keys[Scope.EVERYTHING])
            checks += looked_at(browser, place, run, ids)
            checks += judged_by_role(place, run, ids, keys)
            checks += moved_once(stack, place, run)
            checks += told_outside(place, run)
            checks.append(Check("the books are clean", books_are_clean(place.settings)))
            checks += sent_by_schemathesis(stack, place, run, asked)
            checks += timed(stack, place, run, asked)
    return 1 if failed(checks, timed=run.judges_timings) else 0


def looked_at(browser: Browser, place: Place, run: Run, ids: Mapping[str, str]) -> list[Check]:
    looked = look_at_every_staff_page(browser, place, ids, run.pictures_folder())
    rules = sorted({f"{each.address} {each.rule}" for each in looked.violations})
    say(f"axe looked at {looked.pages} pages of staff: {len(looked.violations)} violations")
    return [Check("axe finds nothing", not looked.violations, "; ".join(rules))]


def judged_by_role(place: Place, run: Run, ids: Mapping[str, str], keys: Mapping[Scope, str]) -> list[Check]:
    port = place.console.port
    checks = [
        *matrix.pages_checked(place, ids),
        *matrix.acts_checked(port, keys, a_resident(place, "Kim").key),
        *matrix.ids_of_none_checked(port, keys[Scope.EVERYTHING]),
    ]
    wrong = sum(not check.holds for check in checks)
    say(f"{len(checks):,} visits by every role and scope, {wrong} judged otherwise than the tables say")
    run.figures |= {"routes": len(PAGES) + len(STAFF) + len(ACTS), "roles_matrix": f"{wrong}_wrong" if wrong else "ok"}
    return checks


def moved_once(stack: ExitStack, place: Place, run: Run) -> list[Check]:
    checks = list(once_checked(stack, place))
    run.figures["once"] = f"{sum(check.holds for check in checks)}/{len(checks)}"
    return checks


def told_outside(place: Place, run: Run) -> list[Check]:
    checks = webhooks_hold(place)
    run.figures["webhooks"] = "ok" if all(check.holds for check in checks) else "broken"
    return checks


def sent_by_schemathesis(stack: ExitStack, place: Place, run: Run, asked: Size) -> list[Check]:
    sent = cases_sent(stack, place, asked.examples, by_chance=asked.by_chance)
    run.figures |= {"schemathesis_cases": sent.in_all, "server_errors": sent.server_errors}
    say(f"{sent.in_all:,} requests by schemathesis: {dict(sorted(sent.statuses.items()))}")
    return [*sent.checks, Check("no server error", not sent.server_errors, str(sent.server_errors))]


def timed(stack: ExitStack, place: Place, run: Run, asked: Size) -> list[Check]:
    crowd = asked.crowd if run.judges_timings else IN_CI
    say(f"{crowd.customers:,} customers with {crowd.rows:,} calls come in")
    waits = p95_of_everything(stack, place, crowd)
    broken = [name for name, wait in waits.items() if wait == float("inf")]
    preview = waits.pop(PREVIEW)
    run.figures |= {"p95_ms": round(max(waits.values()), 1), "preview_ms": round(preview, 1)}
    slow = {name: round(wait) for name, wait in waits.items() if P95_MS_MOST < wait < float("inf")}
    return [
        Check("every page of staff and every list is there", not broken, str(broken)),
        Check("every page of staff and every list is quick", not slow, str(slow), timed=True),
        Check("a preview is worth waiting for", preview <= PREVIEW_MS_MOST, f"{preview:.0f} ms", timed=True),
    ]


if __name__ == "__main__":
    prove(main, *LAST_LINE)
