"""The text model: a folder of checked files becomes a `Scorer`, which says how much a text reads like an attack.

Bytes go one way: directory → manifest → graph, tokens → session → scorer. Nothing heavier than the standard library is
imported before a model is loaded, and never torch, transformers or optimum.
"""
