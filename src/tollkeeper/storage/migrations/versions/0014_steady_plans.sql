-- A table of which the planner knows nothing yet (of a new deployment, of a new week) looks small to it, and the indexes
-- of what is still open look like the shortest way: through every open lot, and through every hold that was closed since
-- the last vacuum. Where a condition of such an index stood, another one stands now that says the same, by the tables'
-- own checks: what has something left is not closed, and what was not charged is open. So the one way left is that by
-- account (for each of them, one after the other), or by request.

create function say_anew(whose regproc, before text, after text) returns void
language plpgsql
as $$
declare
    words text := pg_get_functiondef(whose);
begin
    if length(replace(words, before, '')) <> length(words) - length(before) then
        raise exception '% does not say once: %', whose, before;
    end if;
    execute replace(words, before, after);
end $$;

select say_anew('hold_batch', $before$
        join lot l on l.account_id = t.id
        where l.remaining > 0 and l.expires_at > this_moment and l.closed_at is null
          and (l.key_id is null or l.key_id = any (keys))$before$, $after$
        cross join lateral (select * from lot where account_id = t.id and expires_at > this_moment offset 0) l
        where l.remaining > 0 and (l.key_id is null or l.key_id = any (keys))$after$);
select say_anew('settle_batch',
    'and h.account_id = r.account_id and h.closed_at is null',
    'and h.account_id = r.account_id and h.charged is null');
select say_anew('checkpoint_batch',
    'and f.worker_id = p_worker and f.closed_at is null',
    'and f.worker_id = p_worker and f.charged is null');
select say_anew('checkpoint_batch',
    'and h.worker_id = p_worker and h.closed_at is null',
    'and h.worker_id = p_worker and h.charged is null');

drop function say_anew(regproc, text, text);
