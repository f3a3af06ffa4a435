"""Host side of the network: what the NICs of the GPU nodes print, all healthy and busy with a training job."""

from __future__ import annotations

import json
from typing import Any

from sample_clusters.make.nic_counters import hw_counters, management_stats, nic_stats, port_counters
from sample_clusters.make.spec import Spec, Writer

FIRMWARE = {"A800": ("20.39.3004", "MT_0000000223", "MT4123"), "H100": ("28.39.3004", "MT_0000000838", "MT4129")}
GEN = {"A800": "16.0 GT/s PCIe", "H100": "32.0 GT/s PCIe"}
BUSES = ("1a", "3d", "5e", "86", "9b", "b1", "c4", "d8", "e3")
SYSTEM_STARTED = "2026-02-19T07:41"
NONE = "-- No entries --\n"


def write(spec: Spec, out: Writer, round: int) -> None:
    """All commands of the host side of the network. Settings are recorded once, counters in both rounds."""
    everywhere = spec.gpu_set
    out.put(round, everywhere, "eth-stats", management_stats(round), "eth0")
    for k in range(spec.rails + 1):
        out.put(round, everywhere, "eth-stats", nic_stats(spec, k, round), _netdev(spec, k))
    out.put(round, everywhere, "ib-counters", _sysfs(spec, "counters", port_counters, round))
    out.put(round, everywhere, "ib-hwcounters", _sysfs(spec, "hw_counters", hw_counters, round))
    out.put(round, everywhere, "rdma-stat", _json([_statistic(spec, k, round) for k in range(spec.rails + 1)]))
    out.put(round, everywhere, "carrier", _carrier(spec))
    if round == 1:
        _settings(spec, out)
        _nodes(spec, out)


def _settings(spec: Spec, out: Writer) -> None:
    """What is equal on every node and does not move."""
    every = range(spec.rails + 1)
    by_name = sorted(every, key=lambda k: _netdev(spec, k))
    texts = {
        "rdma-link": _json([_link(spec, k) for k in every]),
        "ib-port": "".join(_port_state(spec, k) for k in every),
        "nic-pcie": "".join(_pcie(spec, k) for k in every),
        "nic-fw": "".join(_firmware(spec, k) for k in every),
        "ip-link": _json(_ip_links(spec)),
        "arp-sysctl": "".join(
            f"net.ipv4.conf.all.{name} = {value}\n"
            for name, value in (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", 2))
        ),
        "qos-trust": "".join(f"/sys/class/net/{_netdev(spec, k)}/qos/trust:dscp\n" for k in by_name),
        "roce-ecn": "".join(_congestion_control(_netdev(spec, k)) for k in by_name),
        "roce-tclass": "".join(f"/sys/class/infiniband/mlx5_{k}/tc/1/traffic_class:Global tclass=106\n" for k in every),
        "fw-nic-health-log": "".join(_start_lines(spec, k) for k in every),
    }
    for command, text in texts.items():
        out.put(1, spec.gpu_set, command, text)
    for command in ("link-log", "pcie-limited-log"):
        out.put(1, spec.gpu_set, command, NONE, status=1)
    for name in ("eth0", *(_netdev(spec, k) for k in every)):
        for command, text in _ethtool(spec, name).items():
            out.put(1, spec.gpu_set, command, text, name)
    for k in every:
        out.put(1, spec.gpu_set, "roce-tos", "106\n", f"mlx5_{k}")


def _nodes(spec: Spec, out: Writer) -> None:
    """What differs from node to node: neighbours and addresses."""
    for i, node in enumerate(spec.gpu_nodes):
        out.put(1, node, "lldp", json.dumps(_neighbours(spec, node), indent=2) + "\n")
        out.put(1, node, "ip-addr", _json(_addresses(spec, i)))
        out.put(1, node, "ip-route", _json(_routes(spec, i)))
        out.put(1, node, "gids", _gids(spec, i))


def _netdev(spec: Spec, k: int) -> str:
    """Network device of RDMA device k: the rails come first, the storage port is the last."""
    return "eth1" if k == spec.rails else f"eth{2 + k}"


def _gbps(spec: Spec, name: str) -> int:
    return 1 if name == "eth0" else spec.nic_gbps


def _bdf(k: int) -> str:
    return f"0000:{BUSES[k]}:00.0"


def _mac(i: int, k: int) -> str:
    return f"b8:ce:f6:{i // 256:02x}:{i % 256:02x}:{k:02x}"


def port_address(i: int, name: str) -> str:
    """10.0.x for management, 10.10.x for storage, 10.20+k.x for rail k."""
    low = f"{i // 250}.{i % 250 + 1}"
    if name == "eth0":
        return f"10.0.{low}"
    return f"10.10.{1 + i // 250}.{i % 250 + 1}" if name == "eth1" else f"10.{18 + int(name[3:])}.{low}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _link(spec: Spec, k: int) -> dict[str, Any]:
    return {
        "ifindex": k,
        "ifname": f"mlx5_{k}",
        "port": 1,
        "state": "ACTIVE",
        "physical_state": "LINK_UP",
        "netdev": _netdev(spec, k),
        "netdev_index": 3 + k,
    }


def _statistic(spec: Spec, k: int, round: int) -> dict[str, Any]:
    return {"ifindex": k, "ifname": f"mlx5_{k}", "port": 1, **hw_counters(spec, k, round)}


def _sysfs(spec: Spec, folder: str, values: Any, round: int) -> str:
    return "".join(
        f"/sys/class/infiniband/mlx5_{k}/ports/1/{folder}/{name}:{value}\n"
        for k in range(spec.rails + 1)
        for name, value in sorted(values(spec, k, round).items())
    )


def _port_state(spec: Spec, k: int) -> str:
    lanes = "4X NDR" if spec.nic_gbps == 400 else "4X HDR"
    rows = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": f"{spec.nic_gbps} Gb/sec ({lanes})",
        "link_layer": "Ethernet",
        "sm_lid": "0x0",
    }
    return "".join(f"/sys/class/infiniband/mlx5_{k}/ports/1/{name}:{value}\n" for name, value in rows.items())


