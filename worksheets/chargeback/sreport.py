"""What Slurm itself says was used: `sreport -P cluster Utilization -T gres/gpu`, to check a bill against."""

from __future__ import annotations

import re

from common.errors import InputError

PER_HOUR = {"seconds": 3600.0, "minutes": 60.0, "hours": 1.0}
_UNIT = re.compile(r"reported in (?:TRES|CPU) (Seconds|Minutes|Hours)", re.I)


def allocated_hours(text: str, tres: str = "gres/gpu", unit: str = "minutes") -> float:
    """Allocated hours of all rows of a TRES; `unit` holds where the report does not name its own.

    Without `-n` the report names its columns, with it they are Cluster|TRES Name|Allocated|…; without `-t` it counts
    minutes.

    Raises:
        InputError: no row of that TRES, or amounts that are no numbers.
    """
    if told := _UNIT.search(text):
        unit = told[1].lower()
    total, found, name_at, amount_at = 0.0, False, 1, 2
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")]
        heads = [cell.lower() for cell in cells]
        if "allocated" in heads:
            amount_at = heads.index("allocated")
            name_at = next((i for i, head in enumerate(heads) if head.startswith("tres")), name_at)
            continue
        if len(cells) <= max(name_at, amount_at) or cells[name_at].lower() != tres:
            continue
        amount = cells[amount_at].split("(")[0]
        if amount.endswith("%"):
            raise InputError(f"line {number}: percentages cannot be checked against; run sreport with -t Hours")
        try:
            total += float(amount)
        except ValueError:
            raise InputError(f"line {number}: {amount!r} is no amount; expected sreport -P … -T {tres}") from None
        found = True
    if not found:
        raise InputError(f"no row of {tres} in it; run sreport -P cluster Utilization -T {tres} -t Hours")
    return total / PER_HOUR[unit]
