"""What is true about a sale, its seats and its orders: pure, without I/O, clocks or randomness."""
