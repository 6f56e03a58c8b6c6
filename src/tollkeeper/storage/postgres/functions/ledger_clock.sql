-- The time now, not that at which a transaction began that has waited since.
create or replace function ledger_clock() returns timestamptz
language sql volatile
return ledger_now() + (clock_timestamp() - now());
