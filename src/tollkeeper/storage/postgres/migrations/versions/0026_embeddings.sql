-- Models for embeddings, which have a price for each token of their input.
alter table model drop constraint model_kind_check;
alter table model add constraint model_kind_check
    check (kind in ('chat', 'image', 'speech', 'transcription', 'embedding'));
-- The older billing endpoints tell a key what it used, day by day.
grant select on usage_day, usage_horizon to tollkeeper_gateway;
