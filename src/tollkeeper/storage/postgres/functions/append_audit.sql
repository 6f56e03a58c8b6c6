-- A row has the reason of the act that writes it (`tollkeeper.reason`, of this transaction), unless it has one of its own.
create or replace function append_audit(actor text, action text, subject text, detail jsonb) returns void
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
declare
    last audit;
    fresh audit;
    why text := nullif(current_setting('tollkeeper.reason', true), '');
begin
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    select * into last from audit order by id desc limit 1;
    fresh.id := coalesce(last.id, 0) + 1;
    fresh.at := clock_timestamp();
    fresh.actor := append_audit.actor;
    fresh.action := append_audit.action;
    fresh.subject := append_audit.subject;
    fresh.detail := case when why is null then append_audit.detail
                         else jsonb_build_object('reason', why) || append_audit.detail end;
    fresh.as_role := session_role();
    fresh.as_login := session_user;
    fresh.hash := audit_hash(coalesce(last.hash, ''), fresh);
    insert into audit values (fresh.*);
end $$;
