"""Why: every act that changes something takes a reason, and every row that it writes has it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

import tollkeeper
from tests.office.staff import OWNER, StaffClient, a_key, refused, told
from tests.office.wishing import wishes
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.people.reasons import because
from tollkeeper.office.act import Act, Why
from tollkeeper.office.desks import Office
from tollkeeper.office.reasons import LEAVES_AS_IT_IS, WELCOME, why_asked
from tollkeeper.office.table import ACTS
from tollkeeper.storage.postgres.audit import OPEN, PAGE, audit
from tollkeeper.storage.postgres.database import Database

HOUSE = Path(tollkeeper.__file__).parent
COMMANDS = sorted((HOUSE / "cli").glob("*.py"))
PAGES = sorted((HOUSE / "console" / "staff_html").glob("*.html"))

ASKING = [act for act in ACTS if act.asks_why is not Why.NOT_ASKED]
NEEDING = [act for act in ACTS if act.asks_why is Why.NEEDED]
# A form that is sent, in its two spellings; and one whose macro brings the field for the reason along.
FORMS = re.compile(
    r'<form\b[^>]*method="post".*?</form>|{% call act_form\(.*?%}.*?{% endcall %}|{{ act_form\(.*?\) }}', re.DOTALL
)
ASKS_WHY = re.compile(r'reason\("|reason\(id,|field\(form, "reason"|name="reason"|"reason", "|for each in deed\.asked')
# They leave everything as it is (`office/reasons`), or are no act on anything but one's own reading.
FORMS_WITHOUT = ("/test", "/again", "/stop-reading", "/sign-out")
# Where `act_form` is made, of which each use is looked at.
BARE_FORM = "staff_parts.html"


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_an_act_asks_why_as_the_rule_says(act: Act[Any, Any]) -> None:
    assert act.asks_why is why_asked(act)


def test_the_rule_names_acts_that_there_are() -> None:
    assert {act.name for act in ACTS} >= WELCOME | LEAVES_AS_IT_IS
    assert not WELCOME & LEAVES_AS_IT_IS


def test_whatever_moves_money_or_is_supports_needs_a_reason_but_for_new_accounts() -> None:
    theirs = {act.name for act in ACTS if act.method != "GET" and act.scope in (Scope.MONEY, Scope.SUPPORT)}
    assert theirs - {act.name for act in NEEDING} == {"create_account"}
    assert {act.name for act in ACTS if act.moves_money} <= {act.name for act in NEEDING}


@pytest.mark.parametrize("act", NEEDING, ids=lambda act: act.name)
@settings(max_examples=3, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
async def test_without_a_reason_nothing_is_begun(act: Act[Any, Any], data: st.DataObject) -> None:
    wish = msgspec.structs.replace(data.draw(wishes(act.wish)), reason="  ")
    # There is no office to work with: whatever came so far would fail otherwise.
    nothing: Any = None
    with pytest.raises(ValueError, match=r"Say why in 1 to 500 characters\. Nothing was done\."):
        await act(nothing, wish, OWNER)


def made_in(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


def test_every_command_says_the_reason() -> None:
    """Wherever a command makes a wish that can have a reason, it gives one."""
    asking = {act.wish.__name__ for act in ASKING}
    made = [(file.name, name, call) for file in COMMANDS for name, call in made_in(file) if name in asking]
    assert {name for _, name, _ in made} == asking
    without = [(file, name) for file, name, call in made if "reason" not in {word.arg for word in call.keywords}]
    assert without == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_form_of_staff_asks_why(page: Path) -> None:
    for form in FORMS.findall(page.read_text()):
        asks = ASKS_WHY.search(form) or any(f'{path}"' in form for path in FORMS_WITHOUT)
        assert asks or page.name == BARE_FORM, form[:200]


async def reasons_of(owner: asyncpg.Connection, subject: str) -> list[tuple[str, str | None]]:
    sql = "select action, detail::jsonb ->> 'reason' as reason from audit where subject = $1 order by id"
    return [(row["action"], row["reason"]) for row in await owner.fetch(sql, subject)]


async def test_the_reason_stands_in_rows_of_desks_and_of_stored_functions(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    account = told(await owner_client.post("/accounts", name="Ada", reason="a reseller"))["account"]
    key = told(await owner_client.post(f"/accounts/{account}/keys", name="k", reason="they asked"))["key"]
    told(await owner_client.post(f"/keys/{key}/revoke", reason="it leaked"))
    told(await owner_client.post("/code-batches", once="a", codes=1, usd="1", reason="a fair"))
    told(await owner_client.post("/code-batches/1/export", reason="handed to Ben"))
    told(await owner_client.post("/brand", name="Acme", reason="a new name"))
    assert await reasons_of(owner, f"account:{account}") == [("account.create", "a reseller")]
    assert await reasons_of(owner, f"key:{key}") == [("key.create", "they asked"), ("key.revoke", "it leaked")]
    assert await reasons_of(owner, "batch:1") == [("codes.make", "a fair"), ("codes.export", "handed to Ben")]
    assert await reasons_of(owner, "brand") == [("brand.change", "a new name")]
    assert told(await owner_client.get("/audit/chain"))["is_whole"]


async def test_a_webhook_and_a_provider_account_are_taken_away_with_a_reason(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    number = told(await owner_client.post("/webhooks", url="https://hooks.example/", reason="pager"))["webhook"]["id"]
    assert refused(await owner_client.send("DELETE", f"/webhooks/{number}")) == (400, "bad_request")
    told(await owner_client.send("DELETE", f"/webhooks/{number}?reason=nobody+needs+it"))
    assert await reasons_of(owner, f"webhook:{number}") == [
        ("webhook.add", "pager"),
        ("webhook.remove", "nobody needs it"),
    ]


async def test_where_a_reason_is_welcome_none_is_needed(owner_client: StaffClient, owner: asyncpg.Connection) -> None:
    """As programs call it that were written before."""
    account = told(await owner_client.post("/accounts", name="Ada"))["account"]
    assert await reasons_of(owner, f"account:{account}") == [("account.create", None)]
    long = await owner_client.post("/accounts", name="Ben", reason="x" * 501)
    assert refused(long) == (422, "refused")


async def test_a_reason_ends_with_its_act_and_a_rows_own_reason_stays(
    console_database: Database, owner: asyncpg.Connection
) -> None:
    async def put(subject: str, detail: dict[str, object]) -> None:
        async with console_database.transaction() as connection:
            await audit(connection, "a test", "thing.change", subject, detail)

    with because("of the act"):
        await put("thing:1", {})
        await put("thing:1", {"reason": "its own"})
        await console_database.row("select put_on_record('a test', 'thing.change', 'thing:1', '{}')")
    await put("thing:1", {})
    await console_database.row("select put_on_record('a test', 'thing.change', 'thing:1', '{}')")
    rows = [reason for _, reason in await reasons_of(owner, "thing:1")]
    assert rows == ["of the act", "its own", "of the act", None, None]


async def test_the_trail_of_one_actor_is_read_along_its_index(owner: asyncpg.Connection) -> None:
    await owner.execute("select put_on_record('cli:ada', 'thing.change', 'thing:1', '{}')")
    many = "select put_on_record('cli:ben', 'thing.change', 'thing:1', '{}') from generate_series(1, 2000)"
    await owner.execute(many)
    await owner.execute("analyze audit")
    sql = PAGE.format_map(OPEN | {"actor": "actor = 'cli:ada'"})
    for place, value in (("$1", "null::bigint"), ("$3", "''"), ("$4", "''"), ("$5", "50")):
        sql = sql.replace(place, value)
    plan = "\n".join(row[0] for row in await owner.fetch(f"explain {sql}"))
    assert "audit_by_actor" in plan


async def test_a_key_of_support_says_why_as_well(api: Starlette, office: Office, owner_client: StaffClient) -> None:
    support = StaffClient(api, await a_key(office, "helper", Scope.SUPPORT))
    account = told(await owner_client.post("/accounts", name="Ada"))["account"]
    for path in (f"/accounts/{account}/sessions/end", f"/accounts/{account}/login/unlock"):
        assert refused(await support.post(path)) == (400, "bad_request")
        assert refused(await support.post(path, reason=" ")) == (422, "refused")
