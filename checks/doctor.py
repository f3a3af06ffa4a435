"""Can the nodes be reached, logged in to and read: one line of answers a node, equal ones folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from checks import catalogue, params, plan, rules
from checks.findings import Model, Status
from checks.inventory import Cluster
from checks.nodesets import fold
from checks.outputs import NodeEvent
from checks.plan import Wanted
from checks.tools.presence import Sudo, ToolPath, ToolVersion
from checks.view import View

if TYPE_CHECKING:
    from checks.transports.live import Live

OFF = "the clock is off"


class Health(Model):
    """What `doctor` found of nodes that are alike. `clock_offset_s` is the largest of them, node minus this machine."""

    nodes: str
    status: Status
    reason: str = ""
    sudo: bool | None = None
    missing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    clock_offset_s: float | None = None


def examine(
    cluster: Cluster,
    live: Live,
    *,
    nodes: Iterable[str] | None = None,
    on_node: Callable[[NodeEvent], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Health]:
    """Asks every node, worst first. `missing` are tools that checks cannot do without, `absent` those that help."""
    chosen = sorted(set(nodes) if nodes is not None else set(cluster.nodes()))
    view = View(cluster, live)
    wanted = [w for node in chosen for w in _questions(cluster, node)]
    live.collect(wanted, round=1, on_node=on_node, cancelled=cancelled)
    needed = _needed(view)
    return folded([_health(cluster, live, view, node, needed.get(node, frozenset())) for node in chosen])


def folded(rows: Iterable[Health]) -> list[Health]:
    """Rows that say the same as one, worst first."""
    groups: dict[tuple[object, ...], list[Health]] = {}
    for row in rows:
        same = (row.status, row.reason, row.sudo, row.missing, row.absent, tuple(sorted(row.versions.items())))
        groups.setdefault(same, []).append(row)
    made = []
    for alike in groups.values():
        offsets = [r.clock_offset_s for r in alike if r.clock_offset_s is not None]
        made.append(
            alike[0].model_copy(
                update={
                    "nodes": fold(r.nodes for r in alike),
                    "clock_offset_s": max(offsets, key=abs, default=None),
                }
            )
        )
    return sorted(made, key=lambda r: (-r.status, r.nodes))


def _questions(cluster: Cluster, node: str) -> Iterable[Wanted]:
    if cluster.os_of(node):
        # a switch has its own shell and tools; that it answers at all is what can be asked
        yield from (Wanted(node, c.id) for c in _switch_probe(cluster, node))
        return
    yield Wanted(node, "epoch")
    if cluster.spec.access.sudo:
        yield Wanted(node, "sudo-ok")
    yield from (Wanted(node, "tool-path", (tool,)) for tool in params.TOOLS)
    yield from (Wanted(node, "tool-version", (tool,)) for tool in params.VERSIONED_TOOLS)


def _switch_probe(cluster: Cluster, node: str) -> list[catalogue.Command]:
    own = [
        c
        for c in catalogue.table().values()
        if c.os == cluster.os_of(node) and c.runnable and not c.params and "version" in c.id
    ]
    return own[:1]


def _needed(view: View) -> dict[str, frozenset[str]]:
    """By node, the tools that required readings of checks start with."""
    found: dict[str, set[str]] = {}
    for rule in rules.every():
        optional = {read.command for read in rule.reads if read.optional}
        for wanted in plan.simple([rule], view):
            word = catalogue.get(wanted.command).command.split()[0]
            if wanted.command not in optional and word in params.TOOLS:
                found.setdefault(wanted.node, set()).add(word)
    return {node: frozenset(words) for node, words in found.items()}


def _health(cluster: Cluster, live: Live, view: View, node: str, needed: frozenset[str]) -> Health:
    if (why := live.failures.get(node)) is not None:
        return Health(nodes=node, status=Status.UNKNOWN, reason=why.reason)
    offset = live.clock_offsets_s.get(node)
    off = offset is not None and abs(offset) > view.limit("clock-skew-warn", "warn")
    clock = {"clock_offset_s": round(offset, 3) if offset is not None else None}
    if cluster.os_of(node):
        return Health(
            nodes=node,
            status=Status.WARN if off else Status.OK,
            reason=OFF if off else "",
            **clock,
        )
    gone, versions = [], {}
    for tool in params.TOOLS:
        if view.newest("tool-path", node, ToolPath, (tool,)).facts is None:
            gone.append(tool)
    for tool in params.VERSIONED_TOOLS:
        if tool not in gone and (said := view.newest("tool-version", node, ToolVersion, (tool,)).facts):
            versions[tool] = said.said
    missing = tuple(t for t in gone if t in needed)
    sudo = view.newest("sudo-ok", node, Sudo).facts if cluster.spec.access.sudo else None
    refused = cluster.spec.access.sudo and not (sudo and sudo.allowed)
    reasons = [
        *(["tools are missing"] if missing else []),
        *([OFF] if off else []),
        *(["sudo asks for a password"] if refused else []),
    ]
    return Health(
        nodes=node,
        status=Status.WARN if reasons else Status.OK,
        reason=", ".join(reasons),
        sudo=sudo.allowed if sudo else None,
        missing=missing,
        absent=tuple(t for t in gone if t not in needed),
        versions=versions,
        **clock,
    )
