"""Side-by-side measurements, printed as ratios of one run: `python -m bench`."""

import os

# an installed program has its bytecode; a developer's shell may forbid writing it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
