"""Redeeming: once, whole or not at all, and telling nothing."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customers
from tests.people import AN_OPERATOR
from tests.storage.customers.benches import Account, Market, Time, books_are_clean
from tollkeeper.accounts.money.codes import BatchWish, export_codes, make_batch, revoke_codes
from tollkeeper.accounts.money.redeem import CodeNotAccepted, RedeemingLocked, RedeemWish, redeem
from tollkeeper.app.database import opened
from tollkeeper.core.client_ip import read_ip
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.codes import code_digest, mint_code
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms, quota_of_micros
from tollkeeper.core.people.logins import Actor, Role, RoleMissing
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import Redeemed, Redemption
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import DatabaseRole

AT_ONCE = 20
IP = "192.0.2.7"
CLIENT = read_ip(IP)
WRONG = "TK-2222-2222-2222-2222-2222-2222-2222"


@pytest.fixture
async def market(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> AsyncIterator[Market]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield Market(customers, owner, database)


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


def verdicts(outcomes: list[Redemption]) -> dict[str, int]:
    return dict(Counter(outcome.verdict.value for outcome in outcomes))


# Codes ----------------------------------------------------------------------------------------------------------------
@pytest.mark.rule("S2.1")
@pytest.mark.parametrize("months", [9, 3])
async def test_a_code_adds_its_quota_for_its_term(market: Market, settings: Settings, months: int) -> None:
    account = await market.an_account()
    [code] = await market.codes(usd="12.34", months=months)
    done = await market.try_code(account, code)
    assert done.verdict is Redeemed.REDEEMED
    assert done.top_up is not None
    assert (done.top_up.quota, done.top_up.usd_micros, done.top_up.gift) == (6_170_000_000_000, 12_340_000, 0)
    assert await market.quota_of(account) == 6_170_000_000_000
    assert (
        await market.owner.fetchval(
            "select (source, source_id, expires_at = created_at + make_interval(months => $2))::text"
            " from lot where id = $1",
            done.top_up.lot_id,
            months,
        )
        == "(redemption,1,t)"
    )
    assert await market.desk.redemptions.top_ups(account.id) == [done.top_up]
    assert await books_are_clean(settings)


@pytest.mark.rule("R5.1")
async def test_an_account_sees_nothing_of_a_code_before_it_is_redeemed(market: Market) -> None:
    account = await market.an_account()
    [code] = await market.codes(usd="25")
    other = await market.an_account()
    await market.try_code(other, code)
    refused = await market.try_code(account, code)
    assert refused == Redemption(Redeemed.USED)
    assert await market.desk.redemptions.top_ups(account.id) == []
    assert await market.quota_of(account) == 0


async def test_nothing_of_a_code_is_stored_but_its_digest(market: Market) -> None:
    [code] = await market.codes()
    plain = code.replace("-", "")
    for table in ("redemption_code", "redemption_batch", "audit"):
        stored = str([dict(row) for row in await market.owner.fetch(f"table {table}")])
        assert code not in stored
        assert plain[2:] not in stored


async def test_one_code_asked_for_by_many_accounts_at_once_is_one_top_up(market: Market, settings: Settings) -> None:
    accounts = [await market.an_account() for _ in range(AT_ONCE)]
    [code] = await market.codes()
    outcomes = await asyncio.gather(*(market.try_code(account, code) for account in accounts))
    assert verdicts(list(outcomes)) == {"redeemed": 1, "used": AT_ONCE - 1}
    assert sum([await market.quota_of(account) for account in accounts]) == 10 * UNITS_PER_USD
    assert await books_are_clean(settings)


async def test_one_code_sent_often_by_one_account_is_one_top_up(market: Market, settings: Settings) -> None:
    account = await market.an_account()
    [code] = await market.codes()
    outcomes = await asyncio.gather(*(market.try_code(account, code, ip="192.0.2.7") for _ in range(AT_ONCE)))
    assert verdicts(list(outcomes)) == {"redeemed": 1, "replayed": AT_ONCE - 1}
    assert len({outcome.top_up.id for outcome in outcomes if outcome.top_up}) == 1
    assert await market.quota_of(account) == 10 * UNITS_PER_USD
    assert await books_are_clean(settings)


async def test_codes_of_a_batch_that_was_never_handed_out_or_is_revoked_are_refused(market: Market) -> None:
    account = await market.an_account()
    [hidden] = await market.codes(exported=False)
    assert (await market.try_code(account, hidden)).verdict is Redeemed.CLOSED
    first, second, third = await market.codes(3)
    assert (await market.try_code(account, first)).verdict is Redeemed.REDEEMED
    assert await market.desk.codes.revoke(2, "stolen", actor=ACTOR) == 2
    assert (await market.try_code(account, second)).verdict is Redeemed.CLOSED
    assert (await market.try_code(account, third)).verdict is Redeemed.CLOSED
    assert (await market.try_code(account, first)).verdict is Redeemed.REPLAYED
    assert await market.desk.codes.revoke(2, "stolen", actor=ACTOR) is None
    with pytest.raises(NotOnFile, match="batch 77"):
        await market.desk.codes.revoke(77, "stolen", actor=ACTOR)
    newest, _ = await market.desk.codes.batches()
    assert (newest.codes, newest.redeemed, newest.revoke_reason) == (3, 1, "stolen")


async def test_a_debt_is_paid_by_the_top_up(market: Market, settings: Settings, customers: Customers) -> None:
    account = await market.an_account()
    await market.top_up(account, "10", giver=await market.an_account())
    await market.owner.execute("update account_books set debt = 7 where account_id = $1", account.id)
    await market.owner.execute(
        "insert into entry (cause, kind, lot_id, account_id, amount, at)"
        " values (ledger_uuid(), 'debt', 0, $1, 7, ledger_now())",
        account.id,
    )
    before = await market.quota_of(account)
    await market.top_up(account, "1")
    assert await market.quota_of(account) == before + UNITS_PER_USD - 7


# Rewards --------------------------------------------------------------------------------------------------------------
# Topped up, in USD; the inviter's cash, in micro-USD; topped-up quota and each side's gift, in micro-quota.
BY_HAND = [
    ("10", 250_000, 5_000_000_000_000, 250_000_000_000),
    ("0.01", 250, 5_000_000_000, 250_000_000),
    ("0.99", 24_750, 495_000_000_000, 24_750_000_000),
    ("19.99", 499_750, 9_995_000_000_000, 499_750_000_000),
    ("33.33", 833_250, 16_665_000_000_000, 833_250_000_000),
    ("1234.56", 30_864_000, 617_280_000_000_000, 30_864_000_000_000),
    # Half a micro-USD, and just less: 20 × 0.025 = 0.5, 19 × 0.025 = 0.475, 60 × 0.025 = 1.5.
    ("0.00002", 1, 10_000_000, 500_000),
    ("0.000019", 0, 9_500_000, 475_000),
    ("0.00006", 2, 30_000_000, 1_500_000),
    ("0.000001", 0, 500_000, 25_000),
]


@pytest.mark.rule("S10.1")
@pytest.mark.rule("S10.2")
@pytest.mark.rule("S10.4")
@pytest.mark.parametrize(("usd", "cash", "quota", "gift"), BY_HAND, ids=[case[0] for case in BY_HAND])
async def test_one_top_up_earns_cash_and_two_gifts_to_the_unit(
    market: Market, settings: Settings, usd: str, cash: int, quota: int, gift: int
) -> None:
    inviter, giver = await market.an_account(), await market.an_account()
    account = await market.an_account(invited_by=inviter)
    done = await market.top_up(account, usd, giver=giver)
    assert done.top_up is not None
    assert done.top_up.quota == quota
    assert await market.rewards(inviter) == ([("referral_cash", cash)] if cash else [])
    assert await market.rewards(giver) == [("gift_given", gift)]
    assert await market.rewards(account) == [("gift_received", gift)]
    assert await market.quota_of(giver) == gift
    assert await market.quota_of(account) == done.top_up.quota + gift
    assert done.top_up.gift == gift
    assert await market.quota_of(inviter) == 0
    assert await books_are_clean(settings)


@pytest.mark.rule("S10.2")
@pytest.mark.rule("S10.4")
async def test_ten_usd_earn_a_quarter_in_cash_and_half_a_usd_each(market: Market) -> None:
    inviter = await market.an_account()
    account = await market.an_account(invited_by=inviter)
    await market.top_up(account, "10", giver=inviter)
    assert await market.rewards(inviter) == [("referral_cash", 250_000), ("gift_given", UNITS_PER_USD // 2)]
    assert await market.rewards(account) == [("gift_received", UNITS_PER_USD // 2)]


@pytest.mark.rule("S10.3")
async def test_without_a_gift_code_there_is_no_gift(market: Market, settings: Settings) -> None:
    inviter = await market.an_account()
    account = await market.an_account(invited_by=inviter)
    await market.top_up(account, "10")
    assert await market.rewards(inviter) == [("referral_cash", 250_000)]
    assert await market.rewards(account) == []
    assert await market.quota_of(account) == 10 * UNITS_PER_USD
    assert await books_are_clean(settings)


async def test_a_disabled_account_earns_nothing(market: Market) -> None:
    inviter, giver = await market.an_account(), await market.an_account()
    account = await market.an_account(invited_by=inviter)
    await market.owner.execute("update account set disabled_at = now() where id = any($1)", [inviter.id, giver.id])
    [code] = await market.codes()
    refused = await market.try_code(account, code, gift_code=giver.gift_code)
    assert refused.verdict is Redeemed.UNKNOWN_GIFT_CODE
    assert (await market.try_code(account, code)).verdict is Redeemed.REDEEMED
    assert await market.rewards(inviter) == []


async def test_gifts_of_a_month_are_capped_for_each_who_gets_them(
    market: Market, settings: Settings, passing: Time
) -> None:
    terms = ReferralTerms(gift_cap=Quota(UNITS_PER_USD))
    giver, account, other = [await market.an_account() for _ in range(3)]
    await passing.go_to((await passing.now()).replace(day=28, hour=12) + timedelta(days=35))
    await passing.go_to((await passing.now()).replace(day=3))
    await market.top_up(account, "14", giver=giver, terms=terms)
    capped = await market.top_up(account, "8", giver=giver, terms=terms)
    nothing = await market.top_up(account, "8", giver=giver, terms=terms)
    assert [amount for _, amount in await market.rewards(giver)] == [Quota(n * UNITS_PER_USD // 10) for n in (7, 3, 0)]
    assert await market.rewards(account) == [("gift_received", amount) for _, amount in await market.rewards(giver)]
    assert capped.top_up is not None
    assert nothing.top_up is not None
    assert (capped.top_up.gift, nothing.top_up.gift) == (3 * UNITS_PER_USD // 10, 0)
    record = (await market.desk.partners.statement(giver.id)).rewards[0]
    assert (record.full_amount, record.amount) == (4 * UNITS_PER_USD // 10, 0)
    # The giver has had this month's share; whoever gets from it has not.
    await market.top_up(other, "10", giver=giver, terms=terms)
    assert await market.rewards(other) == [("gift_received", UNITS_PER_USD // 2)]
    # A new month.
    await passing.pass_by(days=31)
    await market.top_up(account, "10", giver=giver, terms=terms)
    assert (await market.rewards(giver))[-1] == ("gift_given", UNITS_PER_USD // 2)
    assert await books_are_clean(settings)


async def test_a_month_is_one_of_the_calendar_in_utc(market: Market, passing: Time) -> None:
    terms = ReferralTerms(gift_cap=Quota(UNITS_PER_USD), cash_cap=MicroUsd(1))
    inviter = await market.an_account()
    account = await market.an_account(invited_by=inviter)
    ends = (await passing.now()).replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=40)
    ends = ends.replace(day=1)
    await passing.go_to(ends - timedelta(seconds=60))
    await market.top_up(account, "10", terms=terms)
    await market.top_up(account, "10", terms=terms)
    await passing.go_to(ends + timedelta(seconds=1))
    await market.top_up(account, "10", terms=terms)
    assert await market.rewards(inviter) == [("referral_cash", amount) for amount in (1, 0, 1)]


async def test_cash_of_a_month_is_capped_for_the_inviter(market: Market, settings: Settings) -> None:
    terms = ReferralTerms(cash_cap=MicroUsd(600_000))
    inviter = await market.an_account()
    guests = [await market.an_account(invited_by=inviter) for _ in range(4)]
    for guest in guests:
        await market.top_up(guest, "10", terms=terms)
    assert await market.rewards(inviter) == [("referral_cash", cash) for cash in (250_000, 250_000, 100_000, 0)]
    assert (await market.desk.partners.statement(inviter.id)).cash.granted == 600_000
    assert [await market.quota_of(guest) for guest in guests] == [10 * UNITS_PER_USD] * 4
    assert await books_are_clean(settings)


async def test_a_cap_holds_when_many_redeem_at_once(market: Market, settings: Settings) -> None:
    terms = ReferralTerms(cash_cap=MicroUsd(1_000_000), gift_cap=Quota(2 * UNITS_PER_USD))
    partner = await market.an_account()
    guests = [await market.an_account(invited_by=partner) for _ in range(AT_ONCE)]
    codes = await market.codes(AT_ONCE)
    done = await asyncio.gather(
        *(
            market.try_code(guest, code, gift_code=partner.gift_code, terms=terms)
            for guest, code in zip(guests, codes, strict=True)
        )
    )
    assert verdicts(list(done)) == {"redeemed": AT_ONCE}
    statement = await market.desk.partners.statement(partner.id)
    assert statement.cash.granted == 1_000_000
    assert await market.quota_of(partner) == 2 * UNITS_PER_USD
    assert len(statement.rewards) == 2 * AT_ONCE
    assert statement.invited == AT_ONCE
    assert await books_are_clean(settings)


async def test_a_cap_on_cash_holds_when_guests_redeem_at_once(market: Market, settings: Settings) -> None:
    terms = ReferralTerms(cash_cap=MicroUsd(1_000_000))
    inviter = await market.an_account()
    guests = [await market.an_account(invited_by=inviter) for _ in range(AT_ONCE)]
    codes = await market.codes(AT_ONCE)
    await asyncio.gather(
        *(market.try_code(guest, code, terms=terms) for guest, code in zip(guests, codes, strict=True))
    )
    statement = await market.desk.partners.statement(inviter.id)
    assert (statement.cash.granted, len(statement.rewards)) == (1_000_000, AT_ONCE)
    assert await books_are_clean(settings)


# Self and loops -------------------------------------------------------------------------------------------------------
@pytest.mark.rule("S10.5")
async def test_nobody_gives_to_themselves(market: Market, settings: Settings) -> None:
    account = await market.an_account()
    [code] = await market.codes()
    refused = await market.try_code(account, code, gift_code=account.gift_code)
    assert refused == Redemption(Redeemed.OWN_GIFT_CODE)
    assert not await market.accept(account, account.gift_code)
    with pytest.raises(asyncpg.CheckViolationError):
        await market.owner.execute("update account set invited_by = id where id = $1", account.id)
    assert await market.quota_of(account) == 0
    assert (await market.try_code(account, code)).verdict is Redeemed.REDEEMED
    assert await books_are_clean(settings)


@pytest.mark.rule("S10.5")
@pytest.mark.parametrize("by", ["gifts", "invitations", "both in turn"])
@pytest.mark.parametrize("length", [2, 3, 7])
async def test_a_chain_is_not_closed_to_a_ring(market: Market, settings: Settings, by: str, length: int) -> None:
    chain = [await market.an_account()]
    for number in range(length - 1):
        invited = by == "invitations" or (by == "both in turn" and number % 2)
        chain.append(await market.an_account(invited_by=chain[-1] if invited else None))
        if not invited:
            await market.top_up(chain[-1], "1", giver=chain[-2])
    first, last = chain[0], chain[-1]
    [code] = await market.codes()
    assert (await market.try_code(first, code, gift_code=last.gift_code)).verdict is Redeemed.LOOP
    assert not await market.accept(first, last.gift_code)
    # In the direction of the chain there is nothing against it.
    assert (await market.try_code(last, code, gift_code=first.gift_code)).verdict is Redeemed.REDEEMED
    assert await books_are_clean(settings)


async def test_an_old_chain_is_not_closed_by_a_newcomer(market: Market) -> None:
    """What the first got, it got before the newcomer came; still it would close a ring."""
    first, second = await market.an_account(), await market.an_account()
    await market.top_up(first, "1", giver=second)
    newcomer = await market.an_account()
    await market.top_up(second, "1", giver=newcomer)
    [code] = await market.codes()
    assert (await market.try_code(newcomer, code, gift_code=first.gift_code)).verdict is Redeemed.LOOP


async def test_where_a_loop_cannot_be_ruled_out_the_code_is_redeemed_without_gifts(
    market: Market, settings: Settings
) -> None:
    await market.owner.execute(
        "create or replace function partners_looked_at() returns integer language sql immutable return 4"
    )
    popular = await market.an_account()
    guests = [await market.an_account(invited_by=popular) for _ in range(5)]
    chain = [await market.an_account()]
    for _ in range(5):
        chain.append(await market.an_account(invited_by=chain[-1]))
    assert not await market.accept(popular, chain[-1].gift_code)
    # One side that is seen to its end is enough.
    assert (await market.top_up(guests[0], "1", giver=chain[-1])).top_up is not None
    assert (await market.top_up(popular, "1", giver=chain[1])).top_up is not None
    assert [len(await market.rewards(giver)) for giver in (chain[1], chain[-1])] == [1, 1]
    done = await market.top_up(popular, "10", giver=chain[-1])
    assert done.top_up is not None
    assert (done.top_up.quota, done.top_up.gift) == (10 * UNITS_PER_USD, 0)
    detail = await market.owner.fetchval(
        "select detail from audit where action = 'code.redeem' order by id desc limit 1"
    )
    assert "too many partners" in detail
    assert await books_are_clean(settings)


@pytest.mark.parametrize(
    ("first", "second"),
    [("ada@example.com", "ada+2@example.com"), ("a.da@gmail.com", "ada+x@googlemail.com")],
    ids=["a tag", "dots"],
)
async def test_nobody_gives_to_themselves_under_another_email(
    market: Market, settings: Settings, first: str, second: str
) -> None:
    one, other = await market.an_account(), await market.an_account()
    await market.verify(one, first)
    await market.verify(other, second)
    [code] = await market.codes()
    assert (await market.try_code(other, code, gift_code=one.gift_code)) == Redemption(Redeemed.OWN_GIFT_CODE)
    assert not await market.accept(other, one.gift_code)
    stranger = await market.an_account()
    await market.verify(stranger, "bob@example.com")
    assert await market.accept(stranger, one.gift_code)
    assert (await market.try_code(stranger, code, gift_code=one.gift_code)).verdict is Redeemed.REDEEMED
    assert await books_are_clean(settings)


async def test_by_codes_without_rewards_nobody_earns(market: Market, settings: Settings) -> None:
    inviter, giver = await market.an_account(), await market.an_account()
    account = await market.an_account(invited_by=inviter)
    [code] = await market.codes(rewards=False)
    assert (await market.try_code(account, code, gift_code="ZZZZ")).verdict is Redeemed.UNKNOWN_GIFT_CODE
    done = await market.try_code(account, code, gift_code=giver.gift_code)
    assert done.top_up is not None
    assert (done.top_up.quota, done.top_up.gift) == (10 * UNITS_PER_USD, 0)
    for each in (inviter, giver, account):
        assert await market.rewards(each) == []
    [batch] = await market.desk.codes.batches()
    assert not batch.rewards
    assert await books_are_clean(settings)


async def test_only_operators_make_and_revoke_codes(market: Market) -> None:
    wish = BatchWish(codes=1, usd_micros=MicroUsd(1), months=1)
    support = Actor("account:7", Role.SUPPORT)
    with pytest.raises(RoleMissing):
        await make_batch(wish, "one", market.desk.codes, by=support)
    await market.codes(exported=False)
    with pytest.raises(RoleMissing):
        await export_codes(1, secrets.choice, market.desk.codes, by=support)
    with pytest.raises(RoleMissing):
        await revoke_codes(1, "stolen", market.desk.codes, by=support)
    with pytest.raises(ValueError, match="printable"):
        await make_batch(msgspec.structs.replace(wish, note="two\nlines"), "one", market.desk.codes, by=AN_OPERATOR)
    assert await revoke_codes(1, "stolen", market.desk.codes, by=AN_OPERATOR) == 1


async def test_rings_that_are_closed_at_once_stay_open(market: Market, settings: Settings) -> None:
    ring = [await market.an_account() for _ in range(8)]
    codes = await market.codes(len(ring))
    done = await asyncio.gather(
        *(
            market.try_code(account, codes[place], gift_code=ring[(place + 1) % len(ring)].gift_code)
            for place, account in enumerate(ring)
        )
    )
    assert verdicts(list(done)) == {"redeemed": len(ring) - 1, "loop": 1}
    assert await books_are_clean(settings)


async def test_an_invitation_is_accepted_once_and_before_the_first_top_up(market: Market) -> None:
    inviter, other, late = [await market.an_account() for _ in range(3)]
    account = await market.an_account(invited_by=inviter)
    assert not await market.accept(account, other.gift_code)
    await market.top_up(late)
    assert not await market.accept(late, inviter.gift_code)
    fresh = await market.an_account()
    assert not await market.accept(fresh, "")
    assert not await market.accept(fresh, "ZZZZZ" if inviter.gift_code != "ZZZZZ" else "YYYYY")
    assert await market.accept(fresh, f" https://console.example/i/{inviter.gift_code.lower()} ")
    assert await market.owner.fetch("select id, invited_by from account where invited_by is not null order by id") == [
        (account.id, inviter.id),
        (fresh.id, inviter.id),
    ]


async def test_every_account_has_a_gift_code_of_its_own_that_it_did_not_choose(owner: asyncpg.Connection) -> None:
    await owner.execute("insert into account (name, gift_code) select 'many', '22222' from generate_series(1, 2000)")
    row = await owner.fetchrow(
        "select count(distinct gift_code) as kinds, bool_and(gift_code ~ '^[2-9A-HJ-NP-Z]{5}$') as formed from account"
    )
    assert (row["kinds"], row["formed"]) == (2000, True)


# Guessing -------------------------------------------------------------------------------------------------------------
async def test_whatever_is_wrong_is_told_in_the_same_words(market: Market, settings: Settings) -> None:
    account, other = await market.an_account(), await market.an_account()
    await market.top_up(other, "1", giver=account)
    used, good, revoked = (await market.codes())[0], (await market.codes())[0], (await market.codes(exported=False))[0]
    await market.try_code(other, used)
    told = set()
    for code, gift_code in [
        (WRONG, None),
        ("nonsense", None),
        (used, None),
        (revoked, None),
        (good, "ZZZZZ"),
        (good, "not a gift code"),
        (good, account.gift_code),
        (good, other.gift_code),
    ]:
        wish = RedeemWish(account_id=account.id, code=code, gift_code=gift_code, ip=CLIENT)
        with pytest.raises(CodeNotAccepted) as problem:
            await redeem(wish, ReferralTerms(), market.desk.redemptions, actor=ACTOR)
        told.add(str(problem.value))
        await market.owner.execute("delete from lockout")
    assert len(told) == 1
    wish = RedeemWish(account_id=account.id, code=good.lower(), ip=CLIENT)
    for before in (False, True):
        redeemed = await redeem(wish, ReferralTerms(), market.desk.redemptions, actor=ACTOR)
        assert (redeemed.top_up.quota, redeemed.before) == (10 * UNITS_PER_USD, before)
    assert await books_are_clean(settings)


async def locked_hours(market: Market, passing: Time, account: Account, ip: str = IP) -> int:
    """Guess until that is locked; for how long."""
    for _ in range(5):
        assert (await market.try_code(account, WRONG, ip=ip)).verdict is Redeemed.UNKNOWN
    locked = await market.try_code(account, WRONG, ip=ip)
    assert locked.locked_until is not None
    return round((locked.locked_until - await passing.now()) / timedelta(hours=1))


async def test_five_wrong_codes_lock_an_account_each_time_for_twice_as_long(market: Market, passing: Time) -> None:
    account = await market.an_account()
    [code] = await market.codes()
    hours = []
    for _ in range(6):
        hours.append(await locked_hours(market, passing, account))
        assert (await market.try_code(account, code, ip=IP)).verdict is Redeemed.LOCKED
        await passing.pass_by(hours=hours[-1], seconds=1)
    assert hours == [1, 2, 4, 8, 16, 24]
    await passing.pass_by(days=1)
    assert await locked_hours(market, passing, account) == 1
    await passing.pass_by(hours=1)
    assert (await market.try_code(account, code)).verdict is Redeemed.REDEEMED


async def test_an_ip_is_locked_whatever_account_it_guesses_for(market: Market, passing: Time) -> None:
    guessers = [await market.an_account() for _ in range(25)]
    [code] = await market.codes()
    customer = await market.an_account()
    # However often: it is never for longer.
    for _ in range(3):
        for account in guessers * 4:
            assert (await market.try_code(account, WRONG, ip="192.0.2.7")).verdict is Redeemed.UNKNOWN
        locked = await market.try_code(customer, code, ip="192.0.2.7")
        assert locked.verdict is Redeemed.LOCKED
        assert locked.locked_until is not None
        assert timedelta(minutes=14) < locked.locked_until - await passing.now() <= timedelta(minutes=15)
        await passing.pass_by(minutes=15, seconds=1)
        await market.owner.execute("delete from lockout where kind = 'redeem_account'")
    for account in guessers * 4:
        await market.try_code(account, WRONG, ip="192.0.2.7")
    assert (await market.try_code(customer, code, ip="192.0.2.8")).verdict is Redeemed.REDEEMED


async def test_a_client_of_ipv6_is_its_64_when_it_guesses(market: Market) -> None:
    accounts = [await market.an_account() for _ in range(2)]
    for number, account in enumerate(accounts):
        wish = RedeemWish(account_id=account.id, code=WRONG, ip=read_ip(f"2001:db8::{number}:7"))
        with pytest.raises(CodeNotAccepted):
            await redeem(wish, ReferralTerms(), market.desk.redemptions, actor=ACTOR)
    failures = await market.owner.fetch("select failures from lockout where kind = 'redeem_ip'")
    assert [row["failures"] for row in failures] == [2]


async def test_guesses_at_once_get_no_further_than_guesses_in_a_row(market: Market) -> None:
    account = await market.an_account()
    guesses = await asyncio.gather(*(market.try_code(account, WRONG, ip="192.0.2.7") for _ in range(AT_ONCE)))
    assert verdicts(list(guesses)) == {"unknown": 5, "locked": AT_ONCE - 5}
    wish = RedeemWish(account_id=account.id, code=WRONG, ip=CLIENT)
    with pytest.raises(RedeemingLocked, match="Try again after"):
        await redeem(wish, ReferralTerms(), market.desk.redemptions, actor=ACTOR)


async def test_wrong_codes_of_another_hour_do_not_count(market: Market, passing: Time) -> None:
    account = await market.an_account()
    for _ in range(3):
        for _ in range(4):
            assert (await market.try_code(account, WRONG, ip=IP)).verdict is Redeemed.UNKNOWN
        await passing.pass_by(hours=1, seconds=1)


async def test_at_an_operators_desk_nothing_is_counted(market: Market) -> None:
    account = await market.an_account()
    for _ in range(10):
        assert (await market.try_code(account, WRONG)).verdict is Redeemed.UNKNOWN
    assert await market.owner.fetchval("select count(*) from lockout") == 0
    # What is locked for a customer is not for whoever helps them.
    await asyncio.gather(*(market.try_code(account, WRONG, ip=IP) for _ in range(5)))
    [code] = await market.codes()
    assert (await market.try_code(account, code, ip=IP)).verdict is Redeemed.LOCKED
    assert (await market.try_code(account, code)).verdict is Redeemed.REDEEMED


async def test_a_wrong_gift_code_is_no_guess_of_a_code(market: Market) -> None:
    account, other = await market.an_account(), await market.an_account()
    await market.top_up(other, "1", giver=account)
    [code] = await market.codes()
    for gift_code in ("", account.gift_code, other.gift_code) * 3:
        assert (await market.try_code(account, code, gift_code=gift_code, ip=IP)).top_up is None
    assert await market.owner.fetchval("select count(*) from lockout") == 0
    assert (await market.try_code(account, code, ip=IP)).verdict is Redeemed.REDEEMED


async def test_who_is_not_there_or_disabled_redeems_nothing(market: Market) -> None:
    account = await market.an_account()
    [code] = await market.codes()
    await market.owner.execute("update account set disabled_at = now() where id = $1", account.id)
    assert (await market.try_code(account, code)).verdict is Redeemed.ACCOUNT_DISABLED
    assert (await market.try_code(Account(77, ""), code)).verdict is Redeemed.UNKNOWN_ACCOUNT


async def test_the_record_names_the_top_up_and_never_the_code(market: Market) -> None:
    giver, account = await market.an_account(), await market.an_account()
    [code] = await market.codes()
    await market.try_code(account, code, gift_code=giver.gift_code)
    acts = await market.owner.fetch("select action, subject, detail from audit order by id desc limit 3")
    assert [row["action"] for row in acts] == ["code.redeem", "codes.export", "codes.make"]
    assert acts[0]["subject"] == f"account:{account.id}"
    assert code_digest(code).hex() not in str(acts)


def test_what_is_minted_is_filed_under_what_is_typed() -> None:
    assert code_digest(mint_code(lambda text: text[-1])) == code_digest("zzzz" * 7)


def test_quota_of_cash_is_exact() -> None:
    assert quota_of_micros(MicroUsd(1_000_000)) == UNITS_PER_USD
