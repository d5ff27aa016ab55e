"""One card a file: figures read, and written in their shape."""
