"""Looking at AWS from outside the system: what the template becomes, and what an account allows."""
