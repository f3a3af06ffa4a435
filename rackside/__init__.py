"""The `rackside` command: entry point and subcommands."""

__version__ = "0.1.0"
