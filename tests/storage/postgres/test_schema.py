"""The schema: who may do what in it, and that migrations are whole or not at all."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import Stores
from tests.customers import Customers
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.postgres.schema import migrate
from tools.node import fresh_secrets, tollkeeper

MONEY_BY_HAND = [
    "update account_books set debt = 0",
    "update key_books set used = 0",
    "update lot set remaining = granted",
    "insert into lot (account_id, granted, remaining, source, source_id) values (1, 5, 5, 'x', 'x')",
    "delete from lot",
    "insert into account_books (account_id) values (99)",
]
HISTORY_BY_HAND = [
    "update audit set actor = 'someone else'",
    "delete from audit",
    "insert into audit values (1, now(), '', '', '', '{}', '')",
    "update price set model_multiplier = 0",
    "delete from price",
    "insert into price (model_id, model_multiplier) values ('m', 1)",
    "update price set withdrawn_at = null",
    "update notice set at = now()",
    "delete from notice",
    "insert into notice (account_id, kind, subject) values (1, 'price_change', 1)",
    "update price_announcement set done_at = now()",
    "update notice_cursor set up_to = now()",
    "delete from change",
    "update top_up set quota = 1",
    "delete from top_up",
    "insert into top_up (account_id, code_id, quota, usd_micros, lot_id, at) values (1, 1, 1, 1, 1, now())",
    "update reward set amount = 0",
    "delete from reward",
    "insert into cash_entry (account_id, kind, usd_micros, reward_id) values (1, 'granted', 1, 1)",
    "update cash_entry set usd_micros = 1",
    "delete from cash_entry",
    "update withdrawal set state = 'paid'",
    "update dispute set state = 'open'",
    "delete from dispute",
    "update factor_reset set outcome = 'done'",
    "delete from factor_reset",
    "select credit_dispute(gen_random_uuid(), 1, 1, 'x', 'me')",
    "insert into redemption_code (batch_id, digest) values (1, '')",
    "update redemption_code set redeemed_at = null",
    "select digest from redemption_code",
    "update redemption_batch set quota = 1",
    "delete from faucet_grant",
    "delete from top_up_revocation",
    "update account set invited_by = 2",
    "update account set gift_code = '22222'",
    "select take_code(1, '', null, 1, 1, 1, 1, 1, '')",
    "select reward_cash(1, 1, 1, 1, 1)",
    "select take_lot_back(1, true)",
    "delete from usage",
    "update usage set charged = 0",
    "delete from usage_day",
    "update usage_horizon set id = gen_random_uuid()",
    "insert into usage_recounted values (now(), now())",
    "insert into usage_dropped values (now(), 'mine')",
]
OFF_THE_RECORD = [
    "select credit(1, null, 5, 'x', 'x', 1, 0)",
    "select extend_lot(1, now() + interval '9 years')",
    "select revoke_lot(1)",
    "select append_audit('somebody else', 'account.create', 'account:1', '{}')",
    "select pay_debt(1)",
    "select draw_lots(1, 1, 1)",
    (
        "insert into operator_key (name, digest, hint, scopes, expires_at, created_by)"
        " values ('mine', sha256('mine'), 'op-', '{everything}', now(), 'me')"
    ),
    "update operator_key set revoked_at = null",
    "update operator_key set account_id = 1, scopes = '{everything}', expires_at = now() + interval '1 day'",
    "delete from operator_key",
    "update login set role = 'operator'",
]
GATEWAY_OVERREACH = [
    "update api_key set revoked_at = null",
    "insert into account (name) values ('mine')",
    "select * from audit",
    "select credit_on_record(1, null, 5, 'x', 'x', 1, 0, 'me')",
    "select extend_lot_on_record(1, now(), '', 'me')",
    "select revoke_lot_on_record(1, '', 'me')",
    "select put_on_record('me', 'x', 'x', '{}')",
    "update provider_account set base_url = 'https://evil.example'",
    "update provider_account set state = 'active'",
    "select lift_suspension(1, 'me')",
    "update ban set lifted_at = now(), lifted_by = 'me', lift_reason = 'mine'",
    "delete from ban",
    "insert into ban (ip, until, why, counted) values ('192.0.2.7', now() + interval '1 h', 'operator', '{}')",
    "update restriction set lifted_at = now(), lifted_by = 'me', lift_reason = 'mine'",
    "select restrict_account(1, 60, 601, 3600, '192.0.2.7')",
    "update account set restricted_until = null",
    "update account_group set standard_rate = null",
    "insert into account_group (name) values ('mine')",
    "delete from peak_minute",
    "select password from login",
    "select digest from session",
    "select * from passkey",
    "select * from redemption_batch",
    "select * from top_up",
    "select * from reward",
    "select * from cash_entry",
    "select * from withdrawal",
    "select * from faucet_grant",
    "select redeem(1, '', '', null, 1, 1, 1, 1, 1, '')",
    "select make_codes('{}', 1, 1, 1, '', true, '')",
    "select open_batch(1, 1, 1, 1, '', true, null, '', '', '')",
    "select fill_batch(1, '{}', '')",
    "select * from refused_call",
    "select * from dispute",
    "select * from factor_reset",
    "select decide_dispute(gen_random_uuid(), 'credited', 1, 1, 'x', 'me')",
    "select decide_reset(1, 'done', 'x', 'me')",
    "select withdraw(1, 1, '', '')",
    "select revoke_top_up(1, false, '', '')",
    "select make_operator_key('mine', '', '', '{everything}', null, null, now(), 'me')",
    "select revoke_operator_key('theirs', '', 'me')",
    "select set_login_role(1, 'operator', 'me')",
    "select grant_faucet(1, '', '', '', 1::smallint, '', '', 1, 1, 1, 1, 1, '')",
    "select enter_price('m', '', 1, 1, 1, null, interval '0', null, '')",
    "select withdraw_price(1, 'mine', 'me')",
    "select announce_prices(1)",
    "select open_chat_key(1, 1, '', 1::smallint, '', '', 1, '')",
    "insert into pepper_retired (version) values (1)",
]
CONSOLE_OVERREACH = [
    "update api_key set for_chat = false",
    "update api_key set session_id = null",
    "insert into api_key (account_id, name, pepper_version, digest, hint, for_chat) values (1, '', 1, '', '', true)",
    "update api_key set account_id = 2",
    "update api_key set digest = ''",
    "select redigest_keys(2::smallint, '{1}', '{}', '{}')",
    "delete from pepper_retired",
    "update provider_account set name = 'moved'",
    "update provider_account set suspended_at = null",
    "delete from account",
    "update account set created_at = now()",
    "insert into account (name, invited_by) values ('mine', 1)",
    "insert into api_key (account_id, name, pepper_version, digest, hint, created_at) values (1, '', 1, '', '', now())",
    "update ban set until = now()",
    "update restriction set peak_seconds = 1",
    "delete from restriction",
    "update account_group set name = 'moved'",
    "update login set account_id = 2",
    "update login set email = 'another@example.com'",
    "delete from login",
    "update login set person = ''",
    "update email_change set email = 'another@example.com'",
    "delete from email_change",
    "select forget_closed_accounts(now(), 1)",
    "update session set expires_at = now()",
    "insert into mail_token (digest, purpose) values ('', 'verify')",
    "update passkey set account_id = 2",
    "update passkey set public_key = ''",
    "select drop_usage_day('2026-01-01', 0, 'mine')",
    "select add_up_usage(1)",
    "select recount_usage_day('2026-01-01', 0, 1)",
]
WORKER_OVERREACH = [
    "update ban set lifted_at = now(), lifted_by = 'me', lift_reason = 'mine'",
    "delete from ban",
    "update restriction set lifted_at = now(), lifted_by = 'me', lift_reason = 'mine'",
    "delete from restriction",
    "update account set restricted_until = null",
    "update account_group set standard_rate = null",
    "update peak_minute set milliseconds = 1",
    "select password from login",
    "select totp_sealed from login",
    "select digest from session",
    "select gift_code from sign_up",
    "select * from passkey",
    "insert into session (digest, account_id, expires_at, ip, agent) values ('', 1, now(), '', '')",
    "delete from login",
    "select enter_price('m', '', 1, 1, 1, null, interval '0', null, '')",
    "insert into outbox (kind, email) values ('reset', 'anybody@example.com')",
    "select credit_on_record(1, null, 5, 'x', 'x', 1, 0, 'me')",
    "select extend_lot_on_record(1, now(), '', 'me')",
    "select revoke_lot_on_record(1, '', 'me')",
    "select put_on_record('me', 'x', 'x', '{}')",
    "select email from email_change",
    "update account set closed_at = now()",
    "select change_email('', '')",
    "select make_operator_key('mine', '', '', '{everything}', null, null, now(), 'me')",
    "select revoke_operator_key('theirs', '', 'me')",
    "select set_login_role(1, 'operator', 'me')",
]


@pytest.fixture(scope="module")
async def unchanged(stores: Stores) -> AsyncIterator[asyncpg.Connection]:
    """One database for all questions that change nothing, as its owner sees it."""
    connection = await asyncpg.connect(await stores.fresh(), server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()


async def refused(connection: asyncpg.Connection, part: DatabaseRole, sql: str) -> bool:
    """Whether this part may not do it. It is undone in any case."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(f"set local role {part.value}")
        await connection.execute(sql)
    except asyncpg.InsufficientPrivilegeError:
        return True
    finally:
        await transaction.rollback()
    return False


