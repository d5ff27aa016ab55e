"""Counting inside one process: metrics, and every attempt at the store. Bounded, whatever happens outside."""
