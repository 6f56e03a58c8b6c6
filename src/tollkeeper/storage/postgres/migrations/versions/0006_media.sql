-- Media: a model may have a price for each of several variants, as an image has for each size and quality.

-- For an image '1792x1024 hd'; for everything that has one price, nothing.
alter table price add column variant text not null default '' check (variant ~ '^([!-~]{1,40}( [!-~]{1,40})?)?$');
alter table price drop constraint price_model_id_effective_from_key;
alter table price add unique (model_id, variant, effective_from);

-- Voices, formats and how much at once; what is not said is as usual.
alter table model add column media jsonb check (jsonb_typeof(media) = 'object');
