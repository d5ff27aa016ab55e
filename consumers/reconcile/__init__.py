"""Our orders against the payment service's books, both ways."""
