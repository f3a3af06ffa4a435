"""Entry point. `--version` answers before anything heavy is imported."""

from __future__ import annotations

import os.path
import sys

from rackside import __version__

# In a wheel the rooms lie in this folder, so that names like `checks` and `runbooks` never land in site-packages.
# (os.path and not pathlib: importing that doubles the time `--version` takes.)
ROOMS = os.path.join(os.path.dirname(__file__), "_app")


def main(argv: list[str] | None = None) -> int:
    """Runs the command line and gives the process's exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"rackside {__version__}\n")
        return 0
    if ROOMS not in sys.path and os.path.isdir(ROOMS):
        sys.path.insert(0, ROOMS)
    from rackside.cli import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
