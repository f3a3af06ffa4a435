"""What one step asks in the measurements."""

from __future__ import annotations

ASKED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("boot", ()),
    ("mem-info", ()),
    ("smi-list", ()),
    ("smi-core", ()),
    ("smi-perf", ()),
    ("smi-ecc", ()),
    ("smi-nvlink", ()),
    ("smi-nvlink-err", ()),
    ("rdma-link", ()),
    ("lldp", ()),
    ("eth-stats", ("eth2",)),
    ("eth-stats", ("eth3",)),
)
"""Twelve commands of a step, as checks ask them."""
