"""What people see of the gateway itself, without a session: the front page, and balances by key."""

import re
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.chat import listening, order, read_until
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.core.limits.windows import Rates
from tools.node import Node
from tools.services.process import wait_until

MAIN, BACKUP, BILLING = ({"Host": host} for host in ("main.test", "backup.test", "billing.test:8443"))
CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
PUBLISHED = ("/", "/en", "/zh", "/balance", "/zh/balance", "/pages.css", "/favicon.ico", "/robots.txt")
UNKNOWN_KEY = "sk-a" + "x" * 48


def look_up(node: Node, key: str, path: str = "/balance", headers: dict[str, str] | None = None) -> Answer:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return ask(node, path, method="POST", headers=form | (headers or {}), body=urlencode({"api_key": key}).encode())


def words(answer: Answer) -> str:
    """What people read of a page, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text.decode()).split())


@pytest.mark.parametrize("path", PUBLISHED)
def test_what_is_public_is_kept_by_readers_and_safe_to_show(node: Node, path: str) -> None:
    answer = ask(node, path)
    assert answer.status == 200
    assert re.fullmatch(r"public, max-age=[1-9][0-9]*", answer.headers["cache-control"])
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers
    assert b"<script" not in answer.text
    assert b"style=" not in answer.text
    again = ask(node, path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.text) == (304, b"")
    assert ask(node, path, method="HEAD").headers["etag"] == answer.headers["etag"]
    if answer.headers["content-type"].startswith("text/html"):
        assert answer.headers["vary"] == "accept-language"


@pytest.mark.rule("S3.1")
@pytest.mark.parametrize("host", [MAIN, BACKUP], ids=["main", "backup"])
def test_the_front_page_has_the_two_settings_ready_and_says_where_things_are(
    addressed_node: Node, host: dict[str, str]
) -> None:
    page = ask(addressed_node, "/", headers=host).text.decode()
    assert '<code class="copy">https://main.test/v1</code>' in page
    assert '<code class="copy">YOUR_KEY</code>' in page
    assert '<code class="copy">https://backup.test/v1</code>' in page
    assert 'href="/prices"' in page
    assert 'href="https://billing.test:8443/en/balance"' in page


def test_the_front_page_never_names_a_host_that_the_visitor_made_up(node: Node) -> None:
    assert b"evil.test" not in ask(node, "/", headers={"Host": "evil.test"}).text


@pytest.mark.usefixtures("townsfolk")
def test_docs_and_console_are_linked_where_there_are_some(town: tuple[dict[str, str], Customers]) -> None:
    places = {"TOLLKEEPER_CONSOLE_URL": "https://console.test/", "TOLLKEEPER_DOCS_URL": "https://docs.test/start"}
    with Node(town[0] | places) as node:
        page = ask(node, "/").text.decode()
    assert 'href="https://console.test/keys"' in page
    assert 'href="https://docs.test/start"' in page


@pytest.mark.parametrize(
    ("path", "headers", "language"),
    [("/", {}, "en"), ("/", CHINESE, "zh-Hans"), ("/en", CHINESE, "en"), ("/zh", {}, "zh-Hans")],
)
def test_the_language_is_the_browsers_or_what_the_address_says(
    node: Node, path: str, headers: dict[str, str], language: str
) -> None:
    page = ask(node, path, headers=headers).text.decode()
    assert f'<html lang="{language}">' in page
    assert ("价格" in page) is (language == "zh-Hans")


@pytest.mark.rule("E8.4")
def test_the_billing_address_shows_the_balance_form_and_no_page_of_the_others(addressed_node: Node) -> None:
    for path in ("/", "/balance", "/en/balance"):
        page = ask(addressed_node, path, headers=BILLING).text.decode()
        assert '<form class="card" method="post" action="/en/balance">' in page
        assert 'href="https://main.test/prices"' in page
    assert ask(addressed_node, "/balance", headers=MAIN).status == 404
    assert look_up(addressed_node, UNKNOWN_KEY, headers=MAIN).status == 404


@pytest.mark.rule("E8.4")
async def test_a_key_shows_what_it_and_its_account_have_with_every_lot(
    addressed_node: Node, townsfolk: Customers
) -> None:
    customer = await townsfolk.a_customer(usd="10", quota_usd="4")
    await townsfolk.credit(customer.account_id, "2.5", months=1)
    answer = look_up(addressed_node, customer.key, headers=BILLING)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
    told = words(answer)
    assert "The account has left $12.50 6,250,000 quota tokens" in told
    assert "Together $12.50 $12.50" in told
    assert "This key can still spend $4.00 2,000,000 quota tokens" in told
    lots = await townsfolk.desk.lots.of_account(customer.account_id)
    shown = re.findall(r'<time datetime="([^"]+)">', answer.text.decode().partition('id="lots"')[2])
    assert shown == [lot.expires_at.isoformat(timespec="seconds") for lot in lots]
    assert [lot.granted for lot in lots] == [1_250_000_000_000, 5_000_000_000_000]


@pytest.mark.usefixtures("simulator")
async def test_what_running_calls_hold_is_shown_as_held_and_what_was_spent_as_used(
    node: Node, townsfolk: Customers
) -> None:
    customer, model = await townsfolk.a_customer(usd="10"), await townsfolk.a_model()
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode())
    nothing_held = "Held by running calls, not spent $0.00 0 quota tokens"
    with listening(node, customer.key, order(model, "[[tokens=500 chunk_ms=20]]", stream=True)) as stream:
        read_until(stream, b"data: ")
        told = words(look_up(node, customer.key))
        assert nothing_held not in told
        assert "Used in all $0.00 0 quota tokens" in told
        read_until(stream, b"[DONE]")

    def is_used() -> bool:
        return "Used in all <$0.01" in words(look_up(node, customer.key)).replace("&lt;", "<")

    wait_until(is_used)
    told = words(look_up(node, customer.key))
    assert nothing_held in told
    assert "Limit of its own none: as much as the account has" in told


async def test_another_accounts_lots_are_not_shown(node: Node, townsfolk: Customers) -> None:
    poor = await townsfolk.a_customer(usd=None)
    await townsfolk.a_customer(usd="77")
    told = words(look_up(node, poor.key))
    assert "There is no quota." in told
    assert "77" not in told.partition("The account has left")[2].partition("UTC")[0]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "Paste a key first."),
        (b"api_key=", "Paste a key first."),
        (urlencode({"api_key": UNKNOWN_KEY}).encode(), "This key is not known here."),
        (urlencode({"api_key": "<script>alert(1)</script>"}).encode(), "This key is not known here."),
        (b"api_key=%FF%FE\xff", "This form takes a key and nothing else."),
        (b"&".join([b"a=1"] * 50), "This form takes a key and nothing else."),
    ],
    ids=["nothing", "empty", "unknown", "markup", "bytes", "many fields"],
)
def test_what_cannot_be_looked_up_is_told_beside_the_field(node: Node, body: bytes, told: str) -> None:
    answer = ask(node, "/balance", method="POST", body=body)
    assert answer.status == 422
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert told in words(answer)
    assert 'aria-describedby="api_key-error"' in answer.text.decode()
    assert b"<script" not in answer.text
    assert UNKNOWN_KEY.encode() not in answer.text


def test_refusals_are_told_in_the_visitors_language(node: Node) -> None:
    assert "没有这个密钥" in words(look_up(node, UNKNOWN_KEY, "/zh/balance"))
    assert "没有这个密钥" in words(look_up(node, UNKNOWN_KEY, headers=CHINESE))


async def test_a_key_is_in_no_log_and_not_on_the_page_again(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer()
    answer = look_up(node, customer.key)
    assert answer.status == 200
    assert customer.key.encode() not in answer.text

    def is_logged() -> bool:
        return answer.headers["x-request-id"] in node.log.read_text()

    wait_until(is_logged)
    assert customer.key not in node.log.read_text()


async def test_who_tries_keys_is_banned_as_on_the_api(stores: Stores) -> None:
    settings = await variables(stores) | {"TOLLKEEPER_INVALID_CALLS": "5"}
    with Node(settings) as node:
        wait_until(lambda: look_up(node, UNKNOWN_KEY).status == 403, within_seconds=40)
        answer = look_up(node, f"sk-a{uuid4().hex}")
        assert "Your IP is banned for a time." in words(answer)
        assert ask(node, "/v1/models").status == 403


async def test_looking_up_counts_against_the_limits_of_the_key(
    town: tuple[dict[str, str], Customers], node: Node
) -> None:
    folk = town[1]
    group = f"group-{uuid4().hex[:8]}"
    await folk.desk.groups.add(group, Rates(key_rate=1), actor=ACTOR)
    customer = await folk.a_customer(group=group)
    wait_until(lambda: look_up(node, customer.key).status == 429, within_seconds=40)
    answer = look_up(node, customer.key)
    assert "Wait a minute." in words(answer)
    assert answer.headers["retry-after"]
