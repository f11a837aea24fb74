"""Justfiles (Just Programmer's Manual)."""
