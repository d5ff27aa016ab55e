"""The stream of changes in, counts out: each change once, however often it is delivered."""
