"""The closed registry of action types, and the reader that turns bytes into an ActionRequest."""
