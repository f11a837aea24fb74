"""Rules over text: phrases, shapes and secrets that speak against what holds them."""
