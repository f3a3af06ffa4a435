"""Ports of the nodes: are all rails there, up, at full rate, on a full PCIe link?"""

from __future__ import annotations

from checks.findings import Certainty, Evidence, Status
from checks.inventory import Cluster
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.network.ports import Rail, Rails, against_peers, prevailing
from checks.tools.ethtool import EthLink
from checks.tools.ib_sysfs import IbPort, IbPorts, NicLink, NicLinks
from checks.tools.net_log import PcieLimits
from checks.tools.rdma import RdmaLink
from checks.view import Reading, View, observed


def _has_rails(cluster: Cluster) -> str | None:
    spec = cluster.spec
    expected = spec.roles["gpu-node"].expect.rdma_nics if "gpu-node" in spec.roles else None
    if spec.fabric.kind == "ethernet" and not expected and not spec.interfaces.rdma:
        return "the fabric is plain Ethernet and no RDMA NIC is expected"
    return None


@rule(
    "network.rails_present",
    title="Does every node have all its rails, up?",
    why="A node short of one rail pushes the traffic of two through the others, and the whole job waits for it.",
    scope="node",
    reads=["rdma-link"],
    faults=["net-nic-missing", "net-link-flap"],
    applies=_has_rails,
)
def rails_present(view: View) -> list[Judgement]:
    """Links against the inventory, else against most nodes."""
    rails = Rails(view)
    counts = {n: len(rails.chosen(r.facts)) for n, r in rails.links.items() if r.facts}
    usual = prevailing(counts.values())
    found: list[Judgement] = []
    for node, reading in rails.links.items():
        if (facts := reading.facts) is None:
            found.append(reading.unknown())
            continue
        expected = view.cluster.expect(node).rdma_nics or len(rails.named) or usual
        absent = tuple(f"{node}:{name}" for name in rails.named if facts.of(name) is None)
        short = expected is not None and counts[node] < expected
        if absent or short:
            peers = sum(1 for n, c in counts.items() if n != node and expected is not None and c >= expected)
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a rail NIC is missing",
                    nodes=(node,),
                    entities=absent,
                    observed=(
                        observed("RDMA rails", counts[node], "", node),
                        observed("RDMA rails expected", expected, "", node),
                    ),
                    evidence=(reading.quote(1, len(reading.output.stdout.splitlines()) if reading.output else 1),),
                    faults=("net-nic-missing",),
                    certainty=against_peers(peers),
                )
            )
        down = [(x, r) for r in rails.of(node) if (x := facts.of(r.netdev or r.device)) and _down(x)]
        if down:
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a rail port is down",
                    nodes=(node,),
                    entities=tuple(r.port for _, r in down),
                    observed=tuple(observed("port state", x.physical_state or x.state, "", node) for x, _ in down),
                    evidence=tuple(reading.quote(x.line) for x, _ in down),
                    faults=("net-link-flap",),
                    certainty="supported",
                )
            )
        silent = [x for r in rails.of(node) if (x := facts.of(r.netdev or r.device)) and x.state is None]
        if silent:
            found.append(reading.unknown("the state of a rail is not shown"))
        elif not (absent or short or down):
            told = "" if expected else " (no number is expected, and there are no peers)"
            found.append(ok(f"all rails are there and up{told}", node, evidence=(reading.quote(1),)))
    return found


def _down(link: RdmaLink) -> bool:
    # INIT and ARMED on InfiniBand are judged by network.ib_port_state
    return link.state is not None and link.state not in ("ACTIVE", "INIT", "ARMED")


@rule(
    "network.link_rate",
    title="Does every rail run at its full rate?",
    why="One port at half rate sets the pace of every collective it takes part in.",
    scope="entity",
    reads=["rdma-link", "ib-port", Read("eth-link", optional=True)],
    faults=["net-link-degraded"],
    applies=_has_rails,
)
def link_rate(view: View) -> list[Judgement]:
    """Rate against the inventory, else against the same port of most nodes."""
    rails = Rails(view)
    ports = {n: view.newest("ib-port", n, IbPorts) for n in rails.nodes}
    rates: dict[Rail, tuple[float, Reading[IbPorts] | Reading[EthLink], int]] = {}
    complaints: dict[str, dict[str, Judgement]] = {n: {} for n in rails.nodes}
    for node in rails.nodes:
        own = rails.of(node)
        if not rails.mapped(node):
            complaints[node]["rails"] = rails.unmapped(node)
        for rail in own:
            if (rate := _rate(view, rail, ports[node], complaints[node])) is not None:
                rates[rail] = rate
    found: list[Judgement] = []
    for node in rails.nodes:
        judged = _rates_of(view, node, rates)
        found.extend(complaints[node].values())
        # what was read still accuses, but does not clear while something is missing
        found.extend(j for j in judged if j.status > Status.OK or not complaints[node])
    return found