@pytest.mark.parametrize("part", DatabaseRole)
@pytest.mark.parametrize("sql", MONEY_BY_HAND + HISTORY_BY_HAND + OFF_THE_RECORD)
async def test_no_part_can_write_money_or_history_by_hand(
    unchanged: asyncpg.Connection, part: DatabaseRole, sql: str
) -> None:
    assert await refused(unchanged, part, sql)


@pytest.mark.parametrize("sql", GATEWAY_OVERREACH)
async def test_the_gateway_cannot_do_the_consoles_work(unchanged: asyncpg.Connection, sql: str) -> None:
    assert await refused(unchanged, DatabaseRole.GATEWAY, sql)


@pytest.mark.parametrize("sql", CONSOLE_OVERREACH)
async def test_the_console_cannot_change_what_never_changes(unchanged: asyncpg.Connection, sql: str) -> None:
    assert await refused(unchanged, DatabaseRole.CONSOLE, sql)


@pytest.mark.parametrize("sql", WORKER_OVERREACH)
async def test_the_worker_cannot_lift_what_support_lifts(unchanged: asyncpg.Connection, sql: str) -> None:
    assert await refused(unchanged, DatabaseRole.WORKER, sql)


async def test_nothing_of_a_key_is_stored_but_its_digest(customers: Customers, owner: asyncpg.Connection) -> None:
    customer = await customers.a_customer()
    row = await owner.fetchrow("select * from api_key where id = $1", customer.key_id)
    assert len(row["digest"]) == 32
    assert customer.key not in str(dict(row))
    assert customer.key[4:-4] not in str(dict(row))


