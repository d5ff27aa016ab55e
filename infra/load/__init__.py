"""Buyers from several processes, and the receipts they keep."""
