"""What a back end refuses, how often, and what would have avoided it. Pure."""
