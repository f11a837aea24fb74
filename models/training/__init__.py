"""Makes the classifier of tier 1 out of written banks and public text: corpus, tokenizer, training, export, report."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime's builds call home; set before anything here imports it
