"""What staff have to look through among a crowd: provider accounts with their hours, failures and breakers, an audit
trail, codes, top-ups, rewards, withdrawals, bans, restrictions, disputes, resets, webhooks. Written by statements, as
the crowd's calls are."""

import secrets

import asyncpg
import msgspec

from proofs.rig.console.crowd import A_MODEL, MODELS, Measured
from proofs.rig.database import connect
from proofs.rig.proof import say
from tollkeeper.core.people.logins import mint_token, token_digest
from tollkeeper.core.webhooks import WEBHOOKS_MOST, WebhookKind

PROVIDERS = 200
# As long as pages look back; where nobody judges how long they take, a few days are enough.
HOURS, HOURS_OF_FEW = 90 * 24, 72
MANY_CUSTOMERS = 10_000
CODES_OF_A_BATCH = 100
GROUPS = 20
BUSY_SECONDS = 600
# In the order in which they need each other. $1: customers.
STATEMENTS = """
insert into account_group (name, multiplier) select 'group-' || n, 1 from generate_series(1, {groups}) n
;
update account set group_name = 'group-' || 1 + id % {groups} where id % 10 = 0
;
insert into provider_account (name, vendor, base_url, key_envelope, weight, family)
select 'provider-' || n, 'openai', 'https://api.openai.com/v1', '', 100, 'openai' from generate_series(1, {providers}) n
;
insert into provider_hour (hour, account, model_id, attempts, failed, delivered, input_units, output_units, charged,
                           cost, first_byte)
select date_trunc('hour', now(), 'UTC') - make_interval(hours => h), 'provider-' || n, 'm' || 1 + (n + m) % {models},
       100, 3, 97, 10000, 5000, 30000000, 20000000, array_fill(4::bigint, array[24])
from generate_series(1, {hours}) h, generate_series(1, {providers}) n, generate_series(0, 1) m
;
insert into service_hour (hour, attempts, failed, delivered, input_units, output_units, charged, cost, first_byte)
select hour, sum(attempts), sum(failed), sum(delivered), sum(input_units), sum(output_units), sum(charged), sum(cost),
       array_fill(4 * count(*), array[24])
from provider_hour group by hour
;
insert into provider_day (day, account, model_id, attempts, failed, delivered, input_units, output_units, charged, cost,
                          first_byte)
select (hour at time zone 'UTC')::date, account, model_id, sum(attempts), sum(failed), sum(delivered), sum(input_units),
       sum(output_units), sum(charged), sum(cost), array_fill(4 * count(*), array[24])
from provider_hour group by 1, account, model_id
;
insert into failure_hour (account, hour, failure, times, for_callers, unanswered)
select case when n = 0 then '' else 'provider-' || n end,
       date_trunc('hour', now(), 'UTC') - make_interval(hours => h), failure,
       times * case when n = 0 then {providers} else 1 end, times, times
from generate_series(1, {hours}) h, generate_series(0, {providers}) n,
     (values ('server', 4), ('busy', 2)) f (failure, times)
;
insert into pool_report (node, process, at, told)
-- As long as the proof lasts, nobody writes it anew.
select 'a-node', process, now() + interval '1 day', jsonb_build_object(
    'breakers', (select jsonb_agg(jsonb_build_object(
        'account', 'provider-' || n, 'model', case when n % 20 = 0 then 'm1' end, 'state', 'open', 'seconds', 30,
        'trouble', 'server')) from generate_series(10, {providers}, 10) n),
    'rooms', (select jsonb_agg(jsonb_build_object(
        'account', 'provider-' || n, 'calls', 2, 'requests', 40, 'tokens', 9000))
        from generate_series(1, {providers}) n),
    'own_bounds_ms', jsonb_build_array(1, 10, 100), 'own_counts', jsonb_build_array(10, 20, 3, 1))
from generate_series(1, 2) process
;
update provider_horizon set id = uuid_floor(ledger_now() - interval '{busy} s')
;
update usage set attempts = jsonb_build_array(jsonb_build_object(
    'account', 'provider-' || 1 + account_id % {providers}, 'outcome', 'completed', 'status', 200,
    'first_byte_ms', 300, 'cost', 200000))
where request_id >= uuid_floor(ledger_now() - interval '{busy} s')
;
insert into redemption_batch (made_by, codes, quota, usd_micros, months, note, rewards, exported_at)
select 'operator:anna', {of_a_batch}, 5000000000000, 10000000, 9, 'batch ' || n, true, ledger_now()
from generate_series(1, $1::int / {of_a_batch}) n
;
insert into redemption_code (batch_id, digest) select b.id, sha256((b.id || '-' || n)::bytea)
from redemption_batch b, generate_series(1, {of_a_batch}) n
;
insert into top_up (account_id, code_id, quota, usd_micros, lot_id, at)
select n, n, 5000000000000, 10000000, n, ledger_now() - make_interval(secs => n) from generate_series(1, $1::int / 2) n
;
update redemption_code c set redeemed_at = t.at, redeemed_by = t.account_id, top_up_id = t.id
from top_up t where t.code_id = c.id
;
insert into reward (kind, account_id, top_up_id, full_amount, amount, granted_at, available_at)
select 'referral_cash', 1 + id % 1000, id, 500000, 500000, at, at from top_up
;
insert into withdrawal (account_id, usd_micros, payee)
select n, 100000, 'a bank' from generate_series(1, $1::int / 100) n
;
insert into ban (ip, began_at, until, why, counted)
select '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256, ledger_now() - make_interval(secs => n),
       ledger_now() + interval '1 day', 'invalid_calls', '{{"calls": 301}}' from generate_series(1, $1::int / 20) n
;
insert into restriction (account_id, began_at, until, peak_seconds, within_seconds, ip)
select n, ledger_now() - make_interval(secs => n), ledger_now() + interval '1 day', 601, 3600, '192.0.2.7'
from generate_series(1, $1::int / 20) n
;
insert into announcement (english, chinese, starts_at, ends_at)
select 'News ' || n, '新闻', ledger_now(), ledger_now() + interval '1 year' from generate_series(1, 100) n
;
do $do$ begin
    for n in 1..{acts} loop
        perform append_audit('operator:anna', (array['account.disable', 'key.revoke', 'account.enable'])[1 + n % 3],
                             'account:' || 1 + n % 1000, jsonb_build_object('reason', 'a proof', 'n', n));
        -- Else the last row would be looked for as in the empty table that it was: through all of them.
        if n = 1000 then analyze audit; end if;
    end loop;
end $do$
;
insert into dispute (request_id, account_id, kind, note, charged)
select request_id, account_id, 'too_much', 'It was less.', charged from usage order by request_id desc
limit 1 + $1::int / 10
;
insert into factor_reset (account_id, what, reason, asked_by)
select n, 'second_factor', 'a lost phone', 'operator:anna' from generate_series(1, $1::int / 10) n
;
insert into webhook (url, kinds, secret_sealed, created_by, disabled_at, disabled_because)
select 'https://hooks.example/' || n, array['{kind}'], '', 'operator:anna', ledger_now(), 'a proof'
from generate_series(1, {webhooks}) n
;
with told as (
    insert into webhook_event (kind, data) select '{kind}', jsonb_build_object('account', n)
    from generate_series(1, $1::int / 10) n returning id, at)
insert into webhook_delivery (webhook_id, event_id, attempts, last_try_at, last_status, delivered_at)
select w.id, told.id, 1, told.at, 200, told.at from webhook w, told where w.id >= (select max(id) - 1 from webhook)
"""
OPERATOR = """
update login set role = 'operator', totp_sealed = 'none', totp_confirmed_at = ledger_now() - interval '90 days'
where account_id = $1
"""
SESSION = """
insert into session (digest, account_id, expires_at, ip, agent, second_factor_at)
values ($1, $2, now() + interval '1 day', '', '', ledger_now())
"""
NEWEST = """
select (select max(id) from announcement) as announcement, (select max(id) from price) as price,
       (select max(id) from redemption_batch) as batch, (select max(id) from top_up) as top_up,
       (select max(id) from withdrawal) as withdrawal, (select max(id) from reward) as reward,
       (select max(id) from ban) as ban, (select request_id from dispute order by id desc limit 1) as dispute,
       (select max(id) from factor_reset) as reset, (select max(id) from webhook) as webhook,
       (select max(id) from webhook_delivery) as delivery
"""
ACTS_MOST = 100_000