async def test_many_migrators_at_once_leave_one_schema(stores: Stores) -> None:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    migrators = fresh_secrets() | {"TOLLKEEPER_DATABASE_URL": url, "TOLLKEEPER_REDIS_URL": stores.redis_url}
    done = await asyncio.gather(*(asyncio.to_thread(tollkeeper, migrators, "migrate") for _ in range(3)))
    assert [run.returncode for run in done] == [0, 0, 0]
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("select count(*) from tollkeeper.alembic_version") == 1
    await connection.close()


async def test_a_migration_that_fails_leaves_nothing_behind(stores: Stores) -> None:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    connection = await asyncpg.connect(url)
    try:
        # The last table of the first migration is in the way already.
        await connection.execute(
            "create schema tollkeeper authorization tollkeeper_migrations; create table tollkeeper.audit (id int)"
        )
        with pytest.raises(Exception, match="audit"):
            await asyncio.to_thread(migrate, url)
        tables = await connection.fetch("select tablename from pg_tables where schemaname = 'tollkeeper'")
    finally:
        await connection.close()
    assert [row["tablename"] for row in tables] == ["audit"]


async def test_each_migration_is_whole_or_not_at_all_and_waits_for_no_lock_for_long(stores: Stores) -> None:
    name = f"test_{uuid4().hex}"
    await stores.admin(f'create database "{name}"')
    url = stores.url_of(name)
    connection = await asyncpg.connect(url)
    try:
        # A table of the tenth migration is in the way already.
        await connection.execute(
            "create schema tollkeeper authorization tollkeeper_migrations;"
            " create table tollkeeper.top_up (id int); set search_path = tollkeeper"
        )
        with pytest.raises(Exception, match="top_up"):
            await asyncio.to_thread(migrate, url)
        assert await connection.fetchval("select version_num from alembic_version") == "0009"
        await connection.execute(
            "drop table top_up; insert into account (name) select 'a' from generate_series(1, 900)"
        )
        async with connection.transaction():
            # A call that reads, and goes on reading.
            await connection.execute("select from account")
            with pytest.raises(Exception, match="lock timeout"):
                await asyncio.to_thread(migrate, url)
        assert await connection.fetchval("select version_num from alembic_version") == "0009"
        await asyncio.to_thread(migrate, url)
        assert await connection.fetchval("select count(distinct gift_code) from account") == 900
        news = "select count(*) from change where kind = 'account'"
        assert await connection.fetchval(news) == 0
        await connection.execute("update account set name = 'b' where id = 1")
        assert await connection.fetchval(news) == 1
    finally:
        await connection.close()