def _rate(
    view: View, rail: Rail, ports: Reading[IbPorts], complaints: dict[str, Judgement]
) -> tuple[float, Reading[IbPorts] | Reading[EthLink], int] | None:
    """The lower of what RDMA and Ethernet say about a rail; complaints for what could not be read."""
    rates: list[tuple[float, Reading[IbPorts] | Reading[EthLink], int]] = []
    port: IbPort | None = None
    if ports.facts is None:
        complaints["ib-port"] = ports.unknown()
    elif rail.device:
        port = next((p for p in ports.facts.ports if p.device == rail.device), None)
        if port is None or port.rate_gbps is None or port.state is None:
            complaints["ib-port"] = ports.unknown("the rate or state of a rail is not shown")
        elif port.state == "DOWN":
            complaints["ib-port"] = ports.unknown("a rail is down; its rate says nothing")
        else:
            rates.append((port.rate_gbps, ports, port.lines["rate"]))
    if rail.netdev and not (port and port.link_layer == "InfiniBand"):
        link = view.newest("eth-link", rail.node, EthLink, (rail.netdev,))
        facts = link.facts
        if facts is None or facts.speed_gbps is None:
            complaints["eth-link"] = link.unknown("" if facts is None else "the speed of a rail is not shown")
        else:
            rates.append((facts.speed_gbps, link, facts.speed_line or 1))
    return min(rates, key=lambda r: r[0], default=None)


def _rates_of(
    view: View,
    node: str,
    rates: dict[Rail, tuple[float, Reading[IbPorts] | Reading[EthLink], int]],
) -> list[Judgement]:
    found: list[Judgement] = []
    mine = {r: v for r, v in rates.items() if r.node == node}
    slow = []
    for rail, (rate, reading, line) in mine.items():
        peers = [v[0] for r, v in rates.items() if r.node != node and r.index == rail.index]
        siblings = [v[0] for r, v in mine.items() if r != rail]
        expected = view.cluster.expect(node).nic_gbps or prevailing(peers) or prevailing(siblings)
        if expected is not None and rate < expected:
            slow.append((rail, rate, expected, reading, line, sum(1 for p in peers if p >= expected)))
    for rail, rate, expected, reading, line, healthy in slow:
        found.append(
            Judgement(
                Status.CRITICAL,
                f"a rail runs below {expected:g} Gbit/s",
                nodes=(node,),
                entities=(rail.port,),
                observed=(observed("rate", rate, "Gbit/s", node), observed("expected rate", expected, "Gbit/s", node)),
                evidence=(reading.quote(line),),
                faults=("net-link-degraded",),
                certainty=against_peers(healthy),
            )
        )
    if mine and not slow:
        value, reading, line = next(iter(mine.values()))
        found.append(ok(f"all rails run at {value:g} Gbit/s", node, evidence=(reading.quote(line),)))
    return found


