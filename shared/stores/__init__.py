"""The stores behind the port, and the wrappers that go over any of them."""