ALLOWED = """
console DELETE account_group
console DELETE lockout
console DELETE passkey
console DELETE provider_account
console DELETE recovery_code
console DELETE webhook
console INSERT account_group
console INSERT lockout
console INSERT announcement
console INSERT email_change
console INSERT former_provider_account
console INSERT model
console INSERT notice_choice
console INSERT operator_request
console INSERT outbox
console INSERT pepper_retired
console INSERT provider_account
console INSERT read_as
console INSERT recovery_code
console INSERT sent_form
console INSERT session
console INSERT sign_up
console UPDATE brand
console UPDATE notice_choice
console UPDATE operator_request
gateway DELETE pool_report
gateway INSERT node
gateway INSERT pool_report
gateway UPDATE node
gateway UPDATE pool_report
worker DELETE email_change
worker DELETE lockout
worker DELETE mail_token
worker DELETE operator_request
worker DELETE outbox
worker DELETE peak_minute
worker DELETE refused_call
worker DELETE idempotency
worker DELETE sent_form
worker DELETE session
worker DELETE sign_up
worker DELETE webhook_event
worker INSERT books_mark
worker INSERT books_seal
worker INSERT mail_token
worker INSERT node
worker UPDATE books_mark
worker UPDATE node
"""
ALLOWED_COLUMNS = """
console INSERT account.group_name
console INSERT account.name
console INSERT api_key.account_id
console INSERT api_key.daily_budget
console INSERT api_key.digest
console INSERT api_key.expires_at
console INSERT api_key.hint
console INSERT api_key.monthly_budget
console INSERT api_key.name
console INSERT api_key.only_models
console INSERT api_key.only_networks
console INSERT api_key.pepper_version
console INSERT api_key.quota
console INSERT login.account_id
console INSERT login.email
console INSERT login.password
console INSERT login.person
console INSERT login.verified_at
console UPDATE account.closed_at
console INSERT passkey.account_id
console INSERT passkey.credential_id
console INSERT passkey.name
console INSERT passkey.public_key
console INSERT passkey.sign_count
console INSERT passkey.transports
console INSERT passkey.user_handle
console UPDATE account.disabled_at
console UPDATE account.group_name
console UPDATE account.name
console UPDATE account.restricted_until
console UPDATE account_group.concurrency
console UPDATE account_group.key_rate
console UPDATE account_group.kind_rates
console UPDATE account_group.model_rates
console UPDATE account_group.multiplier
console UPDATE account_group.peak_percent
console UPDATE account_group.standard_rate
console UPDATE account_group.tokens_per_minute
console UPDATE announcement.removed_at
console UPDATE api_key.daily_budget
console UPDATE api_key.expires_at
console UPDATE api_key.monthly_budget
console UPDATE api_key.name
console UPDATE api_key.only_models
console UPDATE api_key.only_networks
console UPDATE api_key.paused_at
console UPDATE api_key.quota
console UPDATE api_key.revoked_at
console UPDATE ban.lift_reason
console UPDATE ban.lifted_at
console UPDATE ban.lifted_by
console UPDATE email_change.closed_at
console UPDATE lockout.failures
console UPDATE lockout.locked_until
console UPDATE lockout.locks
console UPDATE lockout.window_start
console UPDATE login.password
console UPDATE login.password_changed_at
console UPDATE login.totp_confirmed_at
console UPDATE login.totp_last_step
console UPDATE login.totp_sealed
console UPDATE mail_token.used_at
console UPDATE model.context_tokens
console UPDATE model.media
console UPDATE operator_key.last_used_at
console UPDATE model.hidden_reasoning
console UPDATE model.hold_output_tokens
console UPDATE model.hold_part_tokens
console UPDATE model.max_output_tokens
console UPDATE model.only_groups
console UPDATE model.retired_at
console UPDATE passkey.last_used_at
console UPDATE passkey.sign_count
console UPDATE provider_account.family
console UPDATE provider_account.api_version
console UPDATE provider_account.base_url
console UPDATE provider_account.concurrency
console UPDATE provider_account.cost_multiplier
console UPDATE provider_account.key_envelope
console UPDATE provider_account.models
console UPDATE provider_account.passes
console UPDATE provider_account.rejects
console UPDATE provider_account.requests_per_minute
console UPDATE provider_account.state
console UPDATE provider_account.tier
console UPDATE provider_account.tokens_per_minute
console UPDATE provider_account.weight
console UPDATE read_as.ended_at
console UPDATE recovery_code.used_at
console UPDATE restriction.lift_reason
console UPDATE restriction.lifted_at
console UPDATE restriction.lifted_by
console UPDATE session.digest
console UPDATE session.last_seen_at
console UPDATE session.revoked_at
console UPDATE session.second_factor_at
console UPDATE sign_up.account_id
console INSERT webhook.url
console INSERT webhook.note
console INSERT webhook.kinds
console INSERT webhook.secret_sealed
console INSERT webhook.created_by
console UPDATE webhook.url
console UPDATE webhook.note
console UPDATE webhook.kinds
console UPDATE webhook.secret_sealed
console UPDATE webhook.former_sealed
console UPDATE webhook.former_until
console UPDATE webhook.failing_since
console UPDATE webhook.disabled_at
console UPDATE webhook.disabled_because
console UPDATE webhook_delivery.attempts
console UPDATE webhook_delivery.next_try_at
console UPDATE webhook_delivery.delivered_at
console UPDATE webhook_delivery.given_up_at
gateway INSERT worker.node
gateway INSERT worker.serves
gateway UPDATE worker.ended_at
gateway UPDATE worker.heartbeat_at
worker INSERT worker.node
worker INSERT worker.serves
worker UPDATE books_seal.key_version
worker UPDATE books_seal.mac
worker UPDATE outbox.attempts
worker UPDATE outbox.given_up_at
worker UPDATE outbox.next_try_at
worker UPDATE outbox.sent_at
worker UPDATE webhook_delivery.attempts
worker UPDATE webhook_delivery.next_try_at
worker UPDATE webhook_delivery.given_up_at
worker UPDATE worker.ended_at
worker UPDATE worker.heartbeat_at
"""
ALLOWED_FUNCTIONS = """
console accept_invitation
console ban_ip
console cash_standing
console change_email
console audit_hash
console first_byte_counts
console provider_attempts
console credit_on_record
console decide_withdrawal
console open_dispute
console decide_dispute
console ask_reset
console decide_reset
console enter_price
console export_codes
console extend_lot_on_record
console fill_batch
console grant_faucet
console ledger_now
console lift_suspension
console make_operator_key
console revoke_operator_key
console set_login_role
console make_codes
console remove_model
console open_batch
console open_chat_key
console may_be_same_person
console people_behind
console person_of
console priced
console put_on_record
console redeem
console restrict_by_staff
console revoke_codes
console revoke_lot_on_record
console revoke_reward
console revoke_top_up
console rotate_key
console send_test_event
console uuid_floor
console withdraw
console withdraw_price
gateway redigest_keys
gateway ban_ip
gateway checkpoint_batch
gateway hold_batch
gateway hold_once_batch
gateway hold_one
gateway ledger_now
gateway note_cut
gateway note_peak
gateway note_refused_calls
gateway settle_batch
gateway suspend_provider_account
gateway trim_changes
worker announce_prices
worker add_up_prices
worker add_up_providers
worker audit_hash
worker ban_ip
worker checkpoint_batch
worker close_lots
worker drop_old_holds
worker drop_usage_day
worker add_up_usage
worker recount_usage_day
worker usage_day_is_closed
worker usage_days
worker usage_days_to_recount
worker fence_workers
worker forget_closed_accounts
worker hold_jobs
worker begin_job
worker end_job
worker end_run
worker release_jobs
worker hold_batch
worker hold_once_batch
worker hold_one
worker ledger_now
worker lift_suspension
worker make_partition
worker missing_partitions
worker note_books_sealed
worker note_cut
worker reopen_books
worker notice_day_spend
worker notice_expiring
worker notice_low_balances
worker notice_key_budgets
worker note_outages
worker note_delivery
worker restrict_account
worker settle_batch
worker suspend_provider_account
worker trim_changes
"""


