"""Settings of the ports that must be equal everywhere: MTU, FEC, firmware."""

from __future__ import annotations

from collections import defaultdict

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Rail, Rails, against_peers, prevailing
from checks.rules.network.switch_common import only_ethernet
from checks.tools.ethtool import EthFec
from checks.tools.ib_sysfs import NicFirmware, NicFirmwares
from checks.tools.iproute import Links, Ping
from checks.view import Reading, View, observed

NO_FEC = ("off", "none")
FEC_FROM_GBPS = 100
"""From this rate on every port needs FEC."""


@rule(
    "network.mtu",
    title="Have all rails the same MTU?",
    why="Packets too large for one port on the path are lost without a word; connections stall or never start.",
    scope="entity",
    reads=["ip-link", Read("rdma-link", optional=True), Read("ping-df", optional=True)],
    faults=["net-mtu-mismatch"],
    applies=only_ethernet,
)
def mtu(view: View) -> list[Judgement]:
    """MTU against most rails, and against the cluster file."""
    rails = Rails(view)
    readings = {n: view.newest("ip-link", n, Links) for n in rails.nodes}
    sizes: dict[Rail, tuple[int, int]] = {}
    unread: set[str] = set()
    for node, reading in readings.items():
        own = [r for r in rails.of(node) if r.netdev]
        for rail in own:
            link = reading.facts.of(rail.netdev) if reading.facts else None
            if link is None or link.mtu is None:
                unread.add(node)
            else:
                sizes[rail] = (link.mtu, link.line)
        if not own:
            unread.add(node)
    usual = prevailing(size for size, _ in sizes.values())
    expected = usual or view.cluster.spec.fabric.mtu
    found: list[Judgement] = []
    for node, reading in readings.items():
        if node in unread:
            found.append(reading.unknown("" if reading.facts is None else "the MTU of a rail is not shown"))
        mine = {r: v for r, v in sizes.items() if r.node == node}
        odd = {r: v for r, v in mine.items() if expected is not None and v[0] != expected}
        for rail, (size, line) in odd.items():
            others = {r.node for r, v in sizes.items() if v[0] == expected and r.node != node}
            found.append(
                Judgement(
                    Status.CRITICAL,
                    f"a rail has another MTU than the {expected} of the others",
                    nodes=(node,),
                    entities=(rail.port,),
                    observed=(observed("MTU", size, "bytes", node),),
                    evidence=(reading.quote(line),),
                    faults=("net-mtu-mismatch",),
                    certainty=against_peers(len(others)),
                )
            )
        pings = _failed_pings(view, node)
        found.extend(pings)
        if mine and not odd and not pings and node not in unread:
            planned = view.cluster.spec.fabric.mtu
            size, line = next(iter(mine.values()))
            note = f" (the cluster file says {planned})" if planned and planned != size else ""
            found.append(ok(f"all rails have MTU {size}{note}", node, evidence=(reading.quote(line),)))
    return found


def _failed_pings(view: View, node: str) -> list[Judgement]:
    found = []
    for params in view.store.params(node, "ping-df"):
        reading = view.newest("ping-df", node, Ping, params)
        if (facts := reading.facts) and facts.too_long:
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a packet of full size does not fit through the path",
                    nodes=(node,),
                    entities=(f"{node} to {params[-1]}",),
                    evidence=(reading.quote(facts.too_long_line or facts.line),),
                    faults=("net-mtu-mismatch",),
                    certainty="supported",
                )
            )
    return found


