"""The operators' console and the buyer's page: files that any web server can serve, asking only their own origin."""
