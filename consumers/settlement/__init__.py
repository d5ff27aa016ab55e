"""Money: how a held order becomes tickets, or gives its seats back."""
