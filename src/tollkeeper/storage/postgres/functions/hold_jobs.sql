-- Take what is free of these jobs, keep what is one's own; of those, which are due.
create or replace function hold_jobs(p_names text[], p_every double precision[], p_holder text, p_seconds double precision)
returns table (name text, due boolean)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    insert into job (name, every_seconds) select * from unnest(p_names, p_every)
    on conflict on constraint job_pkey do update set every_seconds = excluded.every_seconds
        where job.every_seconds <> excluded.every_seconds;
    return query
        with free as (
            select j.name from job j
            where j.name = any (p_names) and (j.holder = p_holder or j.held_until < clock_timestamp())
            order by j.name for update skip locked)
        update job j set holder = p_holder, held_until = clock_timestamp() + make_interval(secs => p_seconds)
        from free where j.name = free.name
        returning j.name, j.due_at <= ledger_now();
end $$;
