"""onnxruntime, kept from calling home.

INVARIANT: since 1.29 its Linux builds send what was loaded, and when, to their maker, and keep an identifier under
`~/.cache/Microsoft`, unless this is set before they start. What Shield reads is nobody else's.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime  # type: ignore[import-untyped]  # it ships no types, and has to come after

__all__ = ["onnxruntime"]
