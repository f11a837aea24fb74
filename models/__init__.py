"""The classifier of tier 1: what it is made with (`training/`), and the model that ships."""
