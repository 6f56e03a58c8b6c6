create or replace function ledger_uuid() returns uuid
language sql volatile
return (left(replace(uuid_floor(ledger_now())::text, '-', ''), 13)
        || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
