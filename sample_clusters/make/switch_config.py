"""The configuration of the sample switches, as CONFIG_DB and the `show` commands print it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

PROFILE = "AZURE_LOSSLESS"
LOSSLESS = 3


def block(kind: str, name: str, fields: Mapping[str, object]) -> str:
    """A `Profile: NAME` block of two columns."""
    names, values = max(map(len, fields)), max(len(str(v)) for v in fields.values())
    rule = f"{'-' * names}  {'-' * values}"
    rows = "\n".join(f"{k:<{names}}  {v}" for k, v in fields.items())
    return f"{kind}: {name}\n{rule}\n{rows}\n{rule}\n\n"


def dump(entries: Mapping[str, Mapping[str, str]]) -> str:
    """Keys of CONFIG_DB as `sonic-db-dump -y` prints them."""
    full = {k: {"expireat": 1772591400.12, "ttl": -0.001, "type": "hash", "value": dict(v)} for k, v in entries.items()}
    return json.dumps(full, indent=2, sort_keys=True) + "\n"


def wred(low: int, high: int) -> dict[str, str]:
    """Fields of the lossless WRED profile."""
    fields = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        fields |= {
            f"{colour}_drop_probability": "5",
            f"{colour}_max_threshold": str(high),
            f"{colour}_min_threshold": str(low),
            f"wred_{colour}_enable": "true",
        }
    return dict(sorted(fields.items()))


def qos(ports: Sequence[str]) -> dict[str, str]:
    """The QoS tables that are the same for every port, by the pattern that asks for them."""
    same = {str(k): str(k) for k in range(8)}
    use = {
        "dscp_to_tc_map": "AZURE",
        "pfc_enable": str(LOSSLESS),
        "pfc_to_queue_map": "AZURE",
        "tc_to_pg_map": "AZURE",
        "tc_to_queue_map": "AZURE",
    }
    bound = {"wred_profile": PROFILE}
    queue = {q: {"scheduler": f"scheduler.{q}"} | (bound if q == LOSSLESS else {}) for q in (0, LOSSLESS, 6)}
    groups = {k: k if k == str(LOSSLESS) else "0" for k in same}
    return {
        "QUEUE*": dump({f"QUEUE|{p}|{q}": fields for p in ports for q, fields in queue.items()}),
        "PORT_QOS_MAP*": dump({f"PORT_QOS_MAP|{p}": use for p in ports}),
        "TC_TO_PRIORITY_GROUP_MAP*": dump({"TC_TO_PRIORITY_GROUP_MAP|AZURE": groups}),
        "TC_TO_QUEUE_MAP*": dump({"TC_TO_QUEUE_MAP|AZURE": same}),
    }


def dscp(to_tc: Mapping[str, str]) -> str:
    """The map from DSCP to traffic class."""
    return dump({"DSCP_TO_TC_MAP|AZURE": to_tc})


def buffers(port_gbps: int) -> str:
    """One pool and the lossless profile."""
    pool = {"mode": "dynamic", "size": 42418176, "type": "ingress", "xoff": 4194304}
    profile = {"dynamic_th": 0, "pool": "ingress_lossless_pool", "size": 19456, "xoff": 104448, "xon": 19456}
    name = f"pg_lossless_{port_gbps}000_5m_profile"
    return block("Pool", "ingress_lossless_pool", pool) + block("Profile", name, profile)


def hashing() -> str:
    """Hash fields with the ports that tell RDMA flows apart."""
    spread = {"hash_field": ["IP_PROTOCOL", "DST_IP", "SRC_IP", "L4_DST_PORT", "L4_SRC_PORT"], "algorithm": "CRC"}
    return json.dumps({"ecmp": spread, "lag": spread}, indent=4) + "\n"
