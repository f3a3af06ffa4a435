"""NVLink and topology as nvidia-smi prints them.

GPU 0: NVIDIA A800-SXM4-80GB (UUID: GPU-0d1f2a3b-…)
         Link 0: 25 GB/s
         Link 1: <inactive>
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from checks.findings import Model
from checks.outputs import Facts, NotAvailable, OddLine, Outcome, Raw
from checks.tools.formats import absent

_GPU = re.compile(r"^GPU (\d+): (.+?) \(UUID: (GPU-[\w-]+)\)$")
_SPEED = re.compile(r"^Link (\d+): (?:(\d+(?:\.\d+)?) GB/s|<?inactive>?)$", re.I)
_COUNT = re.compile(r"^Link (\d+): (Replay|Recovery|CRC)(?: Errors| Error)?: (\d+|N/A)$", re.I)
_NONE = re.compile(r"does not have or support nvlink|all links are inactive|unable to retrieve nvlink", re.I)


class Link(Model):
    """One NVLink; `gb_per_s` is None while it is inactive."""

    line: int
    link: int
    gb_per_s: float | None


class LinkedGpu(Model):
    """A GPU and its links; `supported` is false where the GPU has no NVLink or all are down."""

    line: int
    index: int
    name: str
    links: tuple[Link, ...] = ()
    supported: bool = True

    @property
    def active(self) -> int:
        """How many links carry traffic."""
        return sum(link.gb_per_s is not None for link in self.links)


class NvLinks(Facts):
    """`nvidia-smi nvlink --status`."""

    gpus: tuple[LinkedGpu, ...]


def parse_smi_nvlink(raw: Raw) -> Outcome:
    """Link speeds per GPU."""
    gpus: list[LinkedGpu] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.strip()
        if found := _GPU.match(text):
            gpus.append(LinkedGpu(line=n, index=int(found[1]), name=found[2].strip()))
        elif gpus and (found := _SPEED.match(text)):
            link = Link(line=n, link=int(found[1]), gb_per_s=float(found[2]) if found[2] else None)
            gpus[-1] = gpus[-1].model_copy(update={"links": (*gpus[-1].links, link)})
        elif gpus and _NONE.search(text):
            gpus[-1] = gpus[-1].model_copy(update={"supported": False})
        elif gpus:
            odd.append(raw.odd(n))
    if not gpus or not any(g.links or not g.supported for g in gpus):
        return raw.unparsable("no NVLink status")
    odd += [raw.odd(g.line) for g in gpus if g.supported and not g.links]
    return NvLinks(gpus=tuple(gpus), odd=tuple(odd))


class LinkErrors(Model):
    """Error totals of one NVLink since driver load; None where it does not tell. `lines` has the line of each."""

    line: int
    lines: dict[str, int] = {}
    gpu: int
    link: int
    replay: int | None = None
    recovery: int | None = None
    crc: int | None = None


class NvLinkErrors(Facts):
    """`nvidia-smi nvlink -e`."""

    links: tuple[LinkErrors, ...]


def parse_smi_nvlink_err(raw: Raw) -> Outcome:
    """Error totals per link."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    odd: list[OddLine] = []
    gpu: int | None = None
    for n, line in raw.numbered():
        text = line.strip()
        if head := _GPU.match(text):
            gpu = int(head[1])
        elif gpu is not None and (count := _COUNT.match(text)):
            link, name = int(count[1]), count[2].lower()
            row = found.setdefault((gpu, link), {"line": n, "gpu": gpu, "link": link, "lines": {}})
            row[name] = None if absent(count[3]) else int(count[3])
            row["lines"][name] = n
        elif gpu is not None and _NONE.search(text):
            continue
        elif gpu is not None:
            odd.append(raw.odd(n))
    if gpu is None:
        return raw.unparsable("no NVLink error totals")
    if not found and not any(_NONE.search(x) for x in raw.lines):
        return raw.unparsable("no NVLink error totals")
    return NvLinkErrors(links=tuple(LinkErrors(**row) for row in found.values()), odd=tuple(odd))


class TopologyRow(Model):
    """One GPU or NIC: the connection to each column (`NV8`, `PIX`, `SYS` …), its cores and NUMA node."""

    line: int
    name: str
    to: dict[str, str]
    cpus: str | None = None
    numa: str | None = None


class Topology(Facts):
    """`nvidia-smi topo -m`. `nics` maps `NIC0` to its device where the legend tells."""

    rows: tuple[TopologyRow, ...]
    nics: dict[str, str] = {}


_CONNECTION = re.compile(r"^(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|PIB|OK|NS|CNS|GNS|TNS|DR|U|N/A)$")
_NIC = re.compile(r"^(NIC\d+): (\S+)$")


def parse_smi_topo(raw: Raw) -> Outcome:
    """The matrix by tabs or blanks; columns may be GPUs, NIC numbers or RDMA devices."""
    if any("missing its value" in line or "not supported" in line.lower() for line in raw.lines[:3]):
        return NotAvailable("unsupported", raw.lines[0].strip()[:160])
    header: list[str] = []
    rows: list[TopologyRow] = []
    nics: dict[str, str] = {}
    odd: list[OddLine] = []
    legend = False
    for n, line in raw.numbered():
        words = line.split()
        if not header:
            # devices go by any name (mlx5_0, rocep7s0, bnxt_re0); the columns end at CPU, NUMA or GPU NUMA
            if re.match(r"^GPU\d+$", words[0]) and not re.match(r"^\S+\s+X\b", line.strip()):
                header = list(takewhile(lambda w: w not in ("CPU", "NUMA", "GPU"), words))
            continue
        if line.strip().startswith("Legend") or line.strip().startswith("NIC Legend"):
            legend = True
        elif found := _NIC.match(line.strip()):
            nics[found[1]] = found[2]
        elif not legend and words[0] in header and len(words) > len(header):
            cells = words[1 : len(header) + 1]
            if not all(_CONNECTION.match(c) for c in cells):
                odd.append(raw.odd(n))
                continue
            rest = words[len(header) + 1 :]
            rows.append(
                TopologyRow(
                    line=n,
                    name=words[0],
                    to=dict(zip(header, cells, strict=True)),
                    cpus=rest[0] if rest and not absent(rest[0]) else None,
                    numa=rest[1] if len(rest) > 1 and not absent(rest[1]) else None,
                )
            )
        elif not legend:
            odd.append(raw.odd(n))
    if not rows:
        return raw.unparsable("no topology matrix")
    missing = [h for h in header if h.startswith("GPU") and h not in {r.name for r in rows}]
    if missing:
        odd.append(OddLine(line=len(raw.lines), text=f"no row for {', '.join(missing)}"))
    return Topology(rows=tuple(rows), nics=nics, odd=tuple(odd))


parse_smi_p2p = parse_smi_topo
