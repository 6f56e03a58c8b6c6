-- The catalog at the operator's desk: media limits that change, models and groups that are removed.

-- Remove a model that was never called, with its prices. Verdicts: removed, unknown, called, offered (or hidden so lately
-- that a node might still admit a call to it: whoever was charged must find the price on their receipt).
create or replace function remove_model(p_model text, p_reason text, p_actor text) returns text
language plpgsql security definer set search_path = tollkeeper, pg_temp
-- The log is looked at by price, however large it is.
set enable_seqscan = off
as $$
declare
    of_model model;
    its_prices bigint[];
begin
    select * into of_model from model where id = p_model for update;
    if not found then
        return 'unknown';
    end if;
    its_prices := array(select id from price where model_id = p_model);
    if exists (select from usage where price_id = any (its_prices))
       or exists (select from (select price_id from hold where closed_at is null offset 0) h
                  where h.price_id = any (its_prices))
       or exists (select from usage_day where account_id = 0 and model_id = p_model) then
        return 'called';
    end if;
    if of_model.retired_at is null or of_model.retired_at > ledger_clock() - interval '1 minute' then
        return 'offered';
    end if;
    delete from price_announcement where price_id = any (its_prices);
    delete from price where model_id = p_model;
    delete from model where id = p_model;
    update account_group set model_rates = model_rates - p_model where model_rates ? p_model;
    perform append_audit(p_actor, 'model.remove', 'model:' || p_model, jsonb_build_object('reason', p_reason));
    return 'removed';
end $$;
grant execute on function remove_model(text, text, text) to tollkeeper_console;

grant update (media) on model to tollkeeper_console;
-- An account's group cannot go: accounts refer to it.
grant delete on account_group to tollkeeper_console;
