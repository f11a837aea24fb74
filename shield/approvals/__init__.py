"""Tier 3: questions to people, kept in a durable queue, answered by the approver role only."""
