"""Backups that can be proven: a sale as checksummed segments, and a copy of it in an empty store of either kind."""
