-- take_code, for accounts and IPs that have not guessed too often. Attempts of one account, or from one IP, wait for each
-- other. Only wrong codes are counted, for gift codes are no secret; and nothing where there is no IP, which is at an
-- operator's desk. Verdicts beside those of take_code: unknown_account, account_disabled, locked.
create or replace function redeem(
    p_account bigint, p_ip text, p_digest bytea, p_gift_code text, p_cash_millionths integer,
    p_gift_millionths integer, p_pending_days integer, p_cash_cap bigint, p_gift_cap bigint, p_actor text,
    out verdict text, out top_up_id bigint, out until timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    kinds text[] := '{}';
    subjects bytea[] := '{}';
begin
    select case when disabled_at is not null then 'account_disabled' end into verdict from account where id = p_account;
    if not found then
        verdict := 'unknown_account';
    end if;
    if verdict is not null then
        return;
    end if;
    if p_ip <> '' then
        kinds := '{redeem_account,redeem_ip}';
        subjects := array[sha256(convert_to(p_account::text, 'UTF8')), sha256(convert_to(p_ip, 'UTF8'))];
    end if;
    insert into lockout (kind, subject) select * from unnest(kinds, subjects) on conflict do nothing;
    perform from lockout where (kind, subject) in (select * from unnest(kinds, subjects)) order by kind, subject for update;
    select max(locked_until) into until from lockout
    where (kind, subject) in (select * from unnest(kinds, subjects)) and locked_until > ledger_now();
    if until is not null then
        verdict := 'locked';
        return;
    end if;

    select t.verdict, t.top_up_id into redeem.verdict, redeem.top_up_id
    from take_code(p_account, p_digest, p_gift_code, p_cash_millionths, p_gift_millionths, p_pending_days, p_cash_cap,
                   p_gift_cap, p_actor) t;
    if redeem.verdict in ('unknown', 'used', 'closed') then
        perform note_wrong_code(kind, subject) from unnest(kinds, subjects) wrong (kind, subject);
    else
        delete from lockout where (kind, subject) in (select * from unnest(kinds, subjects)) and failures = 0 and locks = 0;
    end if;
end $$;
