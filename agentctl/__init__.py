"""A lean agent whose every tool call goes through Shield."""
