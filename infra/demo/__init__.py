"""A whole sale in one command: opened, stormed, drained, closed, verified, reported."""
