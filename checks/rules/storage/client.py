"""The client's side: network of the file system, limits, evictions, mounts, metadata, other jobs, local cache."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from checks.findings import Evidence, Status
from checks.judgement import Judgement, ok, skipped
from checks.rules import Read, rule
from checks.rules.storage.common import only, servers_known, shared
from checks.tools.disks import Df, Mounts
from checks.tools.lnet import Lnet
from checks.tools.lustre_log import LustreLog
from checks.tools.lustre_params import ClientStats, RpcStats, Tunables
from checks.tools.lustre_server import JobStats
from checks.view import Reading, View, Window, observed

RECENT = timedelta(hours=24)
OPENS_PER_S = 500.0
"""Opens of one client beyond this rate make the metadata server the bottleneck of a data loader."""
OPEN_MS = 20.0
CLUMP_PCT = 60.0
SMALL_PAGES = 16
ONE_JOB_SHARE = 0.5


@rule(
    "storage.lnet",
    title="Does Lustre use its own fast network?",
    why="LNet on a management port gives a tenth of the speed and looks like a slow file system.",
    scope="node",
    reads=("lnet",),
    faults=("st-lnet",),
    applies=only("lustre"),
)
def lnet(view: View) -> Iterator[Judgement]:
    """Interfaces and state of LNet against the storage and management ports."""
    spec = view.cluster.spec.interfaces
    readings = view.read("lnet", Lnet, roles=("storage-client",))
    fast = sum(any(n.net.startswith("o2ib") for n in r.facts.nids) for r in readings if r.facts is not None)
    most_fast = fast * 2 > sum(r.facts is not None for r in readings)
    for r in readings:
        if r.facts is None:
            yield r.unknown()
            continue
        slow = [n for n in r.facts.nids if set(n.interfaces) & set(spec.management)]
        tcp = not any(n.net.startswith("o2ib") for n in r.facts.nids)
        down = [n for n in r.facts.nids if n.status and n.status != "up"]
        ill = [n for n in r.facts.nids if n.health is not None and n.health < 1000]
        untold = [n for n in r.facts.nids if n.status is None or not n.interfaces]
        nets = ", ".join(sorted({f"{n.net} on {' '.join(n.interfaces) or '?'}" for n in r.facts.nids}))
        value = (observed("LNet", nets, "", r.node),)
        first = r.facts.nids[0]
        if slow or (tcp and most_fast):
            words = (
                "Lustre runs over the management network" if slow else "Lustre runs over TCP, unlike on the other nodes"
            )
        elif down:
            words = "an LNet interface is down"
        elif ill:
            words = "an LNet interface has lost health"
        elif untold:
            yield r.unknown("the state or the interface of an LNet network is not told")
            continue
        else:
            yield ok("Lustre uses its own network", r.node, observed=value, evidence=(r.quote(first.line),))
            continue
        culprit = (slow or down or ill or [first])[0]
        yield Judgement(
            Status.CRITICAL if not ill or slow or down else Status.WARN,
            words,
            nodes=(r.node,),
            entities=(f"{r.node}:{culprit.nid}",),
            observed=value,
            evidence=(r.quote(culprit.line),),
            faults=("st-lnet",),
            certainty="established" if slow or most_fast or down else "supported",
        )


@rule(
    "storage.client_limits",
    title="Do client limits let the network be used?",
    why="RPCs that pile up at the limit mean that the client throttles itself; many tiny RPCs mean writes that fight "
    "for locks.",
    scope="node",
    reads=("lctl-rpc-stats", "lctl-osc-tune"),
    thresholds=("rpcs-in-flight", "dirty-mb"),
    faults=("st-client-tuning", "st-lock-contention"),
    applies=only("lustre"),
)
def client_limits(view: View) -> Iterator[Judgement]:
    """The histogram of RPCs in flight against the limit in force."""
    for tune in view.read("lctl-osc-tune", Tunables, roles=("storage-client",)):
        stats = view.newest("lctl-rpc-stats", tune.node, RpcStats)
        if tune.facts is None or stats.facts is None:
            yield (tune if tune.facts is None else stats).unknown()
            continue
        yield _limits(view, tune, stats)


def _limits(view: View, tune: Reading[Tunables], stats: Reading[RpcStats]) -> Judgement:
    limits = tune.known.all_of("max_rpcs_in_flight")
    clumped, tiny = [], []
    for t in stats.known.targets:
        limit = limits.get(t.target) or (min(limits.values()) if limits else view.limit("rpcs-in-flight"))
        at_limit = sum(share for size, share in t.in_flight.items() if size >= limit - 1)
        if at_limit > CLUMP_PCT:
            clumped.append(t)
        if t.pages and sum(share for size, share in t.pages.items() if size <= SMALL_PAGES) > CLUMP_PCT:
            tiny.append(t)
    node, total = tune.node, len(stats.known.targets)
    value = (observed("max_rpcs_in_flight", min(limits.values(), default=None), "", node),)
    if total and len(clumped) * 2 > total:
        return Judgement(
            Status.WARN,
            "RPCs pile up at the client's own limit",
            nodes=(node,),
            observed=(*value, observed("targets at the limit", len(clumped), "", node)),
            threshold=view.against("rpcs-in-flight"),
            evidence=(stats.quote(clumped[0].line),),
            faults=("st-client-tuning",),
            certainty="supported",
        )
    if total and len(tiny) * 2 > total:
        return Judgement(
            Status.WARN,
            "most writes are tiny: ranks share a file and fight for its locks",
            nodes=(node,),
            observed=(observed("targets with tiny writes", len(tiny), "", node),),
            evidence=(stats.quote(tiny[0].line),),
            faults=("st-lock-contention",),
            certainty="supported",
        )
    return ok("RPCs stay below the client's limits", node, observed=value, evidence=(stats.quote(1),))


@rule(
    "storage.evictions",
    title="Has a server thrown a client out?",
    why="An evicted client loses unwritten data and gets I/O errors; the reason is usually the network between them.",
    scope="node",
    reads=("lustre-log",),
    faults=("st-client-evicted", "st-ost-down"),
    applies=only("lustre"),
)
def evictions(view: View) -> Iterator[Judgement]:
    """Evictions of the last day; a connection lost and not restored."""
    for r in view.read("lustre-log", LustreLog, roles=("storage-client",)):
        if r.facts is None:
            yield ok("Lustre logged nothing", r.node) if r.empty else r.unknown()
            continue
        events = [e for e in r.facts.events if _recent(e.at, r)]
        evicted = [e for e in events if e.kind == "evicted"]
        open_ = {e.target: e for e in events if e.kind in ("lost", "waiting")}
        for e in events:
            if e.kind == "restored":
                open_.pop(e.target, None)
        if evicted:
            yield Judgement(
                Status.CRITICAL,
                "a server evicted this client",
                nodes=(r.node,),
                entities=tuple(dict.fromkeys(e.target for e in evicted if e.target)),
                evidence=tuple(r.quote(e.line) for e in evicted[:3]),
                faults=("st-client-evicted",),
                at=evicted[0].at.isoformat() if evicted[0].at and evicted[0].at.tzinfo else "",
            )
        elif open_:
            yield Judgement(
                Status.CRITICAL,
                "a connection to a target was lost and not restored",
                nodes=(r.node,),
                entities=tuple(t for t in open_ if t),
                evidence=tuple(r.quote(e.line) for e in list(open_.values())[:3]),
                faults=("st-ost-down",),
                certainty="supported",
            )
        else:
            yield ok("no eviction, no lost connection", r.node, evidence=(r.quote(1),))


def _recent(at: datetime | None, r: Reading[LustreLog]) -> bool:
    if at is None or r.read_at is None or at.tzinfo is None:
        return True
    return r.read_at - at <= RECENT


@rule(
    "storage.mounts",
    title="Is the file system mounted everywhere?",
    why="A node without the mount writes its checkpoint into a local folder, or fails at the first open.",
    scope="node",
    reads=("findmnt",),
    faults=("st-mount-missing",),
    applies=shared,
)
def mounts(view: View) -> Iterator[Judgement]:
    """The mount of the cluster file, else what most nodes have."""
    wanted = view.cluster.spec.storage.mount
    kinds = ("lustre", "nfs", "nfs4", "gpfs", "beegfs", "ceph", "fuse.juicefs", "wekafs")
    readings = view.read("findmnt", Mounts, roles=("storage-client",))
    if wanted is None:
        counted: dict[str, int] = {}
        for r in readings:
            for m in r.facts.mounts if r.facts else ():
                if m.fstype in kinds:
                    counted[m.target] = counted.get(m.target, 0) + 1
        wanted = max(counted, key=lambda t: counted[t], default=None)
    for r in readings:
        if r.facts is None:
            yield r.unknown()
            continue
        if wanted is None:
            yield r.unknown("which mount to expect is not known (storage.mount)")
            continue
        found = [m for m in r.facts.mounts if m.target == wanted]
        if not found:
            yield Judgement(
                Status.CRITICAL,
                "the shared file system is not mounted",
                nodes=(r.node,),
                entities=(wanted,),
                evidence=(r.quote(1),),
                faults=("st-mount-missing",),
            )
        elif "ro" in found[0].options:
            yield Judgement(
                Status.CRITICAL,
                "the shared file system is mounted read-only",
                nodes=(r.node,),
                entities=(wanted,),
                evidence=(r.quote(found[0].line),),
                faults=("st-mount-missing",),
                certainty="supported",
            )
        else:
            yield ok("mounted", r.node, entities=(wanted,), evidence=(r.quote(found[0].line),))


@rule(
    "storage.metadata",
    title="Are there more opens than reads?",
    why="A data set of millions of small files is limited by the metadata server, not by any OST.",
    scope="node",
    reads=(Read("lctl-llite-stats", rounds=2),),
    faults=("st-mds-small-files",),
    applies=only("lustre"),
)
def metadata(view: View) -> Iterator[Judgement]:
    """Opens per second and their mean time between two readings."""
    windows, without = view.windows("lctl-llite-stats", ClientStats, roles=("storage-client",))
    yield from (r.unknown() for r in without)
    for w in windows:
        yield _opens(w)


def _opens(w: Window[ClientStats]) -> Judgement:
    before, after = w.before.operations.get("open"), w.after.operations.get("open")
    if after is None or before is None:
        return ok("no file was opened", w.node, evidence=(w.last.quote(1),))
    opens = after.count - before.count
    if opens < 0:
        return w.last.unknown("counters ran backwards: the file system was mounted anew")
    if w.seconds is None:
        return w.last.unknown("the rounds carry no time, so there is no rate")
    rate = opens / w.seconds
    spent_ms = (after.total - before.total) / opens / 1000 if opens and after.total and before.total else None
    values = (observed("opens", round(rate, 1), "1/s", w.node), observed("time per open", spent_ms, "ms", w.node))
    if rate > OPENS_PER_S and (spent_ms is None or spent_ms > OPEN_MS):
        return Judgement(
            Status.WARN,
            "opens dominate: small files keep the metadata server busy",
            nodes=(w.node,),
            observed=values,
            evidence=(w.first.quote(before.line), w.last.quote(after.line)),
            faults=("st-mds-small-files",),
            certainty="established" if spent_ms else "supported",
        )
    return ok("opens are few or fast", w.node, observed=values, evidence=(w.last.quote(after.line),))


@rule(
    "storage.neighbours",
    title="Does another job use the file system up?",
    why="A backup or another team's job can take the bandwidth that a save needs; only the servers know.",
    scope="cluster",
    reads=(Read("oss-jobstats", rounds=2),),
    faults=("st-noisy",),
    applies=servers_known,
)
def neighbours(view: View) -> Iterator[Judgement]:
    """Bytes by job between two readings, over all servers."""
    windows, without = view.windows("oss-jobstats", JobStats, roles=("storage-server",))
    yield from (r.unknown() for r in without)
    moved: dict[str, int] = {}
    quotes: dict[str, Evidence] = {}
    for w in windows:
        before = {(j.target, j.job): j.read_bytes + j.write_bytes for j in w.before.jobs}
        for j in w.after.jobs:
            grown = j.read_bytes + j.write_bytes - before.get((j.target, j.job), 0)
            moved[j.job] = moved.get(j.job, 0) + max(0, grown)
            quotes.setdefault(j.job, w.last.quote(j.line))
    total = sum(moved.values())
    if not windows:
        return
    top = max(moved, key=lambda j: moved[j], default=None)
    if top is not None and len(moved) > 1 and total and moved[top] / total > ONE_JOB_SHARE:
        yield Judgement(
            Status.WARN,
            "one job moves most of the bytes",
            entities=(f"job {top}",),
            observed=(observed("share", round(moved[top] / total * 100), "%"),),
            evidence=(quotes[top],),
            faults=("st-noisy",),
            certainty="hypothesis",
        )
    else:
        yield ok("no single job stands out")


@rule(
    "storage.hot_tier",
    title="Has the local cache room?",
    why="A full cache on local NVMe sends every read to the shared file system.",
    scope="node",
    reads=("df-local",),
    faults=("st-cache-cold",),
)
def hot_tier(view: View) -> Iterator[Judgement]:
    """Local file systems other than the system's own."""
    usual = ("/", "/boot", "/boot/efi", "/var", "/tmp", "/home", "/usr", "/opt", "/run", "/dev/shm")
    for r in view.read("df-local", Df, roles=("gpu-node",)):
        if r.facts is None:
            yield r.unknown()
            continue
        caches = [d for d in r.facts.rows if d.mount not in usual and d.source.startswith("/dev/")]
        if not caches:
            yield skipped("no local cache file system here")
            continue
        full = [d for d in caches if d.used_pct is not None and d.used_pct >= 98]
        for d in full:
            yield Judgement(
                Status.WARN,
                "the local cache is full",
                nodes=(r.node,),
                entities=(f"{r.node}:{d.mount}",),
                observed=(observed("use", d.used_pct, "%", r.node),),
                evidence=(r.quote(d.line),),
                faults=("st-cache-cold",),
                certainty="supported",
            )
        if not full:
            yield ok("the local cache has room", r.node, evidence=(r.quote(caches[0].line),))
