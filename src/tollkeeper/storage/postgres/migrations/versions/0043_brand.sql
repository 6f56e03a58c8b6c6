-- What the service is called and looks like, and what its operator must tell. An empty text: as it is without a brand.
create table brand (
    name         text not null default '' check (char_length(name) <= 40),
    support      text not null default '' check (char_length(support) <= 200),
    accent_light text not null default '' check (accent_light ~ '^(#[0-9a-f]{6})?$'),
    accent_dark  text not null default '' check (accent_dark ~ '^(#[0-9a-f]{6})?$'),
    logo         bytea not null default '' check (octet_length(logo) <= 65536),
    imprint      text not null default '' check (char_length(imprint) <= 40000),
    terms        text not null default '' check (char_length(terms) <= 40000),
    privacy      text not null default '' check (char_length(privacy) <= 40000)
);
create unique index brand_is_one on brand ((true));
insert into brand default values;

alter table change drop constraint change_kind_check;
alter table change add constraint change_kind_check check (kind in ('key', 'account', 'catalog', 'pool', 'ban', 'brand'));
create trigger tell_nodes after insert or update or delete or truncate on brand
    for each statement execute function record_table('brand');

grant select on brand to tollkeeper_console, tollkeeper_worker;
grant update on brand to tollkeeper_console;
