"""Local file systems and drives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.host.common import HOSTS, is_old, stamp
from checks.tools.disks import Df, DfRow, IoStat, MdStat
from checks.tools.host_log import KernelLog
from checks.tools.nvme import NvmeList, NvmeSmart
from checks.view import Reading, View, observed

_READ_ONLY_IMAGES = re.compile(r"^/dev/(?:loop|sr)\d+")
INODES_CRITICAL_PCT = 90
"""Inodes run out later than blocks: nothing reserves a share of them."""
_SYSTEM = re.compile(r"^/(?:$|var\b|tmp\b|opt$|usr$|home$|run/slurm|spool)")


@rule(
    "host.disk_space",
    title="Is there room on the system's file systems?",
    why="A full root, /var or /tmp stops job starts, logs and the scheduler's own spool.",
    scope="node",
    reads=(Read("df-local", roles=HOSTS), "df-inodes"),
    thresholds=("boot-disk",),
    faults=("host-disk-full",),
)
def disk_space(view: View) -> Iterator[Judgement]:
    """Blocks on every host, inodes on GPU nodes; images mounted read-only are full by nature."""
    workers = set(view.nodes("gpu-node"))
    for node in view.nodes(*HOSTS):
        asked = [view.newest("df-local", node, Df)]
        inodes = view.newest("df-inodes", node, Df)
        if node in workers or inodes.facts is not None:
            asked.append(inodes)
        bad = [j for r in asked for j in _full(view, r)]
        yield from bad
        missing = [r for r in asked if r.facts is None]
        if bad:
            continue
        if missing:
            yield missing[0].unknown()
            continue
        root = next((row for row in asked[0].known.rows if row.mount == "/"), None)
        if root is None or root.used_pct is None:
            yield asked[0].unknown("no line for the root file system")
            continue
        yield ok(
            "there is room on the system's file systems",
            node,
            observed=(observed("/ used", root.used_pct, "%", node),),
            evidence=(asked[0].quote(root.line),),
        )


def _judged(row: DfRow) -> bool:
    # the layers of a container lie on a file system that has a line of its own
    system = _SYSTEM.match(row.mount) and not _READ_ONLY_IMAGES.match(row.source) and row.source != "overlay"
    return bool(system) and row.used_pct is not None


def _full(view: View, reading: Reading[Df]) -> Iterator[Judgement]:
    if reading.facts is None:
        return
    what = "inodes" if reading.command == "df-inodes" else "space"
    for row in filter(_judged, reading.facts.rows):
        used = row.used_pct or 0.0
        level = next((x for x in ("critical", "warn") if used > view.limit("boot-disk", x)), None)
        if level == "critical" and what == "inodes" and used <= INODES_CRITICAL_PCT:
            level = "warn"
        if level:
            yield Judgement(
                Status.CRITICAL if level == "critical" else Status.WARN,
                f"little {what} left on {row.mount}",
                nodes=(reading.node,),
                entities=(f"{reading.node}:{row.mount}",),
                observed=(observed(f"{row.mount} {what} used", used, "%", reading.node),),
                threshold=view.against("boot-disk", level),
                evidence=(reading.quote(row.line),),
                faults=("host-disk-full",),
            )


@rule(
    "host.nvme",
    title="Are the local drives healthy?",
    why="A failing or read-only cache drive makes one node the straggler of every epoch and checkpoint.",
    scope="entity",
    reads=(
        "nvme-smart",
        "disk-log",
        "mdstat",
        Read("nvme-list", optional=True),
        Read("iostat", optional=True),
    ),
    thresholds=("nvme-crit", "nvme-wear", "nvme-await"),
    faults=("host-nvme",),
)
def nvme(view: View) -> Iterator[Judgement]:
    """Health logs of the drives, the kernel's complaints, arrays without a member, drives that are not there."""
    waits = {n: _write_wait(view, n) for n in view.nodes("gpu-node")}
    for node in view.nodes("gpu-node"):
        smart = view.read_each("nvme-smart", NvmeSmart, nodes=(node,))
        log = view.newest("disk-log", node, KernelLog)
        raid = view.newest("mdstat", node, MdStat)
        found = [
            *(j for r in smart for j in _health(view, r)),
            *_complaints(log),
            *_arrays(raid),
            *_slow(view, node, waits),
        ]
        count = _missing(view, node, smart)
        if count is not None and count.status > Status.UNKNOWN:
            found.append(count)
        yield from found
        if found:
            continue
        if unread := _unread(smart, log, raid):
            yield unread
        elif count is not None:
            yield count
        else:
            quotes = tuple(r.quote(r.facts.line) for r in smart[:1] if r.facts)
            worn = [r.facts.used_pct for r in smart if r.facts and r.facts.used_pct is not None]
            values = (observed("most worn drive", max(worn), "%", node),) if worn else ()
            yield ok("the local drives are healthy", node, observed=values, evidence=quotes)


def _unread(smart: list[Reading[NvmeSmart]], log: Reading[KernelLog], raid: Reading[MdStat]) -> Judgement | None:
    """Unknown for the first source that gave no answer; None when all did."""
    for one in smart:
        if one.facts is None:
            return one.unknown()
    if log.facts is None and not log.empty:
        return log.unknown()
    # without a RAID driver /proc/mdstat does not exist
    no_driver = isinstance(raid.outcome, NotAvailable) and "No such file" in raid.outcome.reason
    return None if raid.facts or raid.empty or no_driver else raid.unknown()


