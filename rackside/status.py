"""Exit statuses of the contract."""

from __future__ import annotations

HEALTHY = 0
WARNING = 1
CRITICAL = 2
UNDECIDED = 3
USAGE = 64
UNREADABLE = 65
NOTHING_REACHED = 69
CANNOT_WRITE = 74
INTERRUPTED = 130

OF_STATUS = {"skipped": HEALTHY, "ok": HEALTHY, "unknown": UNDECIDED, "warn": WARNING, "critical": CRITICAL}
"""Nagios states, by the worst status of the findings."""
