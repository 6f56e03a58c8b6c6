create or replace function ledger_now() returns timestamptz
language sql stable parallel safe
return now();
