-- The codes of a batch, which are accepted from now on. Verdicts: filled, filled_before, revoked, unknown.
create or replace function fill_batch(p_batch bigint, p_digests bytea[], p_actor text, out verdict text)
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    batch redemption_batch;
begin
    select * into batch from redemption_batch where id = p_batch for update;
    verdict := case when batch.id is null then 'unknown'
                    when batch.revoked_at is not null then 'revoked'
                    when batch.exported_at is not null
                        or exists (select from redemption_code where batch_id = p_batch) then 'filled_before'
                    else 'filled' end;
    if verdict <> 'filled' then
        return;
    end if;
    if cardinality(p_digests) <> batch.codes then
        raise exception 'a batch of % codes is not filled with %', batch.codes, cardinality(p_digests)
            using errcode = 'invalid_parameter_value';
    end if;
    insert into redemption_code (batch_id, digest) select p_batch, d from unnest(p_digests) d;
    update redemption_batch set exported_at = ledger_now() where id = p_batch;
    perform append_audit(p_actor, 'codes.export', 'batch:' || p_batch, '{}');
end $$;
