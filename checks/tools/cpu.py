"""Processors and kernel set-up: `lscpu`, cpufreq and cpuidle files, `/proc/cmdline`, `/proc/modules`, `mpstat`.

`lscpu -J` gives `{"lscpu": [{"field": "CPU(s):", "data": "128"}, …]}`, newer versions nest `children`; without -J the
same pairs come as text. `mpstat -o JSON` and its text form carry one row a CPU and sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from checks.outputs import Empty, Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import absent, cut_line, integer, json_value, number, path_values


class CpuInfo(Facts):
    """What `lscpu` says. `cpus` counts hardware threads; `cores` are physical ones."""

    line: int
    cpus: int | None = None
    cpus_line: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    cores_line: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    numa_cpus: dict[int, str] = {}
    model: str | None = None
    mhz: float | None = None
    max_mhz: float | None = None
    hypervisor: str | None = None

    @property
    def cores(self) -> int | None:
        """Physical cores of the node; None when the output does not say."""
        if self.sockets is not None and self.cores_per_socket is not None:
            return self.sockets * self.cores_per_socket
        if self.cpus is not None and self.threads_per_core:
            return self.cpus // self.threads_per_core
        return None


_LSCPU = {
    "cpu(s)": "cpus",
    "socket(s)": "sockets",
    "core(s) per socket": "cores_per_socket",
    "core(s) per cluster": "cores_per_socket",
    "thread(s) per core": "threads_per_core",
    "numa node(s)": "numa_nodes",
}
_NUMA_CPUS = re.compile(r"^numa node(\d+) cpu\(s\)$", re.I)


def parse_cpu_info(raw: Raw) -> Outcome:
    """`lscpu -J` or the text of `lscpu`, flat or in indented groups."""
    if any(re.match(r'^\s*"lscpu"\s*:|^\s*\{\s*"lscpu"\s*:', line) for line in raw.lines):
        read = json_value(raw)
        if isinstance(read, Unparsable):
            return read
        value, _ = read
        rows = value.get("lscpu") if isinstance(value, dict) else None
        if not isinstance(rows, list):
            return raw.unparsable("JSON without the lscpu list")
        return _cpu_facts(raw, list(_json_pairs(raw, rows)), ())
    pairs: list[tuple[int, str, str]] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        key, colon, value = line.partition(":")
        if colon and re.match(r"^\s*[A-Za-z]", line):
            if pairs or key.strip().lower() in ("architecture", *_LSCPU):
                pairs.append((n, key.strip(), value.strip()))
        elif pairs and not line.startswith("  "):  # long flag lists wrap, indented
            odd.append(raw.odd(n))
    return _cpu_facts(raw, pairs, tuple(odd))


def _json_pairs(raw: Raw, rows: Iterable[Any]) -> Iterator[tuple[int, str, str]]:
    at = 0
    stack = list(rows)[::-1]
    while stack:
        row = stack.pop()
        if not isinstance(row, dict):
            continue
        field, data = str(row.get("field", "")), row.get("data")
        at = next((n for n in range(at, len(raw.lines)) if f'"{field}"' in raw.lines[n]), at)
        # in some versions the value stands on the line after the field
        ahead = (n for n in range(at, min(at + 2, len(raw.lines))) if data is not None and f'"{data}"' in raw.lines[n])
        if data is not None:
            yield next(ahead, at) + 1, field.rstrip(":"), str(data)
        children = row.get("children")
        if isinstance(children, list):
            stack.extend(children[::-1])


def _cpu_facts(raw: Raw, pairs: list[tuple[int, str, str]], odd: tuple[OddLine, ...]) -> Outcome:
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    numa: dict[int, str] = {}
    for n, key, value in pairs:
        name = key.lower()
        if field := _LSCPU.get(name):
            if field not in found:
                found[field], lines[field] = integer(value), n
        elif match := _NUMA_CPUS.match(name):
            numa.setdefault(int(match[1]), value)
        elif name == "model name" and not absent(value):
            found.setdefault("model", value)
        elif name in ("cpu mhz", "cpu max mhz"):
            found.setdefault("mhz" if name == "cpu mhz" else "max_mhz", number(value))
        elif name == "hypervisor vendor":
            found.setdefault("hypervisor", value)
    if "cpus" not in found:
        return raw.unparsable("not lscpu: no line CPU(s)")
    if missing := [k for k in ("sockets", "threads_per_core", "numa_nodes") if found.get(k) is None]:
        odd = (*odd, OddLine(line=len(raw.lines), text=f"no value for {missing[0].replace('_', ' ')}"))
    return CpuInfo(
        line=lines["cpus"],
        cpus_line=lines["cpus"],
        cores_line=lines.get("cores_per_socket"),
        numa_cpus=numa,
        odd=odd,
        **found,
    )


class SysValue(BaseModel):
    """One value of a file in /sys; `name` is the part of the path that says which (policy0, state3, 17)."""

    line: int
    name: str
    value: str


_GOVERNORS = {"performance", "powersave", "ondemand", "conservative", "schedutil", "userspace", "interactive"}


class Governors(Facts):
    """Frequency governor of each cpufreq policy."""

    policies: tuple[SysValue, ...]


def parse_cpu_governor(raw: Raw) -> Outcome:
    """`/sys/devices/system/cpu/cpufreq/policy0/scaling_governor:performance`, one line a policy."""
    if all(line.startswith("grep: ") for _, line in raw.numbered()) and not raw.blank:
        return Empty("no cpufreq policies: the firmware controls the frequency")
    rows, odd = _sys_values(raw, r"/(policy\d+|cpu\d+)/(?:cpufreq/)?scaling_governor$")
    if not rows:
        return raw.unparsable("no scaling governors")
    # a word the kernel does not know is a cut line, not another governor
    odd = (*odd, *(raw.odd(r.line) for r in rows if r.value not in _GOVERNORS))
    return Governors(policies=tuple(r for r in rows if r.value in _GOVERNORS), odd=odd)


class IdleState(BaseModel):
    """One C-state of CPU 0; `disabled` None when the file was missing."""

    line: int
    state: int
    name: str | None = None
    disabled: bool | None = None


class IdleStates(Facts):
    """C-states and whether they are switched off."""

    states: tuple[IdleState, ...]


def parse_cpu_idle(raw: Raw) -> Outcome:
    """`…/cpuidle/state2/name:C6` and `…/state2/disable:0`."""
    values, odd = path_values(raw)
    cut = [x.line for x in cut_line(raw)]
    states: dict[int, dict[str, Any]] = {}
    other: list[OddLine] = []
    for v in values:
        match = re.search(r"/cpuidle/state(\d+)/(name|disable)$", v.path)
        if not match or v.line in cut:
            other.append(raw.odd(v.line))
            continue
        row = states.setdefault(int(match[1]), {"line": v.line, "state": int(match[1])})
        if match[2] == "name":
            row["name"] = v.value
        else:
            row["disabled"] = {"0": False, "1": True}.get(v.value)
    if not states:
        return raw.unparsable("no cpuidle states")
    return IdleStates(states=tuple(IdleState(**states[k]) for k in sorted(states)), odd=(*odd, *other))


class IommuGroups(Facts):
    """DMA type of each IOMMU group: `identity` is passthrough, `DMA` and `DMA-FQ` are translated."""

    groups: tuple[SysValue, ...]


def parse_iommu_groups(raw: Raw) -> Outcome:
    """`/sys/kernel/iommu_groups/17/type:identity`; no groups at all means that the IOMMU is off."""
    if not raw.blank and all("iommu_groups" in x and x.startswith("grep: ") for _, x in raw.numbered()):
        return Empty("no IOMMU groups: the IOMMU is off")
    rows, odd = _sys_values(raw, r"/iommu_groups/(\d+)/type$")
    return IommuGroups(groups=rows, odd=odd) if rows else raw.unparsable("no IOMMU groups")


def _sys_values(raw: Raw, pattern: str) -> tuple[tuple[SysValue, ...], tuple[OddLine, ...]]:
    values, odd = path_values(raw)
    cut = [x.line for x in cut_line(raw)]
    rows: list[SysValue] = []
    other: list[OddLine] = []
    for v in values:
        match = re.search(pattern, v.path)
        if match and v.value and v.line not in cut:
            rows.append(SysValue(line=v.line, name=match[1], value=v.value))
        else:
            other.append(raw.odd(v.line))
    return tuple(rows), (*odd, *other)


class Cmdline(Facts):
    """Kernel command line: words with `=` in `options` (the last one counts), the others in `flags`."""

    line: int
    options: dict[str, str]
    flags: tuple[str, ...] = ()


def parse_cmdline(raw: Raw) -> Outcome:
    """`BOOT_IMAGE=/vmlinuz-5.15.0 root=UUID=… ro iommu=pt`, one line."""
    for n, line in raw.numbered():
        words = line.split()
        options = dict(w.split("=", 1) for w in words if re.match(r"^[A-Za-z][\w.\-]*=", w))
        if {"BOOT_IMAGE", "root", "initrd"} & options.keys():
            odd = tuple(raw.odd(k) for k, _ in raw.numbered() if k > n) or cut_line(raw)
            return Cmdline(line=n, options=options, flags=tuple(w for w in words if "=" not in w), odd=odd)
    return raw.unparsable("not a kernel command line")


class Module(BaseModel):
    """A loaded kernel module. `size` in bytes."""

    line: int
    name: str
    size: int
    used_by: tuple[str, ...] = ()


class Modules(Facts):
    """Loaded kernel modules."""

    modules: tuple[Module, ...]

    def loaded(self, name: str) -> bool:
        """True when the module is listed itself or as a user of another (a filter may have dropped its own line)."""
        name = name.replace("-", "_")
        return any(m.name == name or name in m.used_by for m in self.modules)


_PROC_MODULE = re.compile(r"^(\w+) (\d+) (-?\d+) (\S+) (?:Live|Loading|Unloading)\b")
_LSMOD = re.compile(r"^(\w+)\s+(\d+)\s+(-?\d+)(?:\s+([\w,\[\]-]+))?$")


def parse_modules(raw: Raw) -> Outcome:
    """`nvidia 62722048 12 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (OE)`; `lsmod` is understood too."""
    found: list[Module] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.rstrip()
        if match := _PROC_MODULE.match(text) or _LSMOD.match(text):
            users = tuple(u for u in re.split(r"[,\s]+", match[4] or "") if u and u != "-" and not u.startswith("["))
            found.append(Module(line=n, name=match[1], size=int(match[2]), used_by=users))
        elif found:
            odd.append(raw.odd(n))
    odd = odd or list(cut_line(raw))
    return Modules(modules=tuple(found), odd=tuple(odd)) if found else raw.unparsable("no kernel modules")


class CpuLoad(BaseModel):
    """Shares of one CPU (`all` or its number) in one sample, in percent; None where the column is missing."""

    line: int
    cpu: str
    user_pct: float | None = None
    sys_pct: float | None = None
    iowait_pct: float | None = None
    irq_pct: float | None = None
    soft_pct: float | None = None
    steal_pct: float | None = None
    idle_pct: float | None = None


class MpStat(Facts):
    """CPU shares; the samples follow each other. The averages at the end are left out."""

    rows: tuple[CpuLoad, ...]


_MP_JSON = {"usr": "user_pct", "user": "user_pct"} | {k: f"{k}_pct" for k in ("sys", "iowait", "irq", "soft", "steal")}
_MP_JSON["idle"] = "idle_pct"


def parse_mpstat(raw: Raw) -> Outcome:
    """`mpstat -P ALL -o JSON` (`cpu-load` rows under `statistics`) or its text table."""
    if any(re.match(r'^\s*\{?\s*"sysstat"', line) for line in raw.lines):
        return _mpstat_json(raw)
    rows: list[CpuLoad] = []
    odd: list[OddLine] = []
    heads: list[str] = []
    for n, line in raw.numbered():
        cells = line.split()
        if "CPU" in cells and any(c in ("%idle", "%usr", "%user") for c in cells):
            heads = cells[cells.index("CPU") :]
        elif line.startswith("Average:"):
            continue
        elif heads and len(cells) >= len(heads) and re.fullmatch(r"all|\d+", cells[-len(heads)]):
            pairs = dict(zip(heads[1:], cells[1 - len(heads) :], strict=True))
            rows.append(_mp_row(n, cells[-len(heads)], {k.lstrip("%"): v for k, v in pairs.items()}))
        elif heads:
            odd.append(raw.odd(n))
    odd = odd or list(cut_line(raw))
    return MpStat(rows=tuple(rows), odd=tuple(odd)) if rows else raw.unparsable("no CPU rows of mpstat")


def _mpstat_json(raw: Raw) -> Outcome:
    read = json_value(raw)
    if isinstance(read, Unparsable):
        return read
    rows: list[CpuLoad] = []
    at = read[1] - 1
    for sample in _every(read[0], "cpu-load"):
        for row in sample if isinstance(sample, list) else ():
            if isinstance(row, dict) and "cpu" in row:
                at = next((n for n in range(at, len(raw.lines)) if f'"{row["cpu"]}"' in raw.lines[n]), at)
                rows.append(_mp_row(at + 1, str(row["cpu"]), row))
                at = min(at + 1, len(raw.lines) - 1)
    return MpStat(rows=tuple(rows)) if rows else raw.unparsable("no cpu-load in the JSON of mpstat")


def _every(value: Any, name: str) -> Iterator[Any]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            if name in one:
                yield one[name]
            stack.extend(list(one.values())[::-1])
        elif isinstance(one, list):
            stack.extend(one[::-1])


def _mp_row(line: int, cpu: str, cells: dict[str, Any]) -> CpuLoad:
    values = {_MP_JSON[k]: number(str(v)) for k, v in cells.items() if k in _MP_JSON}
    return CpuLoad(line=line, cpu=cpu, **values)