@rule(
    "network.nic_pcie",
    title="Is every NIC on a full PCIe link?",
    why="A NIC that trained at a lower PCIe generation or width cannot feed its port; the link itself looks healthy.",
    scope="entity",
    reads=["nic-pcie", Read("rdma-link", optional=True), Read("pcie-limited-log", optional=True)],
    faults=["net-nic-pcie-downgrade"],
)
def nic_pcie(view: View) -> list[Judgement]:
    """Speed and width against the same card of most nodes, else against the other rails, else the card's best."""
    nodes = view.nodes("gpu-node")
    readings = {n: view.newest("nic-pcie", n, NicLinks) for n in nodes}
    usual: dict[str, list[float]] = {}
    for reading in readings.values():
        for nic in reading.facts.devices if reading.facts else ():
            if (now := _bandwidth(nic)) is not None:
                usual.setdefault(nic.device, []).append(now)
    rails = Rails(view)
    found: list[Judgement] = []
    for node, reading in readings.items():
        if (facts := reading.facts) is None:
            found.append(reading.unknown())
            found.extend(_limited_by_log(view, node))
            continue
        slow: list[tuple[NicLink, Certainty]] = []
        unread = False
        for nic in facts.devices:
            now = _bandwidth(nic)
            if now is None:
                unread = True
            elif certainty := _slower(nic, now, facts, usual[nic.device]):
                slow.append((nic, certainty))
        if unread:
            found.append(reading.unknown("a card does not show its PCIe speed and width"))
        for nic, certainty in slow:
            lines = [nic.lines[k] for k in ("current_link_speed", "current_link_width") if k in nic.lines]
            found.append(
                Judgement(
                    Status.CRITICAL,
                    "a NIC negotiated a lower PCIe speed or width than its peers"
                    if certainty == "established"
                    else "a NIC runs below the PCIe speed or width it can do",
                    nodes=(node,),
                    entities=(f"{node}:{nic.device}",),
                    observed=(
                        observed("PCIe speed", nic.speed_gts, "GT/s", node),
                        observed("PCIe width", nic.width, "lanes", node),
                        observed("PCIe speed of the card", nic.max_speed_gts, "GT/s", node),
                    ),
                    evidence=(*(reading.quote(n) for n in lines), *_log_lines(view, node)),
                    faults=("net-nic-pcie-downgrade",),
                    certainty=certainty,
                )
            )
        if not slow and not unread:
            absent = [r for r in rails.of(node) if r.device and r.device not in {d.device for d in facts.devices}]
            if absent:
                found.append(reading.unknown("a rail is missing from the list of PCIe links"))
            else:
                lines_shown = facts.devices[0].lines
                first = lines_shown.get("current_link_speed", facts.devices[0].line)
                found.append(ok("all NICs have the PCIe link of their peers", node, evidence=(reading.quote(first),)))
    return found


def _bandwidth(nic: NicLink) -> float | None:
    return nic.speed_gts * nic.width if nic.speed_gts and nic.width else None


def _slower(nic: NicLink, now: float, node: NicLinks, same_card: list[float]) -> Certainty | None:
    """How sure it is that a card is slower than it should be; None when it is not.

    A slot may limit a card by design; then all nodes show the same and nothing is wrong.
    """
    if len(same_card) > 1:
        usual = prevailing(same_card)
        if usual is not None:
            better = sum(1 for b in same_card if b > now)
            return against_peers(better) if now < usual else None
        if now < max(same_card):
            return "supported"
        return None
    siblings = [b for other in node.devices if other.device != nic.device and (b := _bandwidth(other)) is not None]
    usual = prevailing(siblings)
    if usual is not None:
        return "supported" if now < usual else None
    best = nic.max_speed_gts * nic.max_width if nic.max_speed_gts and nic.max_width else None
    return "supported" if best is not None and now < best else None


def _log_lines(view: View, node: str) -> tuple[Evidence, ...]:
    reading = view.newest("pcie-limited-log", node, PcieLimits)
    limits = [x for x in reading.facts.limits if x.driver.startswith("mlx5")] if reading.facts else []
    return tuple(reading.quote(x.line) for x in limits[:2])


def _limited_by_log(view: View, node: str) -> list[Judgement]:
    """What the kernel's own remark says where sysfs could not be read; equal remarks on all nodes are the slot's."""
    said = {n: view.newest("pcie-limited-log", n, PcieLimits) for n in view.nodes("gpu-node")}
    limits = {
        n: frozenset((x.pci, x.speed_gts, x.width) for x in r.facts.limits if x.driver.startswith("mlx5"))
        for n, r in said.items()
        if r.facts
    }
    mine = limits.get(node)
    if not mine or prevailing([limits.get(n, frozenset()) for n in said]) == mine:
        return []
    reading = said[node]
    rows = [x for x in reading.known.limits if x.driver.startswith("mlx5")]
    return [
        Judgement(
            Status.WARN,
            "the kernel says that a slot limits a NIC, unlike on other nodes",
            nodes=(node,),
            entities=tuple(f"{node}:{x.pci}" for x in rows),
            evidence=tuple(reading.quote(x.line) for x in rows),
            faults=("net-nic-pcie-downgrade",),
            certainty="hypothesis",
        )
    ]
