-- What is not said (null) stays as it is. Parts are said all together, and '{}' ends those that there were. Verdicts:
-- entered, unknown_model, no_figures, too_soon, taken. `effective` is from when it holds; where that was too soon, the
-- earliest that was possible; `booked` what is in the book now. What has no price yet needs no notice, and the prices of a
-- model that is added just now hold from when its author says.
create or replace function enter_price(
    p_model text, p_variant text, p_multiplier numeric, p_completion numeric, p_cached numeric, p_from timestamptz,
    p_notice interval, p_forced_because text, p_actor text, p_parts jsonb default null,
    out verdict text, out booked price, out effective timestamptz)
language plpgsql security definer set search_path = tollkeeper, pg_temp set timezone = 'UTC'
as $$
declare
    of_model model;
    before price;
    is_new boolean;
    is_first boolean;
    this_moment timestamptz;
    earliest timestamptz;
begin
    select * into of_model from model where id = p_model and retired_at is null for no key update;
    if not found then
        verdict := 'unknown_model';
        return;
    end if;
    -- The wait for the audit trail comes before the look at the clock, not between it and the commit.
    perform pg_advisory_xact_lock(hashtext('tollkeeper.audit'));
    this_moment := ledger_clock();
    -- A model that is added just now has all its prices for the first time.
    is_new := of_model.introduced_at = ledger_now();
    is_first := is_new or not exists (
        select from price p where p.model_id = p_model and p.variant = p_variant and p.withdrawn_at is null);
    if is_new then
        earliest := ledger_now();
    elsif is_first then
        earliest := this_moment;
    else
        earliest := this_moment + greatest(
            case when p_forced_because is null then p_notice else interval '0' end, time_to_tell_nodes());
    end if;
    effective := coalesce(p_from, earliest);
    if not is_new and effective < earliest then
        verdict := 'too_soon';
        effective := earliest;
        return;
    end if;
    if exists (select from price p where p.model_id = p_model and p.variant = p_variant
               and p.effective_from = effective and p.withdrawn_at is null) then
        verdict := 'taken';
        return;
    end if;
    select * into before from price p
    where p.model_id = p_model and p.variant = p_variant and p.effective_from < effective and p.withdrawn_at is null
    order by p.effective_from desc limit 1;
    if coalesce(p_multiplier, before.model_multiplier) is null then
        verdict := 'no_figures';
        return;
    end if;
    insert into price (model_id, variant, effective_from, model_multiplier, completion_multiplier, cached_multiplier,
                       parts, entered_by, forced_because)
    values (p_model, p_variant, effective, coalesce(p_multiplier, before.model_multiplier),
            coalesce(p_completion, before.completion_multiplier, 1), coalesce(p_cached, before.cached_multiplier, 1),
            nullif(coalesce(p_parts, before.parts), '{}'), p_actor, p_forced_because)
    returning * into booked;
    verdict := 'entered';
    if not is_first then
        insert into price_announcement (price_id, looked_until) values (booked.id, ledger_now() - interval '30 days');
    end if;
    -- The prices of a new model are told with it.
    if not is_new then
        perform append_audit(p_actor, 'price.enter', 'price:' || booked.id, jsonb_build_object(
            'model', p_model, 'variant', p_variant, 'from', effective, 'multiplier', p_multiplier,
            'completion', p_completion, 'cached', p_cached, 'parts', p_parts, 'forced', p_forced_because));
    end if;
end $$;
