create or replace function checkpoint_batch(
    p_worker bigint, p_request uuid[], p_input bigint[], p_output bigint[], p_seconds integer[])
returns setof uuid
language plpgsql security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
    -- Without the lock of accounts, so a hold that is being settled just now is passed over rather than waited for.
    update hold h
    set input_count = r.input, output_count = greatest(h.output_count, r.output),
        deadline_at = greatest(h.deadline_at, ledger_now() + make_interval(secs => r.seconds))
    from unnest(p_request, p_input, p_output, p_seconds) r (request_id, input, output, seconds)
    where h.request_id = r.request_id and h.request_id in (
        select f.request_id from hold f
        where f.request_id = any (p_request) and f.worker_id = p_worker and f.charged is null
        order by f.request_id for update skip locked);
    return query select r.id from unnest(p_request) r (id) where exists (
        select from hold h where h.request_id = r.id and h.worker_id = p_worker and h.charged is null);
end $$;
