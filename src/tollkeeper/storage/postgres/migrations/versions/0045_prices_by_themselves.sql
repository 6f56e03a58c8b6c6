-- Prices that do not divide: each stands by itself, and input has a weight as every part has (`input`, among the parts of a
-- row and of a tier). No row that is there has one, so all of them cost what they did.
--
-- Nodes of the version before take such a row for one without: a price gets its first one when every node has the new version.

-- What a call costs: the formula of `core.money.prices`, rounded half up, in micro-quota. NUMERIC is exact, so every factor
-- is multiplied and none divided. Multipliers are as in the price book; those within parts and tiers are millionths. A tier
-- stands in for what the row's parts say of the same name.
-- It is asked for every call of a week, so it makes do without queries wherever it can.
create or replace function priced(
    p_group bigint, p_model numeric, p_completion numeric, p_cached numeric, p_price_parts jsonb,
    p_input bigint, p_cached_input bigint, p_output bigint, p_usage_parts jsonb)
returns numeric
language plpgsql immutable parallel safe
as $$
declare
    model numeric := p_model;
    completion numeric := p_completion;
    cached numeric := p_cached;
    tiers jsonb := p_price_parts -> 'tiers';
    tier jsonb;
    own jsonb := p_price_parts;
    plain numeric := 1;
    weighted numeric;
    amounts numeric;
begin
    if tiers is not null then
        for place in 0 .. jsonb_array_length(tiers) - 1 loop
            if p_input > (tiers -> place ->> 'above_tokens')::bigint then
                tier := tiers -> place;
            end if;
        end loop;
        if tier is not null then
            model := (tier ->> 'model')::numeric * 0.000001;
            completion := coalesce((tier ->> 'completion')::numeric * 0.000001, completion);
            cached := coalesce((tier ->> 'cached')::numeric * 0.000001, cached);
            own := own || tier;
        end if;
    end if;
    if own ? 'input' then
        plain := (own ->> 'input')::numeric * 0.000001;
    end if;
    weighted := (p_input - p_cached_input) * plain + p_cached_input * cached + p_output * completion;
    if p_price_parts is null then
        -- Without prices of their own, parts cost what they would be without them.
        return round(p_group * model * weighted);
    end if;
    amounts := coalesce((p_price_parts ->> 'per_call')::numeric, 0);
    if p_usage_parts is not null then
        -- Each part is counted above at what it costs without a price of its own; here comes the difference.
        weighted := weighted
            + coalesce((p_usage_parts ->> 'written_5m')::numeric
                       * ((own ->> 'written_5m')::numeric * 0.000001 - plain), 0)
            + coalesce((p_usage_parts ->> 'written_1h')::numeric
                       * ((own ->> 'written_1h')::numeric * 0.000001 - plain), 0)
            + coalesce((p_usage_parts ->> 'image_input')::numeric
                       * ((own ->> 'image_input')::numeric * 0.000001 - plain), 0)
            + coalesce((p_usage_parts ->> 'audio_input')::numeric
                       * ((own ->> 'audio_input')::numeric * 0.000001 - plain), 0)
            + coalesce((p_usage_parts ->> 'image_output')::numeric
                       * ((own ->> 'image_output')::numeric * 0.000001 - completion), 0)
            + coalesce((p_usage_parts ->> 'audio_output')::numeric
                       * ((own ->> 'audio_output')::numeric * 0.000001 - completion), 0);
        if p_usage_parts ? 'tools' then
            amounts := amounts + coalesce((
                select sum(used.times::numeric * (p_price_parts -> 'tools' ->> used.tool)::numeric)
                from jsonb_each_text(p_usage_parts -> 'tools') used (tool, times)), 0);
        end if;
    end if;
    return round(p_group * (model * weighted + amounts * 0.000001));
end $$;

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
