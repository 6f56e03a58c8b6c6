create or replace function tell_webhooks_of_price() returns trigger
language plpgsql security definer set search_path = tollkeeper, pg_temp
as $$
begin
    perform emit_event('price.announced', jsonb_build_object(
        'price', p.id, 'model', p.model_id, 'variant', p.variant, 'effective_from', p.effective_from,
        'model_multiplier', trim_scale(p.model_multiplier)::text,
        'completion_multiplier', trim_scale(p.completion_multiplier)::text,
        'cached_multiplier', trim_scale(p.cached_multiplier)::text,
        -- Prices that do not divide stand by themselves, and that of input is a multiplier like the others.
        'input_multiplier', trim_scale(coalesce((p.parts ->> 'input')::numeric, 1000000) * 0.000001)::text))
    from price p where p.id = new.price_id;
    return null;
end $$;
