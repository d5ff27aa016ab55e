-- Buyers' copies of their orders have a file of their own: they never wait for an order's transaction.

CREATE TABLE IF NOT EXISTS copies (
    buyer_id TEXT NOT NULL,
    sk       TEXT NOT NULL,              -- accepted_at#event#order
    rev      INTEGER NOT NULL,
    item     TEXT NOT NULL,              -- the whole item as JSON
    PRIMARY KEY (buyer_id, sk)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS progress (
    stream_shard TEXT PRIMARY KEY,
    newest_ms    INTEGER NOT NULL
) WITHOUT ROWID;
