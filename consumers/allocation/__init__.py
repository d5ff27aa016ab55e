"""Seats: who gets them, in which order, and when there are none left."""
