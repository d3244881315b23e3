"""The benchmark scripts are no package: they find each other beside themselves, and so do their tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
