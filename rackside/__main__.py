"""Entry point. `--version` answers before anything heavy is imported."""

from __future__ import annotations

import sys
from pathlib import Path

from rackside import __version__

# In a wheel the rooms lie in this folder, so that names like `checks` and `runbooks` never land in site-packages.
ROOMS = Path(__file__).parent / "_app"


def main(argv: list[str] | None = None) -> int:
    """Runs the command line and gives the process's exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"rackside {__version__}\n")
        return 0
    if ROOMS.is_dir() and str(ROOMS) not in sys.path:
        sys.path.insert(0, str(ROOMS))
    from rackside.cli import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