def lines(text: str) -> set[str]:
    return set(text.split("\n")) - {""}


async def test_the_parts_have_these_rights_and_no_others(unchanged: asyncpg.Connection) -> None:
    tables = await unchanged.fetch(
        "select replace(grantee, 'tollkeeper_', '') || ' ' || privilege_type || ' ' || table_name as told"
        " from information_schema.table_privileges where table_schema = 'tollkeeper'"
        " and grantee <> 'tollkeeper_migrations' and privilege_type <> 'SELECT'"
    )
    columns = await unchanged.fetch(
        "select replace(grantee, 'tollkeeper_', '') || ' ' || privilege_type || ' ' || table_name || '.' || column_name"
        " as told from information_schema.column_privileges c where table_schema = 'tollkeeper'"
        " and grantee <> 'tollkeeper_migrations' and privilege_type <> 'SELECT' and not exists"
        " (select from information_schema.table_privileges t where t.grantee = c.grantee and"
        " t.table_name = c.table_name and t.privilege_type = c.privilege_type and t.table_schema = c.table_schema)"
    )
    functions = await unchanged.fetch(
        "select replace(grantee, 'tollkeeper_', '') || ' ' || routine_name as told"
        " from information_schema.routine_privileges where routine_schema = 'tollkeeper'"
        " and grantee <> 'tollkeeper_migrations'"
    )
    assert {row["told"] for row in tables} == lines(ALLOWED)
    assert {row["told"] for row in columns} == lines(ALLOWED_COLUMNS)
    assert {row["told"] for row in functions} == lines(ALLOWED_FUNCTIONS)


async def test_everything_belongs_to_the_role_that_migrates(unchanged: asyncpg.Connection) -> None:
    owners = await unchanged.fetch(
        "select distinct pg_get_userbyid(relowner) as name from pg_class c join pg_namespace n on n.oid = relnamespace"
        " where nspname = 'tollkeeper' union select distinct pg_get_userbyid(proowner) from pg_proc p"
        " join pg_namespace n on n.oid = pronamespace where nspname = 'tollkeeper'"
    )
    assert [row["name"] for row in owners] == ["tollkeeper_migrations"]
