"""Taskfiles (Task, "Schema Reference")."""
