"""Python: what is run, from where, and code that is proven to compute and work on files that it names."""
