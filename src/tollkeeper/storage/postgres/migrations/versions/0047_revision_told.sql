-- Every part may read which revision the schema is at, to tell a schema that is older or newer than its build.
grant select on alembic_version to tollkeeper_gateway, tollkeeper_console, tollkeeper_worker;
