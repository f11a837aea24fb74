"""Language models: one protocol, one module per wire format, one module that knows httpx."""