def _pcie(spec: Spec, k: int) -> str:
    rows = {
        "current_link_speed": GEN[spec.gpu],
        "current_link_width": "16",
        "max_link_speed": GEN[spec.gpu],
        "max_link_width": "16",
        "numa_node": str(int(2 * k >= spec.rails)),
    }
    return "".join(f"/sys/class/infiniband/mlx5_{k}/device/{name}:{value}\n" for name, value in rows.items())


def _firmware(spec: Spec, k: int) -> str:
    firmware, board, model = FIRMWARE[spec.gpu]
    rows = {"fw_ver": firmware, "board_id": board, "hca_type": model}
    return "".join(f"/sys/class/infiniband/mlx5_{k}/{name}:{value}\n" for name, value in rows.items())


def _carrier(spec: Spec) -> str:
    rows = []
    for name in ("eth0", *(f"eth{1 + k}" for k in range(spec.rails + 1)), "lo"):
        ups, downs = (0, 0) if name == "lo" else (1, 1)
        rows.append((name, "carrier_changes", ups + downs))
        rows.append((name, "carrier_up_count", ups))
        rows.append((name, "carrier_down_count", downs))
    names = ("carrier_changes", "carrier_up_count", "carrier_down_count")
    rows.sort(key=lambda r: (names.index(r[1]), r[0]))
    return "".join(f"/sys/class/net/{name}/{what}:{value}\n" for name, what, value in rows)


def _congestion_control(name: str) -> str:
    root = f"/sys/class/net/{name}/ecn"
    lines = [f"{root}/roce_{side}/enable/{p}:1" for side in ("np", "rp") for p in range(8)]
    return "\n".join([*lines, f"{root}/roce_np/cnp_dscp:48", f"{root}/roce_np/cnp_802p_prio:6"]) + "\n"


def _start_lines(spec: Spec, k: int) -> str:
    firmware = FIRMWARE[spec.gpu][0]
    speed = GEN[spec.gpu]
    texts = (
        f"firmware version: {firmware}",
        f"{16 * float(speed.split()[0]) * 128 / 130:.3f} Gb/s available PCIe bandwidth ({speed} x16 link)",
        "Port module event: module 0, Cable plugged",
        f"{_netdev(spec, k)}: Link up",
    )
    return "".join(
        f"{SYSTEM_STARTED}:{10 + 2 * k + n // 2:02d}+0000 node kernel: mlx5_core {_bdf(k)}"
        f"{' ' if n == len(texts) - 1 else ': '}{text}\n"
        for n, text in enumerate(texts)
    )


