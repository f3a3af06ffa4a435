"""NVMe drives: `nvme smart-log` and `nvme list`; the JSON of `smartctl` is read too.

{"critical_warning": 0, "temperature": 316, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3, …}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from checks.outputs import Empty, Facts, NotAvailable, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import integer, json_value

_KELVIN = 273


class NvmeSmart(Facts):
    """Health of one drive. `used_pct` of rated endurance may exceed 100; `critical_warning` is a bit mask."""

    line: int
    critical_warning: int | None = None
    critical_line: int | None = None
    temperature_c: int | None = None
    spare_pct: int | None = None
    spare_line: int | None = None
    spare_threshold_pct: int | None = None
    used_pct: int | None = None
    used_line: int | None = None
    media_errors: int | None = None
    media_line: int | None = None
    unsafe_shutdowns: int | None = None
    error_log_entries: int | None = None


_SMART = {
    "critical_warning": "critical_warning",
    "temperature": "temperature_c",
    "avail_spare": "spare_pct",
    "available_spare": "spare_pct",
    "spare_thresh": "spare_threshold_pct",
    "available_spare_threshold": "spare_threshold_pct",
    "percent_used": "used_pct",
    "percentage_used": "used_pct",
    "media_errors": "media_errors",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "num_err_log_entries": "error_log_entries",
}
_LINES = {
    "critical_warning": "critical_line",
    "spare_pct": "spare_line",
    "used_pct": "used_line",
    "media_errors": "media_line",
}


def parse_nvme_smart(raw: Raw) -> Outcome:
    """`nvme smart-log -o json` (temperature in kelvin), its text form, or `smartctl -j` (degrees Celsius)."""
    if any(line.lstrip().startswith("{") for line in raw.lines):
        return _smart_json(raw)
    cells: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    started = False
    for n, line in raw.numbered():
        key, colon, value = line.partition(":")
        name = re.sub(r"\s+", "_", key.strip().lower())
        if line.startswith("Smart Log for"):
            started = True
        elif colon and name in _SMART:
            started = True
            cells.setdefault(name, (n, value.strip()))
        elif started and not colon:
            odd.append(raw.odd(n))
    return _smart(raw, cells, tuple(odd))


def _smart_json(raw: Raw) -> Outcome:
    read = json_value(raw)
    if isinstance(read, Unparsable):
        return read
    value, first = read
    if not isinstance(value, dict):
        return raw.unparsable("not the JSON of an NVMe health log")
    log: Any = value
    if "smartctl" in value:
        log = value.get("nvme_smart_health_information_log")
        if not isinstance(log, dict):
            return NotAvailable("failed", "smartctl gave no NVMe health log")
    cells: dict[str, tuple[int, str]] = {}
    for key, item in log.items():
        if key in _SMART:
            # newer versions spell the warning bits out in an object that holds the mask as `value`
            item = item.get("value") if isinstance(item, dict) else item
            line = next((n for n in range(first, len(raw.lines) + 1) if f'"{key}"' in raw.lines[n - 1]), first)
            cells[key] = (line, str(item))
    return _smart(raw, cells, ())


def _smart(raw: Raw, cells: dict[str, tuple[int, str]], odd: tuple[OddLine, ...]) -> Outcome:
    found: dict[str, Any] = {}
    for name, (line, text) in cells.items():
        field = _SMART[name]
        found.setdefault(field, integer(text))
        if field in _LINES:
            found.setdefault(_LINES[field], line)
    if "critical_warning" not in found or ("used_pct" not in found and "spare_pct" not in found):
        return raw.unparsable("not an NVMe health log")
    celsius = found.get("temperature_c")
    if celsius is not None and celsius > 200:
        found["temperature_c"] = celsius - _KELVIN
    missing = [k for k in ("critical_warning", "used_pct", "media_errors", "spare_pct") if found.get(k) is None]
    if missing:
        odd = (*odd, OddLine(line=len(raw.lines), text=f"no value for {missing[0].replace('_', ' ')}"))
    return NvmeSmart(line=found["critical_line"], odd=odd, **found)


class NvmeDrive(BaseModel):
    """One namespace of `nvme list`. `size_bytes` of the drive."""

    line: int
    device: str
    model: str | None = None
    firmware: str | None = None
    size_bytes: int | None = None


class NvmeList(Facts):
    """NVMe drives of the node."""

    drives: tuple[NvmeDrive, ...]


def parse_nvme_list(raw: Raw) -> Outcome:
    """`nvme list -o json` of nvme-cli 1 and 2, or the text table."""
    if any(re.match(r'^\s*\{?\s*"Devices"', line) for line in raw.lines):
        read = json_value(raw)
        if isinstance(read, Unparsable):
            return read
        drives = [_drive(raw, row) for row in _namespaces(read[0])]
        return NvmeList(drives=tuple(drives)) if drives else Empty("no NVMe drives")
    rows: list[NvmeDrive] = []
    odd: list[OddLine] = []
    rule = next((n for n, line in raw.numbered() if re.fullmatch(r"-{4,}(\s+-{4,})+\s*", line)), None)
    if rule is None or not raw.lines[rule - 2].startswith("Node"):
        return raw.unparsable("not nvme list")
    spans = [(m.start(), m.end()) for m in re.finditer(r"-+", raw.lines[rule - 1])]
    heads = [raw.lines[rule - 2][a:b].strip() for a, b in spans]
    for n, line in raw.numbered():
        if n <= rule:
            continue
        cells = dict(zip(heads, (line[a:b].strip() for a, b in spans), strict=True))
        if line.startswith("/dev/nvme") and len(line.rstrip()) > spans[-1][0]:
            rows.append(
                NvmeDrive(line=n, device=cells["Node"], model=cells.get("Model") or None, firmware=cells.get("FW Rev"))
            )
        else:
            odd.append(raw.odd(n))
    if not rows and not odd:
        return Empty("no NVMe drives")
    return NvmeList(drives=tuple(rows), odd=tuple(odd))


def _namespaces(value: Any) -> Iterator[dict[str, Any]]:
    """Rows with a device path: flat in version 1, under Subsystems, Controllers and Namespaces in version 2."""

    def walk(node: Any, model: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(node, list):
            for item in node:
                yield from walk(item, model)
        elif isinstance(node, dict):
            known = model | {k: v for k, v in node.items() if k in ("ModelNumber", "Firmware")}
            name = node.get("DevicePath") or node.get("NameSpace") or node.get("Namespace")
            if isinstance(name, str):
                yield known | node | {"DevicePath": name if name.startswith("/") else f"/dev/{name}"}
            for key in ("Devices", "Subsystems", "Controllers", "Namespaces"):
                yield from walk(node.get(key), known)

    seen: set[str] = set()
    for row in walk(value, {}):
        if row["DevicePath"] not in seen:
            seen.add(row["DevicePath"])
            yield row


def _drive(raw: Raw, row: dict[str, Any]) -> NvmeDrive:
    device = row["DevicePath"]
    short = device.removeprefix("/dev/")
    line = next((n for n, text in raw.numbered() if f'"{device}"' in text or f'"{short}"' in text), 1)
    size = row.get("PhysicalSize")
    return NvmeDrive(
        line=line,
        device=device,
        model=str(row.get("ModelNumber") or "").strip() or None,
        firmware=str(row.get("Firmware") or "").strip() or None,
        size_bytes=size if isinstance(size, int) else None,
    )
