"""What the system needs of its machine, looked at thing by thing."""
