"""What operators see of a running sale: one frame a second, made of cards, each from bounded reads."""
