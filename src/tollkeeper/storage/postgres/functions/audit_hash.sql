-- Rows from before have neither, and keep the hash they have.
create or replace function audit_hash(before bytea, entry audit) returns bytea
language sql immutable set timezone = 'UTC' set datestyle = 'ISO'
return sha256(before || convert_to(
    case when entry.as_role is null
         then jsonb_build_array(entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail)
         else jsonb_build_array(entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail,
                                entry.as_role, entry.as_login) end::text, 'UTF8'));
