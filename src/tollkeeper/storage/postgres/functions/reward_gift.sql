create or replace function reward_gift(p_kind text, p_account bigint, p_top_up bigint, p_full bigint, p_cap bigint, p_months integer)
returns void
language plpgsql
as $$
declare
    given bigint := left_by_cap(p_account, '{gift_given,gift_received}', p_full, p_cap);
    into_lot bigint;
begin
    if given > 0 then
        select lot_id into into_lot
        from credit(p_account, null, given, 'gift', p_top_up || ':' || p_kind, p_months, 0);
    end if;
    insert into reward (kind, account_id, top_up_id, full_amount, amount, lot_id, granted_at, available_at)
    select p_kind, p_account, p_top_up, p_full, given, into_lot, ledger_now(), ledger_now() where p_full > 0;
end $$;