def _ip_links(spec: Spec) -> list[dict[str, Any]]:
    names = ["lo", "eth0", *(f"eth{1 + k}" for k in range(spec.rails + 1))]
    zero = {"bytes": 0, "packets": 0, "errors": 0, "dropped": 0}
    return [
        {
            "ifindex": n + 1,
            "ifname": name,
            "flags": ["LOOPBACK", "UP", "LOWER_UP"] if name == "lo" else ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
            "mtu": 65536 if name == "lo" else 1500 if name == "eth0" else 9000,
            "qdisc": "noqueue" if name == "lo" else "mq",
            "operstate": "UNKNOWN" if name == "lo" else "UP",
            "linkmode": "DEFAULT",
            "group": "default",
            "txqlen": 1000,
            "link_type": "loopback" if name == "lo" else "ether",
            "promiscuity": 0,
            "stats64": {"rx": {**zero, "over_errors": 0}, "tx": {**zero, "carrier_errors": 0, "collisions": 0}},
        }
        for n, name in enumerate(names)
    ]


def _addresses(spec: Spec, i: int) -> list[dict[str, Any]]:
    names = ["eth0", *(f"eth{1 + k}" for k in range(spec.rails + 1))]
    return [
        {
            "ifindex": n + 2,
            "ifname": name,
            "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
            "mtu": 1500 if name == "eth0" else 9000,
            "operstate": "UP",
            "address": _mac(i, n),
            "addr_info": [{"family": "inet", "local": port_address(i, name), "prefixlen": 16, "scope": "global"}],
        }
        for n, name in enumerate(names)
    ]


def _routes(spec: Spec, i: int) -> list[dict[str, Any]]:
    main = [{"dst": "default", "gateway": "10.0.255.254", "dev": "eth0", "protocol": "static", "flags": []}]
    for k in range(spec.rails + 1):
        name = f"eth{1 + k}"
        address = port_address(i, name)
        network = ".".join(address.split(".")[:2]) + ".0.0/16"
        row = {"dst": network, "dev": name, "protocol": "kernel", "scope": "link", "prefsrc": address, "flags": []}
        main.append(row)
        if name != "eth1":
            main.append({**row, "table": str(100 + k)})
    return main


def _gids(spec: Spec, i: int) -> str:
    lines = [
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV",
        "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---",
    ]
    count = 0
    for k in range(spec.rails + 1):
        name = _netdev(spec, k)
        address = port_address(i, name)
        parts = [int(x) for x in address.split(".")]
        local = f"fe80:0000:0000:0000:bace:f6ff:fe{i % 256:02x}:{i // 256:02x}{k:02x}"
        mapped = f"0000:0000:0000:0000:0000:ffff:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}"
        for index, (gid, ip, version) in enumerate(
            ((local, "", "v1"), (local, "", "v2"), (mapped, f"{address}  ", "v1"), (mapped, f"{address}  ", "v2"))
        ):
            lines.append(f"mlx5_{k}\t1\t{index}\t{gid}\t{ip}\t{'' if ip else chr(9)}{version}\t{name}")
            count += 1
    return "\n".join([*lines, f"n_gids_found={count}"]) + "\n"


def _neighbours(spec: Spec, node: str) -> dict[str, Any]:
    """Rails towards the leaf, management towards its own switch; the storage network does not speak LLDP."""
    i = spec.gpu_nodes.index(node)
    rows = [("eth0", "mgmt01", f"Ethernet{i}")]
    rows.extend((f"eth{2 + k}", *spec.port_of(node, k)) for k in range(spec.rails))
    return {"lldp": {"interface": [_neighbour(*row, rid=n + 1) for n, row in enumerate(rows)]}}


