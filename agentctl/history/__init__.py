"""What was said, kept in SQLite."""
