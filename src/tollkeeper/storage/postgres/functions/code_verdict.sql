-- A step of take_code: why the account cannot redeem that code, with that gift code, whose giver was looked for; null
-- where nothing stands against it. Who the giver is, is found out whatever the code is: time tells nothing of it.
create or replace function code_verdict(
    p_account bigint, p_code redemption_code, p_batch redemption_batch, p_gift_code text, p_giver bigint) returns text
language plpgsql
as $$
declare
    own_gift_code boolean := p_giver = p_account or are_one_person(p_giver, p_account);
begin
    return case
        when p_code.id is null then 'unknown'
        when p_code.redeemed_by = p_account then 'replayed'
        when p_code.redeemed_by is not null then 'used'
        when p_batch.exported_at is null or p_batch.revoked_at is not null or p_batch.expires_at <= ledger_now()
            then 'closed'
        when p_gift_code is not null and p_giver is null then 'unknown_gift_code'
        when own_gift_code then 'own_gift_code' end;
end $$;
