-- The relay: what a hold must know of a model's tokens.

alter table model add column context_tokens integer not null default 128000 check (context_tokens > 0);
alter table model add column max_output_tokens integer not null default 16384 check (max_output_tokens > 0);
-- Held for a call whose caller names no maximum. A stream that outgrows it extends its hold.
alter table model add column hold_output_tokens integer not null default 4096 check (hold_output_tokens > 0);
-- Held for each image, audio clip or file in a message.
alter table model add column hold_part_tokens integer not null default 2000 check (hold_part_tokens >= 0);
-- Thinks before it speaks: its thoughts are charged and cannot be counted on the way.
alter table model add column hidden_reasoning boolean not null default false;
grant update (context_tokens, max_output_tokens, hold_output_tokens, hold_part_tokens, hidden_reasoning) on model
    to tollkeeper_console;
