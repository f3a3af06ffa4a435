"""Space, inodes, quota, and whether every target answers and is as fast as its peers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from checks.findings import Status
from checks.judgement import Judgement, ok, skipped
from checks.rules import Read, rule
from checks.rules.storage.common import each_param, mount_of, one_client, only, servers_known
from checks.tools.lustre_df import LustreDf, Quotas, Target
from checks.tools.lustre_params import Imports
from checks.tools.lustre_server import BrwStats
from checks.view import Reading, View, observed

SLOW_MS = 512
SLOW_SHARE = 0.05
FLAGS = {
    "D": "a target is degraded: its disks are being rebuilt",
    "R": "a target is read-only",
    "N": "a target takes no new objects",
}
"""Letters of `lfs df` that say more than the space does."""


@rule(
    "storage.ost_space",
    title="Has every OST room, and about as much as the others?",
    why="A file cannot grow on a full OST however much space the rest has. One OST that is fuller than its peers slows "
    "only the files with objects on it; it does not explain a slow save of a new file by itself.",
    scope="entity",
    reads=("lfs-df",),
    thresholds=("ost-full", "ost-imbalance"),
    faults=("st-ost-full", "st-ost-imbalance"),
    applies=only("lustre"),
)
def ost_space(view: View) -> Iterator[Judgement]:
    """Use of each OST; spread over all but single outliers."""
    r = one_client(view, "lfs-df", LustreDf, (mount_of(view),))
    if r.facts is None:
        yield r.unknown()
        return
    osts = [t for t in r.facts.of("OST") if t.active]
    told = [t for t in osts if t.used_pct is not None]
    if not told:
        yield r.unknown("the use of no OST is told")
        return
    full = [t for t in told if (t.used_pct or 0) >= view.limit("ost-full", "fault") or "S" in t.flags]
    near = [t for t in told if t not in full and (t.used_pct or 0) >= view.limit("ost-full", "warn")]
    for t in full:
        yield _space(view, r, t, Status.CRITICAL, "an OST is full", "fault", certain=True)
    for t in near:
        words = "an OST is nearly full; it slows only files with objects on it"
        yield _space(view, r, t, Status.WARN, words, "warn", certain=len(near) > len(told) / 2)
    shares = sorted(t.used_pct or 0 for t in told if t not in full and t not in near)
    spread = shares[-1] - shares[0] if shares else 0.0
    values = (
        observed("OSTs", len(told)),
        observed("median use", round(median(t.used_pct or 0 for t in told), 1), "%"),
        observed("spread", round(spread, 1), "%"),
    )
    if spread > view.limit("ost-imbalance"):
        yield Judgement(
            Status.WARN,
            "the OSTs are unevenly used",
            observed=values,
            threshold=view.against("ost-imbalance"),
            evidence=tuple(r.quote(t.line) for t in (told[0], told[-1])),
            faults=("st-ost-imbalance",),
            certainty="supported",
        )
    elif not full and not near:
        yield ok("space and balance are fine", observed=values, evidence=(r.quote(1, 4),))


def _space(
    view: View, r: Reading[LustreDf], t: Target, status: Status, words: str, level: str, *, certain: bool
) -> Judgement:
    return Judgement(
        status,
        words,
        entities=(t.name,),
        observed=(observed("use", t.used_pct, "%"),),
        threshold=view.against("ost-full", level),
        evidence=(r.quote(t.line),),
        # nearly full is worth a warning and explains nothing yet
        faults=("st-ost-full",) if certain else (),
    )


@rule(
    "storage.inodes",
    title="Are there inodes left?",
    why="A full MDT refuses new files although the space is there.",
    scope="entity",
    reads=("lfs-dfi",),
    thresholds=("mdt-inodes",),
    faults=("st-inodes",),
    applies=only("lustre"),
)
def inodes(view: View) -> Iterator[Judgement]:
    """Use of each MDT's inodes."""
    r = one_client(view, "lfs-dfi", LustreDf, (mount_of(view),))
    if r.facts is None:
        yield r.unknown()
        return
    mdts = [t for t in r.facts.of("MDT") if t.used_pct is not None]
    if not mdts:
        yield r.unknown("no MDT is listed")
    for t in mdts:
        value = (observed("inodes used", t.used_pct, "%"),)
        level = next((x for x in ("fault", "warn") if (t.used_pct or 0) >= view.limit("mdt-inodes", x)), None)
        if level is None:
            yield ok("inodes are left", observed=value, evidence=(r.quote(t.line),))
        else:
            yield Judgement(
                Status.CRITICAL if level == "fault" else Status.WARN,
                "an MDT runs out of inodes",
                entities=(t.name,),
                observed=value,
                threshold=view.against("mdt-inodes", level),
                evidence=(r.quote(t.line),),
                faults=("st-inodes",),
                certainty="established" if level == "fault" else "hypothesis",
            )


