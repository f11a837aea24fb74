"""Tier 0: policies. bytes → `reader` → `schema` → `load` → `set.PolicySet`, which gives an opinion of every action."""
