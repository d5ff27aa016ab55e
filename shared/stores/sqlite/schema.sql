-- One file for everything that one machine keeps. Text compares by its UTF-8 bytes, as DynamoDB's keys do.

CREATE TABLE orders (
    id     INTEGER PRIMARY KEY,
    pk     TEXT NOT NULL,                -- event#shard
    sk     TEXT NOT NULL,                -- order id
    rev    INTEGER NOT NULL,
    work   TEXT,                         -- lane#time#id, absent when nothing is left to do
    item   TEXT NOT NULL,                -- the whole item as JSON
    status TEXT GENERATED ALWAYS AS (json_extract(item, '$.status')) VIRTUAL,
    UNIQUE (pk, sk)
);
CREATE INDEX orders_work ON orders (pk, work) WHERE work IS NOT NULL;

CREATE TABLE pools (
    event_id   TEXT NOT NULL,
    pool_id    TEXT NOT NULL,
    capacity   INTEGER NOT NULL,
    unassigned INTEGER NOT NULL CHECK (unassigned >= 0),
    withheld   INTEGER NOT NULL DEFAULT 0 CHECK (withheld >= 0),
    round      INTEGER NOT NULL DEFAULT 0,
    sold_out   INTEGER NOT NULL DEFAULT 0,
    version    INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (event_id, pool_id)
) WITHOUT ROWID;

CREATE TABLE slices (
    event_id TEXT NOT NULL,
    pool_id  TEXT NOT NULL,
    slice_no INTEGER NOT NULL,
    unsold   INTEGER NOT NULL CHECK (unsold >= 0),
    taken    INTEGER NOT NULL DEFAULT 0 CHECK (taken >= 0),
    version  INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (event_id, pool_id, slice_no)
) WITHOUT ROWID;

CREATE TABLE buyers (
    event_id TEXT NOT NULL,
    buyer_id TEXT NOT NULL,
    tickets  INTEGER NOT NULL CHECK (tickets >= 0),
    PRIMARY KEY (event_id, buyer_id)
) WITHOUT ROWID;

-- Operations on counters that were carried out, so that a repeated call is recognised.
CREATE TABLE done (
    id    INTEGER PRIMARY KEY,
    op    TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL
);

CREATE TABLE control (
    pk      TEXT NOT NULL,
    sk      TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,  -- what a writer puts its condition on
    item    TEXT NOT NULL,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;

-- The change log. AUTOINCREMENT: a trimmed number never comes again.
CREATE TABLE changes (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms  INTEGER NOT NULL,
    bucket INTEGER NOT NULL,             -- 32-bit hash of the item's key
    old    TEXT,
    new    TEXT
);

-- A stream shard shows the changes of a range of buckets, `after_seq` < seq <= `until_seq` (absent: still open).
CREATE TABLE stream_shards (
    id           INTEGER PRIMARY KEY,
    low          INTEGER NOT NULL,
    high         INTEGER NOT NULL,
    after_seq    INTEGER NOT NULL,
    until_seq    INTEGER
);
INSERT INTO stream_shards (low, high, after_seq) VALUES
    (0, 1073741823, 0), (1073741824, 2147483647, 0), (2147483648, 3221225471, 0), (3221225472, 4294967295, 0);

CREATE TABLE about (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
