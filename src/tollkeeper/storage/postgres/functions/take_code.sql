-- Verdicts: redeemed, replayed (by this account, before), unknown, used, closed, unknown_gift_code, own_gift_code, loop.
-- Whatever the code is, it is looked for in the same way, and so is the gift code: time tells nothing of either.
create or replace function take_code(
    p_account bigint, p_digest bytea, p_gift_code text, p_cash_millionths integer, p_gift_millionths integer,
    p_pending_days integer, p_cash_cap bigint, p_gift_cap bigint, p_actor text,
    out verdict text, out top_up_id bigint)
language plpgsql
as $$
declare
    code redemption_code;
    batch redemption_batch;
    giver bigint;
    inviter bigint;
    into_lot bigint;
    loops text := 'no';
begin
    select * into code from redemption_code where digest = p_digest;
    select * into batch from redemption_batch where id = code.batch_id;
    select id into giver from account where gift_code = p_gift_code and disabled_at is null;
    verdict := code_verdict(p_account, code, batch, p_gift_code, giver);
    if verdict is not null then
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    if giver is not null then
        perform pg_advisory_xact_lock(hashtext('tollkeeper.partners'));
        loops := descends_from(giver, p_account);
        if loops = 'yes' then
            verdict := 'loop';
            return;
        end if;
    end if;
    select i.id into inviter from account a join account i on i.id = a.invited_by
    where a.id = p_account and i.disabled_at is null;
    -- Without gifts where nobody earns by the code, or where it took too long to find out whether that closes a loop.
    if not batch.rewards then
        inviter := null;
    end if;
    if not batch.rewards or loops = 'unknown' then
        giver := null;
    end if;
    perform from account_books where account_id in (p_account, giver, inviter) order by account_id for update;

    -- Somebody may have been faster, or the batch was revoked just now.
    select * into batch from redemption_batch where id = code.batch_id for share;
    select * into code from redemption_code where id = code.id for update;
    verdict := code_verdict(p_account, code, batch, null, null);
    if verdict is not null then
        top_up_id := case verdict when 'replayed' then code.top_up_id end;
        return;
    end if;

    select lot_id into into_lot from credit(p_account, null, batch.quota, 'redemption', code.id::text, batch.months, 0);
    insert into top_up (account_id, code_id, quota, usd_micros, lot_id, gift_code, giver_id, at)
    values (p_account, code.id, batch.quota, batch.usd_micros, into_lot,
            case when giver is not null then p_gift_code end, giver, ledger_now())
    returning id into top_up_id;
    update redemption_code c set redeemed_at = ledger_now(), redeemed_by = p_account, top_up_id = take_code.top_up_id
    where c.id = code.id;
    -- Rounded half up.
    if inviter is not null then
        perform reward_cash(inviter, top_up_id, round(batch.usd_micros::numeric * p_cash_millionths / 1000000)::bigint,
                            p_cash_cap, p_pending_days);
    end if;
    if giver is not null then
        perform reward_gift(side.kind, side.account_id, top_up_id,
                            round(batch.quota::numeric * p_gift_millionths / 1000000)::bigint, p_gift_cap, batch.months)
        from (values ('gift_given', giver), ('gift_received', p_account)) side (kind, account_id);
    end if;
    perform append_audit(p_actor, 'code.redeem', 'account:' || p_account, jsonb_build_object(
        'top_up', top_up_id, 'code', code.id, 'batch', batch.id, 'giver', giver, 'inviter', inviter)
        || case when loops = 'unknown' then '{"gift": "none: too many partners to rule out a loop"}' else '{}' end::jsonb);
    verdict := 'redeemed';
end $$;
