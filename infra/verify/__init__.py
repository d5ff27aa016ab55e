"""What must always hold, checked from outside: stored orders, inventory, the payment service's books, receipts."""
