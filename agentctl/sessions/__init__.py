"""Conversations that can be left and taken up again."""
