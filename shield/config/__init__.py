"""What the owner says: where Shield's home is, `shield.toml`, and the environment that tools are run with.

Read once into frozen values; nothing else knows the names of environment variables. Only `sections` and `loading` need
pydantic: what judges without a `shield.toml` does not load it.
"""
