-- What this month's cap leaves of a reward: calendar months in UTC. Revoked rewards count: nobody gets the room back.
create or replace function left_by_cap(p_account bigint, p_kinds text[], p_full bigint, p_cap bigint) returns bigint
language sql stable
as $$
    select greatest(0, least(p_full, p_cap - coalesce(sum(amount), 0)))::bigint from reward
    where account_id = p_account and kind = any (p_kinds) and granted_at >= date_trunc('month', ledger_now(), 'UTC')
$$;
