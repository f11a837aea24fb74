"""Text to tree: two independent readers of one shell language, and the syntax both make."""
