-- Keys of calls that must not be paid for twice. Of a key and of a body no more is kept than a digest under a secret of
-- the service. Whether a call stands in the way of another is asked of its hold.
create table idempotency (
    account_id bigint not null,
    digest     bytea not null check (octet_length(digest) = 32),
    body       bytea not null check (octet_length(body) = 32),
    request_id uuid not null,
    at         timestamptz not null,
    primary key (account_id, digest)
);
create index idempotency_by_age on idempotency (at);
grant select, delete on idempotency to tollkeeper_worker;

-- hold_batch for a batch with calls that must not be paid for twice: each of them comes with a digest of its key and one
-- of its body. Verdicts beside those of hold_batch: repeated_running and repeated, where the key's first call runs or was
-- charged (`available` is what it holds, or its charge), and other_body. `first` is that call's id, where the same API
-- key made it. Such calls hold nothing. A key belongs to the call that was admitted with it, for a day, unless that
-- call ends uncharged. A row that does not claim its key only looks whether somebody has it.
-- Whatever is read here is read under the lock of the account, under which its holds are made and closed.
-- One function because its steps (looking, holding, taking keys) share the arrays of a batch, as in hold_batch.
create or replace function hold_once_batch(
    p_worker bigint, p_request uuid[], p_sequence smallint[], p_account bigint[], p_key bigint[], p_amount bigint[],
    p_price bigint[], p_group bigint[], p_input bigint[], p_seconds integer[], p_digest bytea[], p_body bytea[],
    p_claims boolean[])
returns table (request_id uuid, verdict text, available bigint, first uuid)
language plpgsql
security definer
set search_path = tollkeeper, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    this_moment timestamptz := ledger_now();
    asked record;
    verdicts text[] := array_fill(null::text, array[cardinality(p_request)]);
    availables bigint[] := array_fill(0::bigint, array[cardinality(p_request)]);
    firsts uuid[] := array_fill(null::uuid, array[cardinality(p_request)]);
    -- By request: the place of the one in this batch that comes first with the same key.
    leads int[] := array_fill(null::int, array[cardinality(p_request)]);
    passes int[] := '{}';
    lead int;
begin
    perform from account_books where account_id = any (p_account) order by account_id for update;

    for asked in
        select r.at, r.request_id, r.key_id, r.body, i.request_id as first, i.body as first_body, h.key_id as first_key,
               h.amount, h.charged,
               min(r.at) filter (where r.claims) over (partition by r.account_id, r.digest) as lead
        from unnest(p_request, p_account, p_key, p_digest, p_body, p_claims) with ordinality
             r (request_id, account_id, key_id, digest, body, claims, at)
        left join idempotency i on i.account_id = r.account_id and i.digest = r.digest
                               and i.at > this_moment - interval '1 day' and i.request_id <> r.request_id
        left join hold h on h.request_id = i.request_id and h.charged is distinct from 0
        order by r.at
    loop
        if asked.first_key is not null then
            verdicts[asked.at] := case when asked.first_body <> asked.body then 'other_body'
                                       when asked.charged is null then 'repeated_running' else 'repeated' end;
            availables[asked.at] := coalesce(asked.charged, asked.amount);
            firsts[asked.at] := case when asked.first_key = asked.key_id then asked.first end;
        elsif p_digest[asked.at] is not null and p_claims[asked.at] and asked.request_id <> p_request[asked.lead] then
            leads[asked.at] := asked.lead;
        else
            passes := passes || asked.at::int;
        end if;
    end loop;

    if cardinality(passes) > 0 then
        for asked in
            select passes[h.n] as at, h.verdict, h.available
            from (select array_agg(r.request_id order by r.at) as request, array_agg(r.sequence order by r.at) as sequence,
                         array_agg(r.account_id order by r.at) as account, array_agg(r.key_id order by r.at) as key,
                         array_agg(r.amount order by r.at) as amount, array_agg(r.price_id order by r.at) as price,
                         array_agg(r.group_millionths order by r.at) as group_of,
                         array_agg(r.input order by r.at) as input, array_agg(r.seconds order by r.at) as seconds
                  from unnest(p_request, p_sequence, p_account, p_key, p_amount, p_price, p_group, p_input, p_seconds)
                       with ordinality r (request_id, sequence, account_id, key_id, amount, price_id, group_millionths,
                                          input, seconds, at)
                  where r.at = any (passes)) b
            cross join lateral hold_batch(p_worker, b.request, b.sequence, b.account, b.key, b.amount, b.price,
                                          b.group_of, b.input, b.seconds)
                 with ordinality h (request_id, verdict, available, n)
        loop
            verdicts[asked.at] := asked.verdict;
            availables[asked.at] := asked.available;
        end loop;
    end if;

    -- What came with the same key behind another of this batch: if that one was refused, so is this.
    for n in 1 .. cardinality(p_request) loop
        lead := leads[n];
        if lead is null then continue; end if;
        if verdicts[lead] in ('admitted', 'replayed') then
            verdicts[n] := case when p_body[n] <> p_body[lead] then 'other_body' else 'repeated_running' end;
            availables[n] := p_amount[lead];
            firsts[n] := case when p_key[n] = p_key[lead] then p_request[lead] end;
        else
            verdicts[n] := verdicts[lead]; availables[n] := availables[lead]; firsts[n] := firsts[lead];
        end if;
    end loop;

    insert into idempotency (account_id, digest, body, request_id, at)
    select r.account_id, r.digest, r.body, r.request_id, this_moment
    from unnest(p_request, p_account, p_digest, p_body, p_claims) with ordinality
         r (request_id, account_id, digest, body, claims, at)
    where r.digest is not null and r.claims and verdicts[r.at] = 'admitted'
    on conflict (account_id, digest)
    do update set body = excluded.body, request_id = excluded.request_id, at = excluded.at;
    return query select * from unnest(p_request, verdicts, availables, firsts);
end $$;

-- A call was cut and goes on without its caller: one like it that is sent as a retry finds it by its digest.
create or replace function note_cut(p_request uuid, p_account bigint, p_digest bytea, p_body bytea)
returns void
language sql
security definer
set search_path = tollkeeper, pg_temp
as $$
    insert into idempotency (account_id, digest, body, request_id, at)
    select h.account_id, p_digest, p_body, h.request_id, ledger_now()
    from hold h where h.request_id = p_request and h.account_id = p_account
    on conflict (account_id, digest)
    do update set body = excluded.body, request_id = excluded.request_id, at = excluded.at;
$$;

grant execute on function
    hold_once_batch(bigint, uuid[], smallint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], integer[],
                    bytea[], bytea[], boolean[]),
    note_cut(uuid, bigint, bytea, bytea)
    to tollkeeper_gateway, tollkeeper_worker;
