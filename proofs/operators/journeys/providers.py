"""Journeys with provider accounts: one is added, tested and earns; its key is rotated under load; it is taken away."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from openai import OpenAIError
from playwright.sync_api import Browser

from proofs.operators.staff import staff_member
from proofs.rig.console.calling import called
from proofs.rig.console.place import Place
from proofs.rig.console.visitor import Visitor
from proofs.rig.customers import a_key
from proofs.rig.patience import came_true
from tollkeeper.core.people.logins import Role
from tollkeeper.office.desks import Office
from tools.simulator import Simulator

FIRST_KEY, SECOND_KEY = "sk-of-the-first-day", "sk-of-the-second-day"
TRIALS = ("a whole answer", "a streamed answer", "a tool call", "an image", "JSON by a schema")
# So that nearly every call of the model goes to it, and none but one of a thousand to the place's own account.
HEAVY = "1000"
SEEN_WITHIN_SECONDS = 30.0
CALLERS = 4
CALLS_LEAST = 40


def one_is_added_tested_and_earns(browser: Browser, place: Place) -> None:
    visitor = staff_member(browser, place, Role.OPERATOR)
    with Simulator(key=FIRST_KEY) as provider:
        visitor.page.get_by_role("link", name="Providers").first.click()
        visitor.page.wait_for_url("**/staff/providers")
        assert _add(visitor, provider, "earner", key="sk-wrong") == 422
        assert visitor.says("'earner' was not added"), visitor.main
        assert _add(visitor, provider, "earner") == 200, visitor.main
        assert visitor.says("earner is added"), visitor.main
        works = dict(zip(_column(visitor, 0), _column(visitor, 1), strict=True))
        assert all(works[trial] == "yes" for trial in TRIALS), works
        tried = len(provider.truth())
        key = _a_customer(place)
        assert came_true(lambda: _reaches(place, provider, key, tried), within_seconds=SEEN_WITHIN_SECONDS)
        assert came_true(lambda: _earns(visitor), within_seconds=SEEN_WITHIN_SECONDS), visitor.main
        visitor.go("/staff")
        assert visitor.page.locator("main a", has_text="earner").count(), visitor.main
        assert visitor.complaints == []
        _take_away(visitor, "earner")
    visitor.close()


def its_key_is_rotated_under_load(browser: Browser, place: Place) -> None:
    visitor = staff_member(browser, place, Role.OPERATOR)
    with Simulator(key=f"{FIRST_KEY},{SECOND_KEY}", chunk_ms=5) as provider:
        assert _add(visitor, provider, "rotated") == 200, visitor.main
        key, before = _a_customer(place), len(provider.truth())
        assert came_true(lambda: _reaches(place, provider, key, before), within_seconds=SEEN_WITHIN_SECONDS)
        with _load(place, key) as load:
            assert came_true(lambda: load.made >= CALLS_LEAST, within_seconds=SEEN_WITHIN_SECONDS)
            visitor.go("/staff/providers/rotated")
            assert visitor.send("/staff/providers/rotated/rotate-key", key="sk-of-nobody") == 422
            assert visitor.says("keeps the key that it has"), visitor.main
            assert visitor.send("/staff/providers/rotated/rotate-key", key=SECOND_KEY) == 200
            assert visitor.says("It has its new key"), visitor.main
            enough = load.made + CALLS_LEAST
            assert came_true(lambda: load.made >= enough, within_seconds=SEEN_WITHIN_SECONDS)
        assert load.failures == [], load.failures[:3]
        # From now on the provider takes the second key alone, and calls are answered as before.
        provider.stop()
        provider.options["key"] = SECOND_KEY
        provider.start()
        before = len(provider.truth())
        assert came_true(lambda: _reaches(place, provider, key, before), within_seconds=SEEN_WITHIN_SECONDS)
        assert visitor.complaints == []
        _take_away(visitor, "rotated")
    visitor.close()


def one_is_paused_drained_and_removed(browser: Browser, place: Place) -> None:
    visitor = staff_member(browser, place, Role.OPERATOR)
    with Simulator(key=FIRST_KEY) as provider:
        assert _add(visitor, provider, "leaver") == 200, visitor.main
        key, before = _a_customer(place), len(provider.truth())
        assert came_true(lambda: _reaches(place, provider, key, before), within_seconds=SEEN_WITHIN_SECONDS)
        here = "/staff/providers/leaver"
        visitor.go(here)
        assert visitor.says("Pause it or let it drain first"), visitor.main
        assert visitor.send(f"{here}/pause", reason="a journey") == 200
        assert visitor.says("The account is paused"), visitor.main
        assert came_true(lambda: not _gets_calls(place, provider, key), within_seconds=SEEN_WITHIN_SECONDS)
        assert visitor.send(f"{here}/resume") == 200
        before = len(provider.truth())
        assert came_true(lambda: _reaches(place, provider, key, before), within_seconds=SEEN_WITHIN_SECONDS)
        assert visitor.send(f"{here}/drain", reason="a journey") == 200
        assert came_true(lambda: not _gets_calls(place, provider, key), within_seconds=SEEN_WITHIN_SECONDS)
        assert visitor.send(f"{here}/remove", confirmed_name="earner", reason="a slip") == 422
        assert visitor.send(f"{here}/remove", confirmed_name="leaver", reason="its contract ended") == 200
        assert visitor.says("The account is removed"), visitor.main
        assert visitor.go(here) == 404
        visitor.go("/staff/audit?subject=provider_account:leaver")
        assert visitor.says("its contract ended"), visitor.main
        assert _add(visitor, provider, "leaver") == 422
        assert visitor.says("an account that was removed"), visitor.main
        assert visitor.complaints == []
    visitor.close()


class _Load:
    """Callers who call and call, until they are told to stop."""

    def __init__(self, place: Place, key: str) -> None:
        self.made = 0
        self.failures: list[str] = []
        self._place = place
        self._key = key
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        while not self._over.is_set():
            try:
                called(self._place, self._key, words=20)
            except OpenAIError as problem:
                self.failures.append(str(problem))
                return
            self.made += 1


@contextmanager
def _load(place: Place, key: str) -> Iterator[_Load]:
    load = _Load(place, key)
    load.begin()
    try:
        yield load
    finally:
        load.end()


def _add(visitor: Visitor, provider: Simulator, name: str, *, key: str = FIRST_KEY) -> int:
    visitor.go("/staff/providers/add")
    return visitor.send(
        "/staff/providers/add",
        name=name,
        base_url=provider.base,
        key=key,
        serves="named",
        model_names="gpt-4o",
        weight=HEAVY,
        cost_multiplier="0.6",
        requests_per_minute="100000",
    )


def _column(visitor: Visitor, number: int) -> list[str]:
    """Of the table of what the test found."""
    rows = visitor.page.locator("section[aria-labelledby=trial-title] tbody tr").all()
    return [row.locator("th, td").nth(number).inner_text().strip() for row in rows]


def _a_customer(place: Place) -> str:
    person = place.a_person(usd=10)

    async def make(desk: Office) -> str:
        return (await a_key(desk, person.account_id)).key

    return place.operate(make)


def _gets_calls(place: Place, provider: Simulator, key: str) -> bool:
    """Whether some calls that are answered go there."""
    before = len(provider.truth())
    return _reaches(place, provider, key, before)


def _reaches(place: Place, provider: Simulator, key: str, before: int) -> bool:
    for _ in range(3):
        called(place, key)
    return len(provider.truth()) > before


def _earns(visitor: Visitor) -> bool:
    """At 0.6 of the list price 40 of a hundred are left, and the node told what is used of its limits."""
    visitor.go("/staff/providers/earner")
    has_margin = "40 % of revenue" in visitor.main
    visitor.go("/staff/providers?find=earner")
    return has_margin and "well" in visitor.main and "/ 100,000" in visitor.main and "40 %" in visitor.main


def _take_away(visitor: Visitor, name: str) -> None:
    here = f"/staff/providers/{name}"
    visitor.go(here)
    visitor.send(f"{here}/pause", reason="a journey")
    assert visitor.send(f"{here}/remove", confirmed_name=name, reason="the journey is over") == 200
