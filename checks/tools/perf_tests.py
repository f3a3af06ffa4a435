"""Results of bandwidth tests that a person attaches: nccl-tests, perftest (`ib_write_bw`), nvbandwidth.

    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
      8589934592    2147483648     float     sum      -1    43980  195.31  386.56      0    44094  194.81  385.56      0
    # Avg bus bandwidth    : 373.187

Every line may carry a label of mpirun (`[1,0]<stdout>:`) or srun (`0: `). These tests put load on a cluster: Rackside
reads them and never starts them.
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import integer, number

_LABEL = re.compile(r"^(?:\[\d+,\d+\]<std(?:out|err)>:\s?|\d+: )")
_ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+((?:u?int|float|half|double|bf|fp|f8|e[45])\w*|uint8)\s+(.*)$")
_RANK = re.compile(r"^#?\s*Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]+)\]\s+(.*)$")


class NcclRow(Model):
    """One size. Size in bytes, times in microseconds, bandwidth in GB/s; None where a cell holds no number."""

    line: int
    size: int
    time_us: float | None
    algbw: float | None
    busbw: float | None
    wrong: float | None
    in_place_busbw: float | None = None
    in_place_wrong: float | None = None


class NcclRank(Model):
    """One rank of the test and its GPU."""

    line: int
    rank: int
    host: str
    device: int
    bus: str
    gpu: str


class NcclTest(Facts):
    """A run of one collective. `avg_busbw` in GB/s, over all sizes: judge the large ones by `best`."""

    line: int
    rows: tuple[NcclRow, ...]
    ranks: int | None = None
    devices: tuple[NcclRank, ...] = ()
    avg_busbw: float | None = None
    avg_line: int | None = None
    out_of_bounds: int | None = None
    failed: bool = False
    validated: bool = True
    nccl_version: str | None = None
    errors: tuple[tuple[int, str], ...] = ()

    @property
    def best(self) -> NcclRow | None:
        """The row of the largest size."""
        return max(self.rows, key=lambda r: r.size, default=None)

    @property
    def max_busbw(self) -> float | None:
        """The highest bus bandwidth of any size, in place or not."""
        values = (b for r in self.rows for b in (r.busbw, r.in_place_busbw) if b is not None)
        return max(values, default=None)


def parse_nccl_tests(raw: Raw) -> Outcome:
    """The table of nccl-tests or rccl-tests, whatever columns the collective has; several runs count as one."""
    rows: list[NcclRow] = []
    devices: list[NcclRank] = []
    odd: list[OddLine] = []
    errors: list[tuple[int, str]] = []
    avg: tuple[int, float | None] | None = None
    bounds: int | None = None
    failed, header, version = False, 0, None
    validated = True
    for n, line in raw.numbered():
        text = _LABEL.sub("", line)
        if found := _ROW.match(text):
            row = _row(n, found)
            if row is None:
                odd.append(raw.odd(n))
            else:
                rows.append(row)
                validated = validated and not re.search(r"\bN/A\b", text)
                if row.time_us is None or row.busbw is None:
                    odd.append(raw.odd(n))
        elif found := _RANK.match(text.strip()):
            devices.append(
                NcclRank(
                    line=n, rank=int(found[1]), host=found[2], device=int(found[3]), bus=found[4], gpu=found[5].strip()
                )
            )
        elif found := re.match(r"^#\s*Avg bus bandwidth\s*:\s*(\S*)", text):
            avg = (n, number(found[1]))
        elif found := re.match(r"^#\s*Out of bounds values\s*:\s*(\d+)\s*(\w*)", text):
            bounds, failed = int(found[1]), found[2].upper() == "FAILED" or failed
        elif re.match(r"^#\s+size\s+count", text) or "nThread" in text or "Using devices" in text:
            header = header or n
        elif found := re.search(r"NCCL version (\d+\.\d+\.\d+)|nccl-tests version (\S+)", text):
            version = found[1] or version or found[2]
        elif re.search(r"NCCL (?:WARN|ERROR)|RCCL FATAL|Test NCCL failure|Test failure|non-zero exit", text):
            errors.append((n, text.strip()[:200]))
    if not rows and not header and avg is None:
        return raw.unparsable("no table of nccl-tests")
    if not rows and not errors:
        odd.append(OddLine(line=len(raw.lines), text="ends before the first result"))
    ranks = max((d.rank for d in devices), default=-1) + 1
    first = min([r.line for r in rows] + [n for n in (header,) if n] + ([avg[0]] if avg else []))
    return NcclTest(
        line=first,
        rows=tuple(rows),
        ranks=ranks or None,
        devices=tuple(devices),
        avg_busbw=avg[1] if avg else None,
        avg_line=avg[0] if avg else None,
        out_of_bounds=bounds,
        failed=failed,
        validated=validated,
        nccl_version=version,
        errors=tuple(errors),
        odd=tuple(odd),
    )


def _row(n: int, found: re.Match[str]) -> NcclRow | None:
    cells = found[4].split()
    # redop and root are there or not, by collective; a sheet of results ends in four cells, or eight with in-place
    while cells and (re.fullmatch(r"[a-z]+|-1", cells[0], re.I) or (len(cells) in (5, 9) and cells[0].isdigit())):
        if re.fullmatch(r"nan.*|inf.*|n/a", cells[0], re.I):
            break
        cells.pop(0)
    if len(cells) not in (3, 4, 6, 7, 8):
        return None
    values = [number(c) for c in cells]
    half = len(cells) // 2 if len(cells) > 4 else len(cells)
    wrong = values[3] if half == 4 else None
    second = values[half:] if len(cells) > 4 else []
    return NcclRow(
        line=n,
        size=int(found[1]),
        time_us=values[0],
        algbw=values[1],
        busbw=values[2],
        wrong=wrong,
        in_place_busbw=second[2] if len(second) > 2 else None,
        in_place_wrong=second[3] if len(second) > 3 else None,
    )


class BandwidthRow(Model):
    """One size. Bandwidth in Gbit/s, message rate in millions a second."""

    line: int
    size: int
    peak_gbps: float | None
    average_gbps: float | None
    rate_mpps: float | None


class BandwidthTest(Facts):
    """A report of perftest; several reports of one log (client and server) count as one. `failed` quotes why."""

    line: int
    rows: tuple[BandwidthRow, ...]
    device: str | None = None
    link: str | None = None
    mtu: int | None = None
    unit: str | None = None
    reports: int = 0
    failed: str | None = None
    failed_line: int | None = None

    @property
    def best_gbps(self) -> float | None:
        """The highest average of any size."""
        return max((r.average_gbps for r in self.rows if r.average_gbps is not None), default=None)


_UNITS = {"Gb/sec": 1.0, "MB/sec": 8 * 1024 * 1024 / 1e9, "MiB/sec": 8 * 1024 * 1024 / 1e9, "Mb/sec": 1e-3}
"""perftest counts 2^20 bytes as its MB."""
_FAILED = re.compile(
    r"Couldn't|Unable to|failed|Failed|Cannot allocate|not found|Connection refused|Completion with error|"
    r"syndrom|Conflicting CPU"
)


def parse_ib_write_bw(raw: Raw) -> Outcome:
    """`ib_write_bw`, `ib_read_bw`, `ib_send_bw`: the table of sizes in whatever unit it names."""
    rows: list[BandwidthRow] = []
    unit: str | None = None
    device = link = None
    mtu: int | None = None
    reports = 0
    failed: tuple[int, str] | None = None
    title = 0
    for n, line in raw.numbered():
        text = _LABEL.sub("", line)
        if re.search(r"(?:RDMA_Write|RDMA_Read|Send|Atomic|Write|Read).* BW Test", text):
            title = title or n
            reports += 1
        if (found := re.search(r"\bDevice\s*:\s*(\S+)", text)) and device is None:
            device = found[1]
        if (found := re.search(r"\bLink type\s*:\s*(\S+)", text)) and link is None:
            link = found[1]
        if (found := re.search(r"\bMtu\s*:\s*(\d+)", text)) and mtu is None:
            mtu = integer(found[1])
        if found := re.search(r"BW average\[([^\]]+)\]", text):
            unit = found[1]
            title = title or n
        elif unit and (found := re.match(r"^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(?:\s+(\S+))?\s*$", text)):
            factor = _UNITS.get(unit)
            peak, average = number(found[3]), number(found[4])
            rows.append(
                BandwidthRow(
                    line=n,
                    size=int(found[1]),
                    peak_gbps=peak * factor if peak is not None and factor else None,
                    average_gbps=average * factor if average is not None and factor else None,
                    rate_mpps=number(found[5] or ""),
                )
            )
        elif failed is None and _FAILED.search(text):
            failed = (n, text.strip()[:200])
    if not title:
        return raw.unparsable("no report of perftest")
    odd = () if rows or failed else (OddLine(line=len(raw.lines), text="ends before the first result"),)
    return BandwidthTest(
        line=title,
        rows=tuple(rows),
        device=device,
        link=link,
        mtu=mtu,
        unit=unit,
        reports=reports,
        failed=failed[1] if failed and not rows else None,
        failed_line=failed[0] if failed and not rows else None,
        odd=odd,
    )