def _health(view: View, reading: Reading[NvmeSmart]) -> Iterator[Judgement]:
    facts = reading.facts
    if facts is None:
        return
    drive = (reading.params or ("drive",))[0].removeprefix("/dev/")
    entity = (f"{reading.node}:{drive}",)
    node = reading.node

    def bad(status: Status, summary: str, name: str, value: int, unit: str, line: int | None, limit: str) -> Judgement:
        level = {"nvme-wear": "replace" if status == Status.CRITICAL else "warn"}.get(limit)
        return Judgement(
            status,
            summary,
            nodes=(node,),
            entities=entity,
            observed=(observed(name, value, unit, node),),
            threshold=view.against(limit, level) if limit else None,
            evidence=(reading.quote(line or facts.line),),
            faults=("host-nvme",),
            certainty="established",
        )

    if facts.critical_warning and facts.critical_warning != view.limit("nvme-crit"):
        yield bad(
            Status.CRITICAL,
            "the drive raises a critical warning",
            "critical warning",
            facts.critical_warning,
            "bit mask",
            facts.critical_line,
            "nvme-crit",
        )
    if facts.media_errors:
        yield bad(
            Status.WARN, "the drive has media errors", "media errors", facts.media_errors, "", facts.media_line, ""
        )
    spare, least = facts.spare_pct, facts.spare_threshold_pct
    if spare is not None and least is not None and spare < least:
        yield bad(Status.CRITICAL, "the drive's spare blocks are used up", "spare", spare, "%", facts.spare_line, "")
    if facts.used_pct is not None and facts.used_pct >= view.limit("nvme-wear", "warn"):
        worn_out = facts.used_pct >= view.limit("nvme-wear", "replace")
        yield bad(
            Status.CRITICAL if worn_out else Status.WARN,
            "the drive is worn out" if worn_out else "the drive is nearly worn out",
            "endurance used",
            facts.used_pct,
            "%",
            facts.used_line,
            "nvme-wear",
        )


def _complaints(log: Reading[KernelLog]) -> Iterator[Judgement]:
    if log.facts is None:
        return
    events = [e for e in log.facts.events if e.kind == "read-only" or not is_old(e.at, log.read_at)]
    if events:
        yield Judgement(
            Status.CRITICAL
            if any(e.kind in ("read-only", "disk-lost", "raid-failure") for e in events)
            else Status.WARN,
            "the kernel reports trouble with a local drive",
            nodes=(log.node,),
            entities=tuple(dict.fromkeys(f"{log.node}:{e.subject}" for e in events if e.subject))[:8],
            observed=(observed("log lines", len(events), "", log.node),),
            evidence=tuple(log.quote(e.line) for e in events[:3]),
            faults=("host-nvme",),
            at=stamp(e.at for e in events),
        )


def _arrays(raid: Reading[MdStat]) -> Iterator[Judgement]:
    for array in raid.facts.arrays if raid.facts else ():
        if not array.active or array.failed or "_" in (array.state or ""):
            yield Judgement(
                Status.WARN,
                "a RAID array lacks a member",
                nodes=(raid.node,),
                entities=(f"{raid.node}:{array.name}",),
                observed=(observed("members", array.state, "", raid.node),),
                evidence=(raid.quote(array.line, array.state_line or array.line),),
                faults=("host-nvme",),
            )


_Wait = tuple[float, Reading[IoStat], tuple[int, int]]


def _write_wait(view: View, node: str) -> _Wait | None:
    """Least write wait over the samples, of the NVMe drive where it is worst: (ms, reading, its lines)."""
    reading = view.newest("iostat", node, IoStat)
    if reading.facts is None:
        return None
    drives: dict[str, list[tuple[float, tuple[int, int]]]] = {}
    for row in reading.facts.rows:
        if row.device.startswith("nvme") and row.write_await_ms is not None:
            lines = (row.line, row.last_line or row.line)
            drives.setdefault(row.device, []).append((row.write_await_ms, lines))
    if not drives:
        return None
    wait_ms, lines = max(min(rows) for rows in drives.values())
    return wait_ms, reading, lines


def _slow(view: View, node: str, waits: dict[str, _Wait | None]) -> Iterator[Judgement]:
    here = waits[node]
    others = [w[0] for n, w in waits.items() if w is not None and n != node]
    limit = view.limit("nvme-await")
    if here is None or here[0] <= limit or not others or median(others) > limit / 2:
        return
    wait_ms, reading, lines = here
    yield Judgement(
        Status.WARN,
        "writes to a local drive wait long in every sample, unlike on the other nodes",
        nodes=(node,),
        observed=(observed("write wait", wait_ms, "ms", node),),
        threshold=view.against("nvme-await"),
        evidence=(reading.quote(*lines),),
        faults=("host-nvme",),
        certainty="hypothesis",
    )


def _missing(view: View, node: str, smart: list[Reading[NvmeSmart]]) -> Judgement | None:
    """A drive that the cluster file promises and nobody sees; None when all are there or none is promised."""
    expected = view.cluster.expect(node).nvme
    if expected is None:
        return None
    listed = view.newest("nvme-list", node, NvmeList)
    answered = sum(r.facts is not None for r in smart)
    if answered >= expected:
        return None
    if listed.facts is None and not listed.empty:
        return listed.unknown()
    count = len({d.device for d in listed.facts.drives}) if listed.facts else 0
    if count >= expected:
        return None
    return Judgement(
        Status.WARN,
        "a local drive is missing",
        nodes=(node,),
        observed=(observed("NVMe drives", count, "", node), observed("expected", expected, "", node)),
        evidence=(listed.quote(1, max(1, len(listed.facts.drives) if listed.facts else 1)),),
        faults=("host-nvme",),
        certainty="established",
    )