@rule(
    "network.fec_equal",
    title="Do all rails use the same FEC?",
    why="With different FEC at its two ends a link stays down, flaps, or drops packets.",
    scope="entity",
    reads=["eth-fec", Read("rdma-link", optional=True)],
    faults=["net-fec-mismatch"],
    applies=only_ethernet,
)
def fec_equal(view: View) -> list[Judgement]:
    """Active FEC against most rails of the cluster."""
    rails = Rails(view)
    active: dict[Rail, tuple[str, Reading[EthFec], int]] = {}
    found: list[Judgement] = []
    unread: set[str] = set()
    for node in rails.nodes:
        own = [r for r in rails.of(node) if r.netdev]
        for rail in own:
            reading = view.newest("eth-fec", node, EthFec, (rail.netdev,))
            facts = reading.facts
            if facts is None or facts.active is None:
                unread.add(node)
                found.append(reading.unknown("" if facts is None else "the active FEC is not reported"))
            else:
                active[rail] = (facts.active, reading, facts.active_line or facts.line)
        if not own:
            unread.add(node)
            found.append(rails.unmapped(node))
    usual = prevailing(fec.upper() for fec, _, _ in active.values())
    gbps = view.cluster.spec.fabric.port_gbps or 0
    for node in rails.nodes:
        mine = {r: v for r, v in active.items() if r.node == node}
        odd = 0
        for rail, (fec, reading, line) in mine.items():
            needless = fec.lower() in NO_FEC and gbps >= FEC_FROM_GBPS
            if not needless and (usual is None or fec.upper() == usual):
                continue
            odd += 1
            found.append(
                Judgement(
                    Status.WARN,
                    "a rail uses another FEC than the others" if usual else "a rail uses no FEC",
                    nodes=(node,),
                    entities=(rail.port,),
                    observed=(observed("active FEC", fec, "", node), observed("FEC of most rails", usual, "", node)),
                    evidence=(reading.quote(line),),
                    faults=("net-fec-mismatch",),
                    # the far end was not read: the peers make it likely, not certain
                    certainty="supported",
                )
            )
        if mine and not odd and node not in unread:
            fec, reading, line = next(iter(mine.values()))
            found.append(ok(f"all rails use FEC {fec}", node, evidence=(reading.quote(line),)))
    return found


@rule(
    "network.nic_firmware",
    title="Have equal NICs equal firmware?",
    why="NICs of one model with different firmware behave differently under congestion and retrain differently.",
    scope="group",
    reads=["nic-fw"],
    faults=["net-firmware-drift"],
)
def nic_firmware(view: View) -> list[Judgement]:
    """Firmware against most NICs with the same board id."""
    readings = view.read("nic-fw", NicFirmwares)
    boards: dict[str, list[str]] = defaultdict(list)
    for reading in readings:
        for nic in reading.facts.devices if reading.facts else ():
            if nic.board and nic.firmware:
                boards[nic.board].append(nic.firmware)
    usual = {board: prevailing(versions) for board, versions in boards.items()}
    found: list[Judgement] = []
    for reading in readings:
        if (facts := reading.facts) is None:
            found.append(reading.unknown())
            continue
        blank = [nic for nic in facts.devices if not (nic.board and nic.firmware)]
        odd = [nic for nic in facts.devices if nic not in blank and nic.firmware != usual[nic.board or ""]]
        if blank:
            found.append(reading.unknown("a NIC does not show its firmware or board"))
        for nic in odd:
            found.append(_drifted(reading, nic, boards[nic.board or ""], usual[nic.board or ""]))
        if not odd and not blank and facts.devices:
            line = facts.devices[0].line
            found.append(ok("NICs of one board have one firmware", reading.node, evidence=(reading.quote(line),)))
    return found


def _drifted(reading: Reading[NicFirmwares], nic: NicFirmware, versions: list[str], usual: str | None) -> Judgement:
    same = sum(1 for v in versions if v == usual)
    return Judgement(
        Status.WARN,
        f"a NIC has another firmware than most of board {nic.board}"
        if usual
        else f"NICs of board {nic.board} have several firmware versions, none of them on most",
        nodes=(reading.node,),
        entities=(f"{reading.node}:{nic.device}",),
        observed=(
            observed("firmware", nic.firmware, "", reading.node),
            observed("firmware of most", usual, "", reading.node),
        ),
        evidence=(reading.quote(nic.line),),
        faults=("net-firmware-drift",),
        certainty=against_peers(same) if usual else "supported",
    )
