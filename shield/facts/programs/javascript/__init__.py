"""JavaScript: what node is given or pointed to, what is proven of it, and what a lock file pins."""