@rule(
    "storage.quota",
    title="Is the user within quota?",
    why="A write beyond the quota fails like a full disk, for one user only.",
    scope="entity",
    reads=(Read("lfs-quota", optional=True),),
    faults=("st-quota",),
    applies=only("lustre"),
)
def quota(view: View) -> Iterator[Judgement]:
    """Exceeded limits; skipped while nobody said whose quota to look at."""
    readings = each_param(view, "lfs-quota", Quotas)
    if not any(view.store.params(n, "lfs-quota") for n in view.nodes("storage-client")):
        yield skipped("no user named whose quota to look at")
        return
    for r in readings:
        if r.facts is None:
            yield r.unknown()
            continue
        over = [q for q in (r.facts.blocks, r.facts.files) if q.exceeded or (q.hard and q.used >= q.hard)]
        if over:
            yield Judgement(
                Status.CRITICAL,
                "a quota is exceeded",
                entities=(f"user {r.params[0]}" if r.params else r.facts.mount,),
                evidence=(r.quote(over[0].line),),
                faults=("st-quota",),
            )
        else:
            yield ok("within quota", evidence=(r.quote(r.facts.blocks.line),))


@rule(
    "storage.targets",
    title="Is every client connected to every target?",
    why="Operations on a target that does not answer wait for ever; one lost OST freezes each file with objects on it.",
    scope="entity",
    reads=("lctl-import", Read("lfs-df", optional=True)),
    faults=("st-ost-down", "st-oss-slow"),
    applies=only("lustre"),
)
def targets(view: View) -> Iterator[Judgement]:
    """Import states; FULL and IDLE are healthy."""
    df = one_client(view, "lfs-df", LustreDf, (mount_of(view),))
    gone = [t for t in df.facts.targets if not t.active] if df.facts else []
    for r in view.read("lctl-import", Imports, roles=("storage-client",)):
        if r.facts is None:
            yield r.unknown()
            continue
        bad = [i for i in r.facts.imports if i.state.upper() not in ("FULL", "IDLE")]
        known = {i.target for i in r.facts.imports}
        listed = {t.name for t in df.facts.targets} if df.facts else set()
        for i in bad:
            yield Judgement(
                Status.CRITICAL,
                "a target is not connected",
                nodes=(r.node,),
                entities=(i.target,),
                observed=(observed("state", i.state, "", r.node),),
                evidence=(r.quote(i.line),),
                faults=("st-ost-down",),
            )
        if known & listed and listed - known:
            yield r.unknown("lfs df lists targets that have no import here")
        elif not bad:
            count = (observed("targets", len(r.facts.imports), "", r.node),)
            yield ok("all targets connected", r.node, observed=count, evidence=(r.quote(r.facts.imports[0].line),))
    for t in gone:
        yield Judgement(
            Status.CRITICAL,
            "a target is inactive",
            entities=(t.name,),
            evidence=(df.quote(t.line),),
            faults=("st-ost-down",),
        )
    for t in df.facts.targets if df.facts else ():
        if words := next((w for flag, w in FLAGS.items() if flag in t.flags), None):
            yield Judgement(
                Status.WARN,
                words,
                entities=(t.name,),
                evidence=(df.quote(t.line),),
                faults=("st-oss-slow",) if "D" in t.flags else (),
                certainty="hypothesis",
            )


@rule(
    "storage.ost_speed",
    title="Are all OSTs equally fast?",
    why="A striped write is as slow as its slowest OST: one failing disk or rebuild shows as long I/Os on one target.",
    scope="entity",
    reads=("oss-brw",),
    faults=("st-oss-slow",),
    applies=servers_known,
)
def ost_speed(view: View) -> Iterator[Judgement]:
    """Share of slow I/Os per OST against the median of all."""
    found = view.read("oss-brw", BrwStats, roles=("storage-server",))
    shares = {
        (r.node, t.target): share
        for r in found
        if r.facts is not None
        for t in r.facts.targets
        if (share := t.slow_share(SLOW_MS)) is not None
    }
    usual = median(shares.values()) if shares else 0.0
    for r in found:
        if r.facts is None:
            yield r.unknown()
            continue
        own = {t.target: shares[(r.node, t.target)] for t in r.facts.targets if (r.node, t.target) in shares}
        slow = {name: share for name, share in own.items() if share > SLOW_SHARE and share > 5 * usual}
        for name, share in slow.items():
            line = next(t.line for t in r.facts.targets if t.target == name)
            yield Judgement(
                Status.CRITICAL,
                "an OST has far more slow I/Os than its peers",
                nodes=(r.node,),
                entities=(name,),
                observed=(observed("I/Os over 0.5 s", round(share * 100, 1), "%", r.node),),
                evidence=(r.quote(line),),
                faults=("st-oss-slow",),
                certainty="established" if len(shares) > 2 else "supported",
            )
        if not own:
            yield r.unknown("no I/O times are told")
        elif len(shares) < 2 and max(own.values()) > SLOW_SHARE:
            yield r.unknown("an OST has many slow I/Os, and there is no other to compare it with")
        elif not slow:
            yield ok("no OST is slower than its peers", r.node, evidence=(r.quote(1),))
