-- The index of entries that went otherwise than by calls was built beforehand (INDEXES_ASIDE).
-- Where a day was cleaned from the log, the statement of its month reads the ledger call by call.
grant select on usage_dropped to tollkeeper_console;
