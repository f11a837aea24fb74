"""`models/` is no part of the wheel: its tests find it in the checkout, behind everything that is installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
