"""The Slurm controller: `scontrol ping` and `sdiag`; its log and its configuration have their own modules.

Slurmctld(primary) at head01 is UP

Server thread count:  3
Agent queue size:     0
"""

from __future__ import annotations

import re
from typing import Any

from checks.findings import Model
from checks.outputs import Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools import slurm_text as slurm
from checks.tools.formats import cut_off, find_line, json_value, number
from checks.tools.slurm_config import parse_sconfig, parse_sreport_util, parse_sres, parse_stopo
from checks.tools.slurm_log import parse_slurmctld_log


class Controller(Model):
    """One controller; `up` None when the answer does not say."""

    line: int
    role: str
    host: str
    up: bool | None


class Ping(Facts):
    """Which controllers answer."""

    controllers: tuple[Controller, ...]


_PING = re.compile(r"Slurmctld\((?P<roles>[\w/]+)\)\s+(?:at\s+(?P<hosts>\S+)\s+)?(?:is|are)\s+(?P<up>[A-Z/]+)")


def parse_slurm_ping(raw: Raw) -> Outcome:
    """`scontrol ping`: text, the old form with both controllers on one line, or JSON."""
    if any(re.match(r"\s*\{", line) for line in raw.lines):
        return _ping_json(raw)
    found: list[Controller] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        match = _PING.search(line)
        if match is None:
            if found and "****" not in line and "RESTORE" not in line and "slurmctld daemon" not in line.lower():
                odd.append(raw.odd(n))
            continue
        roles, hosts, ups = (str(match[k] or "").split("/") for k in ("roles", "hosts", "up"))
        for k, role in enumerate(roles):
            up = {"UP": True, "DOWN": False}.get(ups[min(k, len(ups) - 1)])
            found.append(Controller(line=n, role=role, host=hosts[k] if k < len(hosts) else "", up=up))
    return Ping(controllers=tuple(found), odd=tuple(odd)) if found else raw.unparsable("not an answer to scontrol ping")


def _ping_json(raw: Raw) -> Outcome:
    got = json_value(raw)
    if isinstance(got, Unparsable):
        return got
    document, start = got
    items = document.get("pings") if isinstance(document, dict) else None
    if not isinstance(items, list):
        return Unparsable("JSON without a list of pings", start)
    found = []
    for item in items:
        if not isinstance(item, dict):
            continue
        said = item.get("responding") if isinstance(item.get("responding"), bool) else item.get("pinged")
        up = said if isinstance(said, bool) else {"UP": True, "DOWN": False}.get(str(said).upper())
        host = str(item.get("hostname") or "")
        found.append(
            Controller(
                line=find_line(raw, f'"{host}"', start=start), role=str(item.get("mode") or "primary"), host=host, up=up
            )
        )
    return Ping(controllers=tuple(found)) if found else Unparsable("JSON without a ping", start)


# ---- sdiag


class RpcCount(Model):
    """How often one kind of request, or one user, asked. Times in microseconds."""

    line: int
    name: str
    count: int
    average_us: float | None = None
    total_us: float | None = None


class Diag(Facts):
    """Load of the controller. Cycles in microseconds; None where the version does not say."""

    line: int
    server_threads: int | None = None
    agent_queue: int | None = None
    dbd_queue: int | None = None
    jobs_pending: int | None = None
    jobs_running: int | None = None
    cycle_last_us: float | None = None
    cycle_max_us: float | None = None
    cycle_mean_us: float | None = None
    queue_length: int | None = None
    bf_cycle_last_us: float | None = None
    bf_cycle_max_us: float | None = None
    bf_cycle_mean_us: float | None = None
    bf_depth_mean: int | None = None
    bf_queue_length: int | None = None
    line_of: dict[str, int] = {}
    by_type: tuple[RpcCount, ...] = ()
    by_user: tuple[RpcCount, ...] = ()


