"""Whole sales in virtual time: one seed, one exact run, every fault that a night can bring."""
