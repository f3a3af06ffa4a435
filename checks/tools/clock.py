"""Clock and boot: `date`, `chronyc tracking`, `timedatectl`, boot id and uptime.

`chronyc -c tracking` is one CSV line; the text form has one `Name : value` a line:

    C0A80101,192.168.1.1,3,1772591401.123456789,0.000012345,-0.000004321,0.000015678,-1.234,0.001,0.010,0.0004,0.0001,64.2,Normal
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import cut_line, number

_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.I)
_UPTIME = re.compile(r"^(\d+\.\d+)\s+(\d+\.\d+)$")


class Boot(Facts):
    """Which boot this is. `uptime_s` in seconds."""

    line: int
    boot_id: str
    uptime_s: float | None = None
    uptime_line: int | None = None


def parse_boot(raw: Raw) -> Outcome:
    """`cat boot_id /proc/uptime`: a UUID line, then `uptime idle` in seconds."""
    found: tuple[int, str] | None = None
    uptime: tuple[int, float] | None = None
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        text = line.strip()
        if found is None and _UUID.match(text):
            found = (n, text.lower())
        elif found and uptime is None and (match := _UPTIME.match(text)):
            uptime = (n, float(match[1]))
        elif found:
            odd.append(raw.odd(n))
    if found is None:
        return raw.unparsable("no boot id")
    if uptime is None and not odd:
        odd.append(OddLine(line=found[0], text="no uptime after the boot id"))
    return Boot(
        line=found[0],
        boot_id=found[1],
        uptime_s=uptime[1] if uptime else None,
        uptime_line=uptime[0] if uptime else None,
        odd=tuple(odd),
    )


_EPOCH = re.compile(r"\d{1,11}\.\d{9}|\d{9,11}(?:\.\d{0,9}|\.N)?")


class Epoch(Facts):
    """The node's clock. `seconds` since 1970 UTC."""

    line: int
    seconds: float


def parse_epoch(raw: Raw) -> Outcome:
    """`date +%s.%N`: one number such as `1772591400.123456789`; small after a clock lost its battery."""
    lines = [(n, line.strip()) for n, line in raw.numbered()]
    found = [(n, text) for n, text in lines if _EPOCH.fullmatch(text)]
    cut = cut_line(raw)
    if not found or (cut and found[0][0] == cut[0].line and "." not in found[0][1]):
        return raw.unparsable("no epoch time")
    n, text = found[0]
    odd = tuple(raw.odd(k) for k, _ in lines if k > n) or cut
    return Epoch(line=n, seconds=float(text.removesuffix(".N")), odd=odd)


class Chrony(Facts):
    """What chronyd says about the clock. Offsets and dispersions in seconds, positive `offset_s`: the clock is ahead.

    `leap` is `Normal`, `Insert second`, `Delete second` or `Not synchronised`; `synchronised` is None when unknown.
    """

    line: int
    reference: str | None = None
    reference_line: int | None = None
    stratum: int | None = None
    offset_s: float | None = None
    offset_line: int | None = None
    last_offset_s: float | None = None
    rms_offset_s: float | None = None
    frequency_ppm: float | None = None
    root_delay_s: float | None = None
    root_dispersion_s: float | None = None
    leap: str | None = None
    leap_line: int | None = None

    @property
    def synchronised(self) -> bool | None:
        """False when chronyd says so or has no reference; None when it does not say."""
        if self.leap is None:
            return None
        return "not sync" not in self.leap.lower()


def parse_time_chrony(raw: Raw) -> Outcome:
    """`chronyc -c tracking` (CSV of 14 fields) or its text form."""
    for n, line in raw.numbered():
        cells = [c.strip() for c in line.split(",")]
        if len(cells) >= 5 and re.fullmatch(r"[0-9A-Fa-f]{8}", cells[0]):
            return _chrony_csv(raw, n, cells)
        if re.match(r"^Reference ID\s*:", line.strip()):
            return _chrony_text(raw)
    return raw.unparsable("neither CSV nor text of chronyc tracking")


_LEAP = ("Normal", "Insert second", "Delete second", "Not synchronised")


def _leap(text: str) -> str | None:
    """The leap status; None for half a word, which says nothing."""
    return text if text in _LEAP else None


def _chrony_csv(raw: Raw, n: int, cells: list[str]) -> Outcome:
    # older chronyc has no IP column behind the reference id; a cut-off line of a newer one is as short
    if len(cells) == 13 and _leap(cells[12]):
        cells.insert(1, "")
    odd = [raw.odd(k) for k, _ in raw.numbered() if k > n]
    if len(cells) < 14 or not _leap(cells[13]):
        odd.append(raw.odd(n))
    cells += [""] * (14 - len(cells))
    values = [number(c) for c in cells]
    offset = values[4]
    return Chrony(
        line=n,
        reference=cells[1] or None,
        reference_line=n,
        stratum=_whole(values[2]),
        # field 5 is what chronyd still has to add to system time: negative when the clock runs ahead
        offset_s=None if offset is None else -offset,
        offset_line=n,
        last_offset_s=values[5],
        rms_offset_s=values[6],
        frequency_ppm=values[7],
        root_delay_s=values[10],
        root_dispersion_s=values[11],
        leap=_leap(cells[13]),
        leap_line=n,
        odd=tuple(odd),
    )


