"""A journey without a session, and back: a balance by key, the front page, and what was cleaned from the log."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Browser

from proofs.console.journeys.keys import new_key
from proofs.console.journeys.usage import downloaded
from proofs.rig.console.calling import called, in_usage, usd_of
from proofs.rig.console.place import BILLING_HOST, Person, Place
from proofs.rig.console.visitor import Visitor
from tools.node import command

OLD_DAYS = 70
CLEANED = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                   output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
select (left(replace(uuid_floor($3::timestamptz)::text, '-', ''), 13)
        || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid,
       $1, $2, (select min(id) from price where model_id = 'gpt-4o'), 1000000, 100, 0, 50, 375000000, 375000000,
       'provider', 'completed', '[]', $3, $3
returning request_id
"""


def balance_and_cleaned_logs(browser: Browser, place: Place) -> None:
    person = place.a_person(usd=4)
    visitor = Visitor(browser, place, person.ip, accept_downloads=True)
    visitor.sign_in(person)
    key_id, key = new_key(visitor, "outside", quota="3")
    call = called(place, key)
    in_usage(visitor, call.request_id)
    _balance_by_key(Visitor(browser, place), key, call.charge)

    request_id = _clean_an_old_call(place, person, key_id)
    visitor.go("/logs")
    rows = visitor.page.locator("table.calls tbody tr")
    assert rows.count() == 1
    assert rows.first.get_attribute("id") == request_id
    assert [row["request_id"] for row in downloaded(visitor, "a[href='/logs.csv']")] == [request_id]
    visitor.go(f"/usage?id={request_id}")
    assert visitor.page.locator("table.calls tbody tr").count() == 0
    assert visitor.complaints == []
    visitor.close()


def _balance_by_key(stranger: Visitor, key: str, charge: int) -> None:
    billing = f"http://{BILLING_HOST}:{stranger.place.node.port}"
    stranger.page.goto(billing)
    stranger.send("/en/balance", api_key="sk-a" + "x" * 44)
    assert stranger.page.locator("[role=alert]").is_visible()
    stranger.page.goto(f"{billing}/balance")
    stranger.send("/en/balance", api_key=key)
    assert key not in stranger.page.url
    assert key not in stranger.page.content()
    spent = f"${usd_of(charge)}"
    assert stranger.titles("dl.lines span[title]").count(spent) == 2, "used by the account, and by the key"
    stranger.page.goto(stranger.place.node.base)
    links = [link.get_attribute("href") or "" for link in stranger.page.locator("a").all()]
    assert any(link.startswith(stranger.place.url) for link in links), "the front page does not lead to the console"
    assert stranger.complaints == []
    stranger.close()


def _clean_an_old_call(place: Place, person: Person, key_id: int) -> str:
    """A call of long ago, which the monthly cleanup takes to the log site."""
    day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=OLD_DAYS)
    place.rows("select make_partition('usage', $1, $2)", day, day + timedelta(days=1))
    [row] = place.rows(CLEANED, person.account_id, key_id, day + timedelta(hours=12))
    command(place.settings, "usage", "clean")
    return str(row["request_id"])
