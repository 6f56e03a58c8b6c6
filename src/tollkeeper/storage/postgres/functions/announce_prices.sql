-- Mails of price changes, one piece: those who used the model in one hour of the 30 days before it was announced, or
-- `p_most` of those to be told that it was withdrawn. How many mails that makes; null where nothing is left to do.
create or replace function announce_prices(p_most integer) returns integer
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    due record;
    before price;
    next_edge timestamptz;
    words jsonb;
    told integer;
begin
    select a.looked_until, p.* into due
    from price_announcement a join price p on p.id = a.price_id
    where a.done_at is null order by a.price_id limit 1 for update of a skip locked;
    if not found then
        return null;
    end if;
    select * into before from price p
    where p.model_id = due.model_id and p.variant = due.variant and p.effective_from < due.effective_from
      and p.withdrawn_at is null
    order by p.effective_from desc limit 1;
    words := jsonb_build_object(
        'model', due.model_id || case when due.variant = '' then '' else ' (' || due.variant || ')' end,
        'from', to_char(due.effective_from, 'YYYY-MM-DD HH24:MI:SS'),
        'old_model', trim_scale(before.model_multiplier)::text, 'new_model', trim_scale(due.model_multiplier)::text,
        'old_completion', trim_scale(before.completion_multiplier)::text,
        'new_completion', trim_scale(due.completion_multiplier)::text,
        'old_cached', trim_scale(before.cached_multiplier)::text,
        'new_cached', trim_scale(due.cached_multiplier)::text,
        'old_parts', coalesce(before.parts::text, ''), 'new_parts', coalesce(due.parts::text, ''));
    if due.withdrawn_at is not null then
        with told_now as (
            insert into notice (account_id, kind, subject)
            select n.account_id, 'price_withdrawn', due.id from notice n join login l using (account_id)
            where n.subject = due.id and n.kind = 'price_change' and not exists (
                select from notice w where w.account_id = n.account_id and w.kind = 'price_withdrawn' and w.subject = due.id)
            order by n.account_id limit p_most
            on conflict do nothing returning account_id)
        insert into outbox (kind, email, figures)
        select 'price_withdrawn', l.email, words from told_now join login l using (account_id);
        get diagnostics told = row_count;
        update price_announcement set done_at = ledger_now() where price_id = due.id and told < p_most;
        return told;
    end if;
    next_edge := least(due.looked_until + interval '1 hour', due.announced_at + interval '1 s');
    with used as (
        select distinct u.account_id from usage u
        where u.request_id >= uuid_floor(due.looked_until) and u.request_id < uuid_floor(next_edge)
          and u.price_id in (select p.id from price p where p.model_id = due.model_id and p.variant = due.variant)),
    told_now as (
        insert into notice (account_id, kind, subject)
        select used.account_id, 'price_change', due.id
        from used join login l on l.account_id = used.account_id join account a on a.id = used.account_id
        left join notice_choice c on c.account_id = used.account_id
        where a.disabled_at is null and coalesce(c.price_change, true)
        on conflict do nothing returning account_id)
    insert into outbox (kind, email, figures)
    select 'price_change', l.email, words from told_now join login l using (account_id);
    get diagnostics told = row_count;
    update price_announcement
    set looked_until = next_edge, done_at = case when next_edge > due.announced_at then ledger_now() end
    where price_id = due.id;
    return told;
end $$;
