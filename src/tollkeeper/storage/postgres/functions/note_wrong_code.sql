-- An account: five wrong ones within an hour lock it for an hour, and each further time for twice as long, up to a day.
-- An IP, which many may share: a hundred within 15 minutes lock it for 15 minutes, however often.
create or replace function note_wrong_code(p_kind text, p_subject bytea) returns void
language plpgsql
as $$
declare
    shared boolean := p_kind = 'redeem_ip';
    most integer := case when shared then 100 else 5 end;
    during interval := case when shared then interval '15 minutes' else interval '1 hour' end;
    noted lockout;
begin
    insert into lockout as l (kind, subject, failures) values (p_kind, p_subject, 1)
    on conflict (kind, subject) do update set
        failures = case when l.window_start > ledger_now() - during then l.failures else 0 end + 1,
        -- The first failure begins it.
        window_start = case when l.failures > 0 and l.window_start > ledger_now() - during
                            then l.window_start else ledger_now() end,
        locks = case when l.locked_until > ledger_now() - interval '1 day' then l.locks else 0 end
    returning * into noted;
    if noted.failures >= most then
        update lockout set failures = 0, locks = noted.locks + 1,
            locked_until = ledger_now() + case when shared then during
                                               else least(interval '1 day', during * power(2, least(noted.locks, 5))) end
        where kind = p_kind and subject = p_subject;
    end if;
end $$;