_CHRONY_KEYS = {
    "reference id",
    "stratum",
    "ref time (utc)",
    "system time",
    "last offset",
    "rms offset",
    "frequency",
    "residual freq",
    "skew",
    "root delay",
    "root dispersion",
    "update interval",
    "leap status",
}


def _chrony_text(raw: Raw) -> Outcome:
    cells: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        key, colon, value = line.partition(":")
        name = key.strip().lower()
        if colon and name in _CHRONY_KEYS and value.strip():
            cells.setdefault(name, (n, value.strip()))
        elif cells:
            odd.append(raw.odd(n))
    leap = _leap(cells["leap status"][1]) if "leap status" in cells else None
    if missing := [k for k in ("system time", "leap status") if k not in cells or (k == "leap status" and not leap)]:
        odd.append(OddLine(line=len(raw.lines), text=f"ends before {missing[0]}"))

    def cell(name: str) -> float | None:
        return number(cells[name][1]) if name in cells else None

    def line_of(name: str) -> int | None:
        return cells[name][0] if name in cells else None

    offset = cell("system time")
    if offset is not None and " slow" in cells["system time"][1]:
        offset = -offset
    reference = cells.get("reference id", (0, ""))[1]
    named = re.search(r"\(([^)]*)\)", reference)
    return Chrony(
        line=cells["reference id"][0],
        reference=(named[1] if named else reference) or None,
        reference_line=line_of("reference id"),
        stratum=_whole(cell("stratum")),
        offset_s=offset,
        offset_line=line_of("system time"),
        last_offset_s=cell("last offset"),
        rms_offset_s=cell("rms offset"),
        frequency_ppm=cell("frequency"),
        root_delay_s=cell("root delay"),
        root_dispersion_s=cell("root dispersion"),
        leap=leap,
        leap_line=line_of("leap status"),
        odd=tuple(odd),
    )


class TimeCtl(Facts):
    """What systemd says about the clock; None where it does not say."""

    line: int
    synchronised: bool | None = None
    synchronised_line: int | None = None
    ntp_active: bool | None = None
    timezone: str | None = None
    rtc_local: bool | None = None


_CTL_KEYS = {
    "timezone": "timezone",
    "time zone": "timezone",
    "localrtc": "rtc_local",
    "rtc in local tz": "rtc_local",
    "ntp": "ntp_active",
    "ntp enabled": "ntp_active",
    "ntp service": "ntp_active",
    "network time on": "ntp_active",
    "systemd-timesyncd.service active": "ntp_active",
    "ntpsynchronized": "synchronised",
    "ntp synchronized": "synchronised",
    "system clock synchronized": "synchronised",
}
_CTL_KNOWN = {"canntp", "timeusec", "rtctimeusec", "local time", "universal time", "rtc time", "dst active"}


def parse_time_ctl(raw: Raw) -> Outcome:
    """`timedatectl show` (`NTPSynchronized=yes`) or the text of `timedatectl` (`NTP synchronized: yes`)."""
    found: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    first = 0
    for n, key, value in _pairs(raw):
        name = _CTL_KEYS.get(key)
        if name:
            found.setdefault(name, (n, value))
        elif key in _CTL_KNOWN:
            pass
        elif first and not raw.lines[n - 1].startswith(" "):
            # indented lines of older versions: the next DST changes, the warning about a local RTC
            odd.append(raw.odd(n))
        if name or key in _CTL_KNOWN:
            first = first or n
    if "synchronised" not in found and "timezone" not in found:
        return raw.unparsable("not timedatectl")
    if "synchronised" not in found:
        odd.append(OddLine(line=len(raw.lines), text="ends before the synchronisation state"))
    sync = found.get("synchronised")
    return TimeCtl(
        line=first,
        synchronised=_yes(sync[1]) if sync else None,
        synchronised_line=sync[0] if sync else None,
        ntp_active=_yes(found["ntp_active"][1]) if "ntp_active" in found else None,
        timezone=found["timezone"][1].split(" ")[0] if "timezone" in found else None,
        rtc_local=_yes(found["rtc_local"][1]) if "rtc_local" in found else None,
        odd=tuple(odd),
    )


def _pairs(raw: Raw) -> Iterator[tuple[int, str, str]]:
    for n, line in raw.numbered():
        text = line.strip()
        mark = "=" if re.match(r"^[A-Za-z]+=", text) else ":"
        key, _, value = text.partition(mark)
        yield n, key.strip().lower(), value.strip()


def _yes(text: str) -> bool | None:
    word = text.strip().lower()
    if word in ("yes", "active", "true", "1"):
        return True
    return False if word in ("no", "inactive", "false", "0") else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
