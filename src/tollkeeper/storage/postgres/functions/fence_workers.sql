create or replace function fence_workers(silence interval) returns setof bigint
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    if silence is null or silence <= interval '0' then
        raise exception 'a worker that was heard just now is not silent' using errcode = 'invalid_parameter_value';
    end if;
    return query
        update worker set fenced_at = now()
        where ended_at is null and fenced_at is null and heartbeat_at < now() - silence
        returning id;
end $$;
