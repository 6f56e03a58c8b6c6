-- A form that moves money has an id of its own, and counts once however often it is sent. Only its digest is kept.
create table sent_form (
    digest bytea primary key check (octet_length(digest) = 32),
    at     timestamptz not null default ledger_now()
);
create index sent_form_by_age on sent_form (at);
grant insert, select on sent_form to tollkeeper_console;
grant select, delete on sent_form to tollkeeper_worker;
