"""Slurm's own currency: billing units of a job from its TRES and a partition's TRESBillingWeights (slurm.conf)."""

from __future__ import annotations

import re

from common.errors import InputError

_PER_GIB = {"K": 1024**2, "M": 1024, "G": 1.0, "T": 1 / 1024, "P": 1 / 1024**2}
_WEIGHT = re.compile(r"([a-z][a-z0-9_/:.-]*)=(\d+(?:\.\d+)?)([KMGTP]?)", re.I)
_ON_NODE = ("cpu", "mem", "gres/")


def weights(text: str) -> dict[str, float]:
    """`CPU=1.0,Mem=0.25G,GRES/gpu=2.0`: units per CPU, per GiB, per card; Mem without a letter is per MiB.

    Raises:
        InputError: an entry is not `name=number`, or there is none.
    """
    found = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = _WEIGHT.fullmatch(entry)
        if not match:
            raise InputError(f"{entry!r} is no billing weight; write it as CPU=1.0 or Mem=0.25G")
        name = match[1].lower()
        unit = match[3].upper() or ("M" if name == "mem" else "")
        found[name] = float(match[2]) * (_PER_GIB[unit] if unit else 1)
    if not found:
        raise InputError("no billing weights; write them as TRESBillingWeights in slurm.conf: CPU=1.0,GRES/gpu=2.0")
    return found


def units_sql(per: dict[str, float], tres: str, *, largest: bool = False) -> str:
    """SQL for the billing units of what a job holds, `tres` being the SQL of its AllocTRES.

    The sum of amount x weight; with MAX_TRES the largest of those on a node, and the sum of what no node holds
    (licences, burst buffers). Source: slurm.conf manual, TRESBillingWeights and PriorityFlags=MAX_TRES.
    """
    shares = {name: f"{_amount_sql(name, tres)} * {weight!r}" for name, weight in per.items()}
    if not largest:
        return " + ".join(shares.values())
    on_node = [share for name, share in shares.items() if name.startswith(_ON_NODE)]
    elsewhere = [share for name, share in shares.items() if not name.startswith(_ON_NODE)]
    most = f"greatest({', '.join(on_node)}, 0)" if on_node else "0"
    return " + ".join([most, *elsewhere])


def _amount_sql(name: str, tres: str) -> str:
    # names are of letters, digits and /:_.- alone (see weights), so that they cannot end the quotes
    text = f"split_part(split_part(',' || lower({tres}), ',{name}=', 2), ',', 1)"
    if name != "mem":
        return f"coalesce(try_cast({text} as double), 0)"
    number = f"coalesce(try_cast(rtrim({text}, 'kmgtp') as double), 0)"
    cases = " ".join(f"when '{letter.lower()}' then {1 / per_gib!r}" for letter, per_gib in _PER_GIB.items())
    # plain memory is in MiB, as slurm.conf has it
    return f"{number} * case right({text}, 1) {cases} else {1 / 1024!r} end"
