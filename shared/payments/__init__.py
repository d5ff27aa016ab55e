"""The payment services behind the port."""
