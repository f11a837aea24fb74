"""A witness (c2sp.org/tlog-witness): it remembers how far it saw each log grow, and cosigns nothing that goes back."""
