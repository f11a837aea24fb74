"""git: what its commands do here, what its repositories say, and what they keep."""
