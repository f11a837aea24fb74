"""The parts of a turn: its messages, the gate to Shield, and how a context is put together."""
