"""Measurements that anybody can repeat: each prints what it measured and how."""
