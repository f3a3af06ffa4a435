"""What a bill is made of. A card-hour is one GPU for one hour, whoever owns the rest of its node."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

GROUPS = ("account", "user", "partition", "month", "card")
CREDITED = ("NODE_FAIL", "BOOT_FAIL")
"""States of Slurm in which the machine failed and not the job (`sacct` manual, JOB STATE CODES)."""
RECONCILE_PCT = 1.0
CARD_HOURS, UNIT_HOURS = "card-hours", "billing-unit-hours"


@dataclass(frozen=True, slots=True)
class RateCard:
    """Prices of a card-hour by type of card as Slurm names it (`h100`); `other` is for types without one."""

    rates: dict[str, float] = field(default_factory=dict)
    other: float = 0.0

    def of(self, card: str) -> float:
        """Price of one hour of a card."""
        return self.rates.get(card.lower(), self.other)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` to before `end`, both in the cluster's local time as `sacct` prints it."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Terms:
    """How a bill is to be made.

    `capacity_cards` cards stood ready all through the window: what nobody used is idle, an overhead of its own or with
    `spread_idle` shared out by use. `report` is text of `sreport` to check against. With `weights` (TRESBillingWeights)
    Slurm's billing units are billed in place of cards, with `max_tres` as PriorityFlags=MAX_TRES has it.
    """

    by: str = "account"
    window: Window | None = None
    timezone: str | None = None
    capacity_cards: int = 0
    spread_idle: bool = False
    report: str | None = None
    credited: tuple[str, ...] = CREDITED
    weights: dict[str, float] | None = None
    max_tres: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """What one account, user, partition, month or type of card used."""

    name: str
    hours: float
    cost: float
    share: float
    jobs: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something the reader must know about the numbers; severities as in worksheets."""

    rule: str
    severity: str
    text: str


@dataclass(frozen=True, slots=True)
class Bill:
    """Card-hours of a window, or with billing weights hours of billing units (`unit` says which).

    `charged` and `cost` leave the credited hours out.

    `idle_card_hours` and `reconcile_diff_pct` are None where nothing was given to reckon them from.
    """

    by: str
    unit: str
    lines: tuple[Line, ...]
    window: Window | None
    hours: float
    charged: float
    cost: float
    credited: float
    credit: float
    unattributed: float
    jobs: int
    jobs_without_gpu: int
    rows: int
    rows_merged: int
    rows_not_understood: int
    idle_card_hours: float | None
    idle_cost: float | None
    reconcile_diff_pct: float | None
    notes: tuple[Note, ...]

    @property
    def state(self) -> str:
        """The worst of the notes."""
        return max((n.severity for n in self.notes), key=("ok", "info", "warn", "fail").index, default="ok")
