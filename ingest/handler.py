"""The Lambda entry of the ingestion API: `ingest.handler.handler`."""

from __future__ import annotations

from shared.collector import paused

with paused():
    from ingest.process import handler

__all__ = ["handler"]