_TEXT = {
    "": {
        "Server thread count": "server_threads", "Agent queue size": "agent_queue", "DBD Agent queue size": "dbd_queue",
        "Jobs pending": "jobs_pending", "Jobs running": "jobs_running",
    },
    "main": {
        "Last cycle": "cycle_last_us", "Max cycle": "cycle_max_us", "Mean cycle": "cycle_mean_us",
        "Last queue length": "queue_length",
    },
    "backfill": {
        "Last cycle": "bf_cycle_last_us", "Max cycle": "bf_cycle_max_us", "Mean cycle": "bf_cycle_mean_us",
        "Depth Mean": "bf_depth_mean", "Last queue length": "bf_queue_length",
    },
}  # fmt: skip
_JSON = {
    "server_thread_count": "server_threads", "agent_queue_size": "agent_queue", "dbd_agent_queue_size": "dbd_queue",
    "jobs_pending": "jobs_pending", "jobs_running": "jobs_running", "schedule_cycle_last": "cycle_last_us",
    "schedule_cycle_max": "cycle_max_us", "schedule_cycle_mean": "cycle_mean_us",
    "schedule_queue_length": "queue_length", "bf_cycle_last": "bf_cycle_last_us", "bf_cycle_max": "bf_cycle_max_us",
    "bf_cycle_mean": "bf_cycle_mean_us", "bf_depth_mean": "bf_depth_mean", "bf_queue_len": "bf_queue_length",
}  # fmt: skip
_RPC_TEXT = re.compile(r"^\s*(\S+)\s*\(\s*\d+\)\s+count:\s*(\d+)\s+ave_time:\s*(\d+)\s+total_time:\s*(\d+)")


def parse_sdiag(raw: Raw) -> Outcome:
    """`sdiag`, text or JSON."""
    if any(re.match(r"\s*\{", line) for line in raw.lines):
        return _sdiag_json(raw)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    lists: dict[str, list[RpcCount]] = {"by_type": [], "by_user": []}
    section, into = "", "by_type"
    for n, line in raw.numbered():
        text = line.strip()
        if re.match(r"Main schedule(?:r)? statistics", text):
            section = "main"
        elif re.match(r"Backfill(?:ing|er)? stats", text):
            section = "backfill"
        elif "statistics by" in text:
            into = "by_user" if "by user" in text else "by_type"
        elif rpc := _RPC_TEXT.match(line):
            lists[into].append(
                RpcCount(line=n, name=rpc[1], count=int(rpc[2]), average_us=float(rpc[3]), total_us=float(rpc[4]))
            )
        else:
            key, colon, cell = text.partition(":")
            name = _TEXT[section].get(key.strip()) or _TEXT[""].get(key.strip())
            if colon and name and (got := number(cell)) is not None:
                values.setdefault(name, got if name.endswith("_us") else int(got))
                lines.setdefault(name, n)
    if "server_threads" not in values:
        return raw.unparsable("not sdiag")
    odd = [] if section == "backfill" else [OddLine(line=len(raw.lines), text="ends before the backfill statistics")]
    if (cut := cut_off(raw)) is not None:
        odd.append(raw.odd(cut))
    return Diag(
        line=lines["server_threads"],
        **values,
        line_of=lines,
        by_type=tuple(lists["by_type"]),
        by_user=tuple(lists["by_user"]),
        odd=tuple(odd),
    )


def _sdiag_json(raw: Raw) -> Outcome:
    got = json_value(raw)
    if isinstance(got, Unparsable):
        return got
    document, start = got
    data = document.get("statistics") if isinstance(document, dict) else None
    if not isinstance(data, dict) or "server_thread_count" not in data:
        return Unparsable("JSON without the statistics of sdiag", start)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, name in _JSON.items():
        if (found := slurm.number_of(data.get(key))) is not None:
            values[name] = found if name.endswith("_us") else int(found)
            lines[name] = find_line(raw, f'"{key}"', start=start)
    return Diag(
        line=find_line(raw, '"server_thread_count"', start=start),
        **values,
        line_of=lines,
        by_type=_rpcs(raw, data.get("rpcs_by_message_type"), "message_type"),
        by_user=_rpcs(raw, data.get("rpcs_by_user"), "user"),
    )


def _rpcs(raw: Raw, items: Any, key: str) -> tuple[RpcCount, ...]:
    found = []
    for item in items if isinstance(items, list) else []:
        count = slurm.number_of(item.get("count")) if isinstance(item, dict) else None
        if count is not None:
            name = str(item.get(key) or "")
            found.append(
                RpcCount(
                    line=find_line(raw, f'"{name}"'),
                    name=name,
                    count=int(count),
                    average_us=slurm.number_of(item.get("average_time")),
                    total_us=slurm.number_of(item.get("total_time")),
                )
            )
    return tuple(found)


__all__ = [
    "Controller",
    "Diag",
    "Ping",
    "RpcCount",
    "parse_sconfig",
    "parse_sdiag",
    "parse_slurm_ping",
    "parse_slurmctld_log",
    "parse_sreport_util",
    "parse_sres",
    "parse_stopo",
]
