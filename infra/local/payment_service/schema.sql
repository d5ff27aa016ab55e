CREATE TABLE IF NOT EXISTS intents (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    status TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    captured INTEGER NOT NULL CHECK (captured IN (0, amount)),
    refunded INTEGER NOT NULL CHECK (refunded BETWEEN 0 AND captured),
    client_secret TEXT NOT NULL,
    payment_method TEXT,
    latest_charge TEXT,
    metadata TEXT NOT NULL,
    description TEXT,
    last_error TEXT,
    settle_at_ms INTEGER,
    settle_decline TEXT,
    canceled_at_ms INTEGER,
    cancellation_reason TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS intents_by_time ON intents (created_at_ms, seq);
CREATE INDEX IF NOT EXISTS intents_to_settle ON intents (settle_at_ms) WHERE settle_at_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS intent_metadata (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    intent_seq INTEGER NOT NULL REFERENCES intents (seq),
    PRIMARY KEY (key, value, intent_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS charges (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    intent_id TEXT NOT NULL REFERENCES intents (id),
    created_at_ms INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    currency TEXT NOT NULL,
    payment_method TEXT NOT NULL,
    status TEXT NOT NULL,
    decline TEXT
) STRICT;
-- The promise that matters most, kept by the file itself: an intent is captured at most once.
CREATE UNIQUE INDEX IF NOT EXISTS one_capture_per_intent ON charges (intent_id) WHERE status = 'succeeded';
CREATE INDEX IF NOT EXISTS charges_by_time ON charges (created_at_ms, seq);
CREATE INDEX IF NOT EXISTS charges_by_intent ON charges (intent_id, seq);

CREATE TABLE IF NOT EXISTS refunds (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    intent_id TEXT NOT NULL REFERENCES intents (id),
    charge_id TEXT NOT NULL REFERENCES charges (id),
    created_at_ms INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    reason TEXT,
    metadata TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS refunds_by_intent ON refunds (intent_id, seq);
CREATE INDEX IF NOT EXISTS refunds_by_time ON refunds (created_at_ms, seq);

CREATE TABLE IF NOT EXISTS idempotency (
    key TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idempotency_by_age ON idempotency (created_at_ms);

CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    payload TEXT NOT NULL,
    delivery TEXT NOT NULL DEFAULT 'pending',
    tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS events_pending ON events (seq) WHERE delivery = 'pending';
CREATE INDEX IF NOT EXISTS events_by_intent ON events (intent_id, seq);
CREATE INDEX IF NOT EXISTS events_by_time ON events (created_at_ms, seq);
