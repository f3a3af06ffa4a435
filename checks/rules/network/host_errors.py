"""Bit errors on the links of the nodes."""

from __future__ import annotations

from collections import defaultdict

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Growth, Rails, against_peers, eth_growths
from checks.rules.network.switch_common import only_ethernet
from checks.view import View, observed

UNCORRECTED = ("rx_pcs_symbol_err_phy", "rx_symbol_err_phy")
CRC = "rx_crc_errors_phy"

MANY_RECEIVERS = 3
"""Nodes of one switch that receive bad checksums over clean links: the frames were broken before that switch."""

HEAVY_PER_S = 1.0


@rule(
    "network.link_errors",
    title="Do the links of the nodes bring frames without errors?",
    why="RDMA drops a broken packet and sends everything since then again; a few errors a second halve a stream.",
    scope="entity",
    reads=[Read("eth-stats", rounds=2), Read("rdma-link", optional=True), Read("lldp", optional=True)],
    thresholds=["fec-uncorr", "crc-err"],
    faults=["net-high-ber", "net-crc-stomped"],
    applies=only_ethernet,
)
def link_errors(view: View) -> list[Judgement]:
    """Growth of uncorrected symbols and of bad checksums; corrected bits are normal."""
    rails = Rails(view)
    found: list[Judgement] = []
    bad: dict[str, list[tuple[Growth, str, int]]] = defaultdict(list)
    clean: set[str] = set()
    for node in rails.nodes:
        growths, without = eth_growths(view, rails, node)
        unread = [g for g in growths if g.of(CRC) is None and all(g.of(n) is None for n in UNCORRECTED)]
        found.extend((*without, *(g.unknown("errors are not counted on a rail") for g in unread)))
        faulty = [(g, *worst) for g in growths if (worst := _worst(view, g))]
        for growth, name, gained in faulty:
            bad[rails.switch(growth.rail)].append((growth, name, gained))
        if growths and not without and not unread and not faulty:
            clean.add(node)
            found.append(ok("no link of the node shows errors", node, evidence=growths[0].quote(CRC)))
    for switch, rows in bad.items():
        stomped = {g.rail.node for g, name, _ in rows if name == CRC}
        many = bool(switch) and len(stomped) >= MANY_RECEIVERS
        for growth, name, gained in rows:
            found.append(_judged(view, growth, name, gained, switch if many and name == CRC else "", len(clean)))
    return found


def _worst(view: View, growth: Growth) -> tuple[str, int] | None:
    """The error counter that grew beyond its limit: a link's own errors before checksums of frames."""
    for name in UNCORRECTED:
        gained = growth.of(name)
        if gained is not None and gained > view.limit("fec-uncorr"):
            return name, gained
    gained = growth.of(CRC)
    return (CRC, gained) if gained is not None and gained > view.limit("crc-err") else None


def _judged(view: View, growth: Growth, name: str, gained: int, switch: str, clean: int) -> Judgement:
    node = growth.rail.node
    heavy = growth.seconds is not None and gained / growth.seconds > HEAVY_PER_S
    return Judgement(
        Status.CRITICAL if heavy else Status.WARN,
        "many nodes of one switch receive broken frames over clean links: look upstream"
        if switch
        else "a link brings frames with errors",
        nodes=(node,),
        entities=(growth.rail.port, switch) if switch else (growth.rail.port,),
        observed=(observed(name, gained, "", node),),
        threshold=view.against("crc-err" if name == CRC else "fec-uncorr"),
        evidence=growth.quote(name),
        faults=("net-crc-stomped",) if switch else ("net-high-ber",),
        # one receiver's bad checksums may come from further away than its own cable
        certainty="supported" if switch or name == CRC else against_peers(clean),
    )
