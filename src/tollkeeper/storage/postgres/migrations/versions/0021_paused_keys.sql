-- Since when a key is paused: its calls are refused until its owner, or an operator, resumes it.
alter table api_key add column paused_at timestamptz;
grant update (paused_at) on api_key to tollkeeper_console;