class Employed(msgspec.Struct, frozen=True):
    """Somebody of staff who looks at the crowd."""

    session: str
    # By what paths call them, as `furnished` has it.
    ids: dict[str, str]


async def employ(url: str, customers: int, looked_at: Measured) -> Employed:
    """Fill what staff see, around a customer who is looked at much."""
    connection = await connect(url)
    try:
        await _fill(connection, customers)
        await connection.execute("vacuum analyze")
        token = mint_token(secrets.choice)
        await connection.execute(OPERATOR, customers)
        await connection.execute(SESSION, token_digest(token), customers)
        return Employed(token, await _ids(connection, looked_at))
    finally:
        await connection.close()


async def _fill(connection: asyncpg.Connection, customers: int) -> None:
    figures = {
        "providers": PROVIDERS,
        "models": MODELS,
        "hours": HOURS if customers >= MANY_CUSTOMERS else HOURS_OF_FEW,
        "groups": GROUPS,
        "busy": BUSY_SECONDS,
        "of_a_batch": CODES_OF_A_BATCH,
        "acts": min(customers, ACTS_MOST),
        "webhooks": WEBHOOKS_MOST,
        "kind": WebhookKind.BALANCE_LOW.value,
    }
    for statement in STATEMENTS.format(**figures).split("\n;\n"):
        await connection.execute(statement, *([customers] if "$1" in statement else []))
    hours = await connection.fetchval("select count(*) from provider_hour")
    say(f"{PROVIDERS} provider accounts with {hours:,} hours, {min(customers, ACTS_MOST):,} acts of staff")


async def _ids(connection: asyncpg.Connection, looked_at: Measured) -> dict[str, str]:
    [newest] = await connection.fetch(NEWEST)
    return {name: str(number) for name, number in newest.items()} | {
        "account": str(looked_at.account_id),
        "key": str(looked_at.account_id),
        "lot": str(looked_at.account_id),
        "request": looked_at.request_id,
        "month": str(await connection.fetchval("select to_char(now(), 'YYYY-MM')")),
        "group": "group-1",
        "provider": "provider-1",
        "model": A_MODEL,
        "operator_key": "key-of-read",
    }
