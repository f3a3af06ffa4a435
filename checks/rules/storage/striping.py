"""Is a big file spread over enough OSTs?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from checks.findings import Observed, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.storage.common import each_param, mount_of, one_client, only
from checks.tools.lustre_df import LustreDf
from checks.tools.lustre_layout import Component, Layouts
from checks.view import Reading, View, observed

OST_GB_PER_S = 1.0
"""Write speed assumed of one OST; shown with the result, since no command tells it."""
BIG_GB = 10.0
SMALL_GB = 0.001


@rule(
    "storage.striping",
    title="Are checkpoint files spread over enough OSTs?",
    why="A file is written no faster than the OSTs it lies on. The directory's default decides for new files only; old "
    "ones keep the layout they were made with.",
    scope="cluster",
    reads=("lfs-getstripe", Read("lfs-getstripe-file", optional=True), "lfs-df"),
    thresholds=(
        "stripe-large-many",
        "stripe-large-one",
        "stripe-mid",
        "stripe-small",
        "stripe-max",
        "lustre-stripe-default",
        "ckpt-stall",
    ),
    faults=("st-default-striping", "st-stripe-one-dir", "st-overstriped-small"),
    applies=only("lustre"),
)
def striping(view: View) -> Iterator[Judgement]:
    """The checkpoint directory's default and recorded files against the size of a checkpoint."""
    size_gb = view.cluster.spec.storage.checkpoint_file_gb
    directory = view.cluster.spec.storage.checkpoint_dir
    df = one_client(view, "lfs-df", LustreDf, (mount_of(view),))
    directories = each_param(view, "lfs-getstripe", Layouts, directory)
    if df.facts is None:
        yield df.unknown()
    files = [r for r in each_param(view, "lfs-getstripe-file", Layouts) if r.output is not None]
    wide = sum(_wide(r, df, size_gb) for r in directories if r.facts is not None)
    for r in (*directories, *files):
        if r.facts is None:
            yield r.unknown()
            continue
        for layout in r.facts.layouts:
            path = layout.path or (r.params[0] if r.params else "?")
            if size_gb is None:
                yield r.unknown("the size of a checkpoint is not known (storage.checkpoint_file_gb)")
            elif df.facts is not None:
                component = layout.at(size_gb * 1e9)
                yield _judged(view, r, path, component, size_gb, df, one_dir=wide > 0)


def _osts(df: Reading[LustreDf]) -> int:
    return sum(t.active for t in df.known.of("OST"))


def _count(component: Component, osts: int) -> int | None:
    """OSTs a component really uses: -1 means all; 0 stays 0, whatever the file system's default is."""
    if component.stripe_count is None:
        return None
    return osts if component.stripe_count < 0 else component.stripe_count


def _wide(r: Reading[Layouts], df: Reading[LustreDf], size_gb: float | None) -> bool:
    if df.facts is None or size_gb is None:
        return False
    count = _count(r.known.layouts[0].at(size_gb * 1e9), _osts(df))
    return count is not None and count >= min(8, _osts(df))


def recommended(size_gb: float, osts: int, *, budget_s: float, least: int = 8, most: int = 160) -> int:
    """Stripe count for a file of this size: a power of two, at least `least`, a save within `budget_s` seconds."""
    wanted = max(least, math.ceil(size_gb / (OST_GB_PER_S * budget_s)))
    power = 1 << (wanted - 1).bit_length()
    limit = min(osts, most)
    return power if power <= limit else limit


def _judged(
    view: View, r: Reading[Layouts], path: str, c: Component, size_gb: float, df: Reading[LustreDf], *, one_dir: bool
) -> Judgement:
    osts = _osts(df)
    count = _count(c, osts)
    line = c.stripe_count_line or c.line
    if count is None or osts == 0:
        return r.unknown("the stripe count or the number of OSTs is not told")
    if count == 0:
        return r.unknown("the directory has the file system's default layout, which is not told")
    least = int(view.limit("stripe-large-many", "min"))
    budget_s = view.limit("ckpt-stall", "budget")
    most = int(view.limit("stripe-max", "plain"))
    better = recommended(size_gb, osts, budget_s=budget_s, least=least, most=most)
    stall, after = size_gb / (count * OST_GB_PER_S), size_gb / (better * OST_GB_PER_S)
    values = (
        observed("stripe_count", count),
        observed("OSTs", osts),
        observed("file size", size_gb, "GB"),
        observed("stall_s", round(stall, 1), "s"),
    )
    if size_gb >= BIG_GB and count < min(least, osts) and one_dir and r.command == "lfs-getstripe-file":
        return Judgement(
            Status.WARN,
            f"an existing file lies on {count} of {osts} OSTs, while new files of the directory get enough",
            entities=(path,),
            observed=(*values, *_gain(better, stall, after)),
            threshold=view.against("stripe-large-many", "min"),
            evidence=(r.quote(line),),
            faults=("st-default-striping",),
            certainty="hypothesis",
        )
    if size_gb >= BIG_GB and count < min(least, osts):
        return Judgement(
            Status.CRITICAL,
            f"{size_gb:g} GB on {count} of {osts} OSTs: a save takes {stall:.0f} s; with stripe count {better} it "
            f"takes {after:.1f} s and saves {stall - after:.0f} s (at {OST_GB_PER_S:g} GB/s per OST)",
            entities=(path,),
            observed=(*values, *_gain(better, stall, after)),
            threshold=view.against("stripe-large-many", "min"),
            evidence=(r.quote(line), df.quote(df.known.of("OST")[-1].line)),
            faults=("st-stripe-one-dir",) if one_dir else ("st-default-striping",),
        )
    if size_gb <= SMALL_GB and count > int(view.limit("stripe-small")):
        return Judgement(
            Status.WARN,
            "small files are striped over several OSTs: every open asks all of them",
            entities=(path,),
            observed=values,
            threshold=view.against("stripe-small"),
            evidence=(r.quote(line),),
            faults=("st-overstriped-small",),
        )
    return ok("layout fits the file size", entities=(path,), observed=values, evidence=(r.quote(line),))


def _gain(better: int, stall: float, after: float) -> tuple[Observed, ...]:
    return (
        observed("recommended_stripe_count", better),
        observed("stall_recommended_s", round(after, 1), "s"),
        observed("seconds_saved", round(stall - after, 1), "s"),
        observed("assumed OST speed", OST_GB_PER_S, "GB/s"),
    )
