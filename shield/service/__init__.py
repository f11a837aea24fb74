"""The policy decision point as a local HTTP service; `run` is the composition root, `app` the stack."""
