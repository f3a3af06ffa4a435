"""Slurm's own currency: billing units of a job from its TRES and a partition's TRESBillingWeights (slurm.conf)."""

from __future__ import annotations

import re

from common.errors import InputError

_SIZE = {"K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.I)


def tres(text: str) -> dict[str, float]:
    """`cpu=8,mem=64G,gres/gpu=2` as numbers; memory in GiB.

    Raises:
        InputError: an entry is not `name=number`.
    """
    found = {}
    for entry in filter(None, text.split(",")):
        name, _, amount = entry.partition("=")
        match = _NUMBER.fullmatch(amount)
        if not match:
            raise InputError(f"{entry!r} is no TRES; write it as cpu=8 or mem=64G")
        # plain memory is in MiB, as slurm.conf has it
        unit = match[2].upper() or ("M" if name == "mem" else "")
        found[name.lower()] = float(match[1]) * (_SIZE[unit] if unit else 1)
    return found


def weights(text: str) -> dict[str, float]:
    """`CPU=1.0,Mem=0.25G,GRES/gpu=2.0`: units per CPU, per GiB, per card; Mem without a letter is per MiB.

    Raises:
        InputError: an entry is not `name=number`.
    """
    found = {}
    for entry in filter(None, text.split(",")):
        name, _, amount = entry.partition("=")
        match = _NUMBER.fullmatch(amount)
        if not match:
            raise InputError(f"{entry!r} is no billing weight; write it as CPU=1.0 or Mem=0.25G")
        unit = match[2].upper() or ("M" if name.lower() == "mem" else "")
        found[name.lower()] = float(match[1]) / (_SIZE[unit] if unit else 1)
    return found


def units(used: dict[str, float], per: dict[str, float], *, largest: bool = False) -> float:
    """Billing units of what a job holds: the sum of amount x weight, or with MAX_TRES the largest of those per node.

    Source: slurm.conf manual, TRESBillingWeights and PriorityFlags=MAX_TRES.
    """
    shares = {name: used.get(name, 0.0) * weight for name, weight in per.items()}
    if not largest:
        return sum(shares.values())
    of_node = [share for name, share in shares.items() if name in ("cpu", "mem") or name.startswith("gres/")]
    everywhere = [share for name, share in shares.items() if not (name in ("cpu", "mem") or name.startswith("gres/"))]
    return max(of_node, default=0.0) + sum(everywhere)
