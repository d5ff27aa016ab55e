-- Statistics have a file of their own: they never wait for an order's transaction, nor an order for theirs.

CREATE TABLE IF NOT EXISTS windows (
    length_s      INTEGER NOT NULL,
    start_ms      INTEGER NOT NULL,
    stream_shard  TEXT NOT NULL,
    rev           INTEGER NOT NULL,
    upto          TEXT NOT NULL,         -- sequence numbers have up to 40 digits
    late          TEXT NOT NULL,
    counts        BLOB NOT NULL,         -- compressed JSON
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (length_s, start_ms, stream_shard)
);
CREATE INDEX IF NOT EXISTS windows_expiry ON windows (expires_at_ms);

CREATE TABLE IF NOT EXISTS stream_shards (
    name      TEXT PRIMARY KEY,
    newest_ms INTEGER NOT NULL,
    rev       INTEGER NOT NULL,
    refused   TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS states (
    event_id      TEXT NOT NULL,
    stream_shard  TEXT NOT NULL,
    rev           INTEGER NOT NULL,
    upto          TEXT NOT NULL,         -- sequence numbers have up to 40 digits
    late          TEXT NOT NULL,
    newest_ms     INTEGER NOT NULL,
    counts        BLOB NOT NULL,         -- compressed JSON
    PRIMARY KEY (event_id, stream_shard)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS marks (
    buyer_id     TEXT PRIMARY KEY,
    orders_per_s REAL NOT NULL,
    until_ms     INTEGER NOT NULL
) WITHOUT ROWID;
