"""A payment service for one machine: its own process, its own SQLite file, Stripe's shape.

It stands where Stripe stands in production, so the system is exercised against another process that is slow,
declines, dies, repeats itself and calls back. Of the project outside `infra.local` it imports only what counts its
answers.
"""
