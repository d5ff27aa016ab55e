"""What the stream of changes tells: who is hot, how evenly shards are used, what to do about it. Pure."""
