"""Messages from workers to the screens that started them; workers touch no widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from checks.clusters import Opened
    from checks.findings import Finding
    from checks.runner import Progress
    from runbooks.session import Session
    from worksheets.desk import Desk
    from worksheets.finding import Entry
    from worksheets.plan import Given, Plan
    from worksheets.whatif.tornado import Tornado


@dataclass(frozen=True)
class SessionRow:
    """A recent session as the home screen lists it."""

    journal: Path
    title: str
    cluster: str
    started: str
    state: str


@dataclass(frozen=True)
class ClusterRow:
    """A cluster to choose from."""

    name: str
    description: str
    overlays: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunbookRow:
    """A complaint to choose from: title and the words people use for it."""

    id: str
    title: str
    words: tuple[str, ...] = ()


@dataclass
class ShelvesRead(Message):
    """What there is to choose from has been read."""

    clusters: Sequence[ClusterRow] = ()
    runbooks: Sequence[RunbookRow] = ()
    sessions: Sequence[SessionRow] = ()
    problems: Sequence[str] = field(default_factory=tuple)


@dataclass
class ClusterOpened(Message):
    """A cluster folder was read; `then` names what was asked for: a runbook id, `=nodes`, or nothing."""

    opened: Opened
    then: str
    name: str
    overlays: tuple[str, ...]


@dataclass
class SessionReady(Message):
    """A walk was started or resumed."""

    session: Session


@dataclass
class Progressed(Message):
    """A check began or ended."""

    progress: Progress


@dataclass
class ChecksDone(Message):
    """A run of checks ended; `cancelled` when the person stopped it."""

    findings: Sequence[Finding] = ()
    cancelled: bool = False


@dataclass
class OutputRead(Message):
    """Raw output for the evidence screen: lines as recorded, or why there are none."""

    index: int
    lines: Sequence[str] = ()
    why: str = ""


@dataclass
class ReportReady(Message):
    """The report of a session as Markdown."""

    text: str


@dataclass
class ReportSaved(Message):
    """The report lies in a file."""

    path: Path


@dataclass
class DeskReady(Message):
    """Worksheets have been read; `entries` are there when a list of them was asked for."""

    desk: Desk
    entries: Sequence[Entry] = ()


@dataclass
class RangesRead(Message):
    """What the results of a sheet usually lie between, reckoned for one state of it."""

    state: int
    ranges: Mapping[str, str]


@dataclass
class ClusterMeasured(Message):
    """What a cluster tells its worksheets."""

    cluster: str
    found: Mapping[str, Given]


@dataclass
class SheetSaved(Message):
    """An export, or the plan, lies in a file; `kept` names what stays as it was at the export."""

    path: Path
    kept: Sequence[str] = ()
    plan: bool = False


@dataclass
class PlanRead(Message):
    """A plan to go on with."""

    path: Path
    plan: Plan


@dataclass
class TornadoRead(Message):
    """What sways a result."""

    tornado: Tornado
