"""Paying a whole cancelled sale back: counted first, at a pace, gone on with at will, proven at the end."""