def _neighbour(name: str, switch: str, port: str, *, rid: int) -> dict[str, Any]:
    number = int(switch[-2:])
    chassis = {
        "id": {"type": "mac", "value": f"0c:29:ef:00:{'10' if switch.startswith('leaf') else '20'}:{number:02x}"},
        "descr": "SONiC Software Version: SONiC.202305.3 - HwSku: Mellanox-SN4700-O32",
        "mgmt-ip": f"10.0.254.{number + (0 if switch.startswith('leaf') else 200)}",
        "capability": [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": True}],
    }
    alias = f"etp{int(port.removeprefix('Ethernet')) // 4 + 1}"
    return {
        name: {
            "via": "LLDP",
            "rid": str(rid),
            "age": "13 days, 18:44:02",
            "chassis": {switch: chassis},
            "port": {"id": {"type": "local", "value": alias}, "descr": port, "ttl": "120"},
        }
    }


def _ethtool(spec: Spec, name: str) -> dict[str, str]:
    """Settings of one interface by command."""
    management = name == "eth0"
    gbps = _gbps(spec, name)
    modes = "1000baseT/Full" if management else f"{gbps}000baseCR4/Full"
    link = (
        f"Settings for {name}:\n"
        f"\tSupported ports: [ {'TP' if management else 'Backplane'} ]\n"
        f"\tSupported link modes:   {modes}\n"
        f"\tSupported pause frame use: Symmetric\n"
        f"\tSupports auto-negotiation: Yes\n"
        f"\tSupported FEC modes: {'Not reported' if management else 'RS'}\n"
        f"\tSpeed: {gbps * 1000}Mb/s\n" + ("" if management else "\tLanes: 4\n") + f"\tDuplex: Full\n"
        f"\tAuto-negotiation: on\n"
        f"\tPort: {'Twisted Pair' if management else 'Direct Attach Copper'}\n"
        f"\tPHYAD: {1 if management else 0}\n"
        f"\tTransceiver: internal\n"
        f"\tSupports Wake-on: {'g' if management else 'd'}\n"
        f"\tWake-on: d\n"
        f"\tLink detected: yes\n"
    )
    k = spec.rails if name == "eth1" else int(name[3:]) - 2
    firmware, board, _ = FIRMWARE[spec.gpu]
    driver = ("tg3", "5.15.0-113-generic", "FFV22.71.3 bc 5720-v1.39", "0000:04:00.0")
    if not management:
        driver = ("mlx5_core", "5.15.0-113-generic", f"{firmware} ({board})", _bdf(k))
    texts = {
        "eth-link": link,
        "eth-driver": "driver: {}\nversion: {}\nfirmware-version: {}\nexpansion-rom-version: \nbus-info: {}\n".format(
            *driver
        )
        + "supports-statistics: yes\nsupports-test: yes\nsupports-eeprom-access: no\n"
        + "supports-register-dump: no\nsupports-priv-flags: yes\n",
        "eth-pause": f"Pause parameters for {name}:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n",
        "eth-ring": _rings(name, *((2047, 511, 511, 511) if management else (8192, 8192, 8192, 8192))),
    }
    if not management:
        texts["eth-fec"] = (
            f"FEC parameters for {name}:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n"
        )
        texts["eth-module"] = _cable(spec)
        texts["qos-dcb"] = _json(
            {"pfc_cap": 8, "macsec_bypass": False, "delay": 0, "prio_pfc": {str(p): p == 3 for p in range(8)}}
        )
        texts["qos-mlnx"] = _qos()
    return texts


def _rings(name: str, rx_max: int, rx: int, tx_max: int, tx: int) -> str:
    none = "RX Mini:\tn/a\nRX Jumbo:\tn/a\n"
    return (
        f"Ring parameters for {name}:\nPre-set maximums:\nRX:\t\t{rx_max}\n{none}TX:\t\t{tx_max}\n"
        f"Current hardware settings:\nRX:\t\t{rx}\n{none}TX:\t\t{tx}\n"
    )


def _cable(spec: Spec) -> str:
    rows = {
        "Identifier": "0x11 (QSFP28)" if spec.nic_gbps == 200 else "0x1e (QSFP+ or later with CMIS)",
        "Connector": "0x23 (No separable connector)",
        "Length (Copper or Active cable)": "2m",
        "Transmitter technology": "0xa0 (Copper cable unequalized)",
        "Vendor name": "Mellanox",
        "Vendor PN": "MCP1650-H002E26" if spec.nic_gbps == 200 else "MCP4Y10-N002",
        "Vendor rev": "A4",
    }
    return "".join(f"\t{name:<41} : {value}\n" for name, value in rows.items())


def _qos() -> str:
    lines = ["DCBX mode: OS controlled", "Priority trust state: dscp", "dscp2prio mapping:"]
    lines += [f"\tprio:{p} dscp:" + "".join(f"{8 * p + 7 - d:02d}," for d in range(8)) for p in range(8)]
    lines += [
        "default priority:",
        "Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016",
        "Cable len: 7",
        "PFC configuration:",
        "\tpriority    0   1   2   3   4   5   6   7",
        "\tenabled     0   0   0   1   0   0   0   0   ",
        "\tbuffer      0   0   0   1   0   0   0   0   ",
    ]
    for tc in range(8):
        lines += [
            f"tc: {tc} ratelimit: unlimited, tsa: {'strict' if tc == 6 else 'ets, bw: 14%'}",
            f"\t priority:  {tc}",
        ]
    return "\n".join(lines) + "\n"
