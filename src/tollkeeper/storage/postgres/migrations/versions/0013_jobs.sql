-- The book of jobs: who does each, when it was done last, and what came of it.
--
-- Rules of this schema
-- 1. A job is one worker's until it lets go or is silent for a while; then another takes it. Whoever was only slow may
--    still be at it: jobs are safe to be done twice, and at once.
-- 2. A job is due again only when it has ended. Whoever dies at it leaves it due; one that failed is soon due again.
-- 3. When a job is due goes by ledger_now(), as what it works on does; whether a worker is silent, by the real time.

create table job (
    name          text primary key check (name ~ '^[a-z_]{1,40}$'),
    every_seconds double precision not null check (every_seconds > 0),
    holder        text check (char_length(holder) between 1 and 200),
    held_until    timestamptz not null default '-infinity',
    due_at        timestamptz not null default ledger_now(),
    -- The last time, or this one.
    began_at      timestamptz,
    ended_at      timestamptz,
    seconds       double precision check (seconds >= 0),
    went_well     boolean,
    outcome       text check (char_length(outcome) <= 500),
    runs          bigint not null default 0,
    failures      bigint not null default 0
);

-- Take what is free of these jobs, keep what is one's own; of those, which are due.
create function hold_jobs(p_names text[], p_every double precision[], p_holder text, p_seconds double precision)
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

create function begin_job(p_name text, p_holder text) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set began_at = ledger_now(), ended_at = null where name = p_name and holder = p_holder
$$;

create function end_job(p_name text, p_holder text, p_seconds double precision, p_well boolean, p_outcome text)
returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set ended_at = ledger_now(), seconds = p_seconds, went_well = p_well, outcome = left(p_outcome, 500),
        runs = runs + 1, failures = failures + (not p_well)::integer,
        due_at = case when p_well then coalesce(began_at, ledger_now()) + make_interval(secs => every_seconds)
                      else ledger_now() + least(make_interval(secs => every_seconds), interval '5 minutes') end
    where name = p_name and holder = p_holder
$$;

create function release_jobs(p_holder text) returns void
language sql security definer set search_path = tollkeeper, pg_temp
as $$
    update job set held_until = '-infinity' where holder = p_holder
$$;

grant select on job to tollkeeper_console, tollkeeper_worker;
grant execute on function hold_jobs(text[], double precision[], text, double precision), begin_job(text, text),
    end_job(text, text, double precision, boolean, text), release_jobs(text) to tollkeeper_worker;
