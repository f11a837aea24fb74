"""Durable state besides the audit log: `state.db`, rows of `shield.types` only."""
