"""Lustre layouts: `lfs getstripe` in YAML (`-y`) and in its older text forms.

    stripe_count:  4 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1

    /lustre/ckpt/step-0048000.pt
    lmm_stripe_count:  4
    lmm_stripe_size:   16777216
    lmm_objects:
          - l_ost_idx: 10
            l_fid:     0x100040000:0x3:0x0

A composite file (PFL, FLR) has one component after another; a directory's default has `stripe_count` without `lmm_`.
"""

from __future__ import annotations

import re

from checks.findings import Model
from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import integer


class Component(Model):
    """One component of a layout. `stripe_count` -1 means all OSTs; sizes and extents in bytes, `end` None for EOF."""

    line: int
    stripe_count: int | None = None
    stripe_count_line: int | None = None
    stripe_size: int | None = None
    pattern: str | None = None
    stripe_offset: int | None = None
    pool: str | None = None
    start: int | None = None
    end: int | None = None
    mirror: int | None = None
    initialised: bool | None = None
    osts: tuple[int, ...] = ()


class Layout(Model):
    """The layout of one file or directory; `path` is None where the output does not name it."""

    line: int
    path: str | None
    components: tuple[Component, ...]
    default: bool = False

    def at(self, size_bytes: float) -> Component:
        """The component that holds the end of a file of this size; the last one where extents are not told.

        Of several mirrors the narrowest: which of them a write goes to is not told.
        """
        ends: list[Component] = []
        for mirror in dict.fromkeys(c.mirror for c in self.components):
            own = [c for c in self.components if c.mirror == mirror]
            ends.append(next((c for c in own if c.end is not None and size_bytes <= c.end), own[-1]))
        told = [c for c in ends if c.stripe_count is not None and c.stripe_count >= 0]
        return min(told, key=lambda c: c.stripe_count or 0) if told else ends[0]


class Layouts(Facts):
    """Layouts in the order of the output."""

    layouts: tuple[Layout, ...]


_DEFAULT = re.compile(r"(stripe_count|stripe_size|pattern|stripe_offset|pool):\s*(\S+)")
_FIELD = re.compile(r"^\s*(?:lmm_|lcme_)?([a-z_.]+):\s*(.*)$")
_OBJECT = re.compile(r"l_ost_idx:\s*(\d+)")
_TABLE = re.compile(r"^\s*(\d+)\s+(\d+)\s+0x[0-9a-f]+\s+\S+\s*\*?\s*$", re.I)
_HEADING = re.compile(r"^\s*obdidx\s+objid", re.I)
_SECTION = re.compile(r"^(?:component\d+|sub_layout|composite_header|components):$")
_NONE = re.compile(r"has no stripe info", re.I)
_KNOWN = frozenset(
    {
        *("stripe_count", "stripe_size", "pattern", "layout_gen", "stripe_offset", "pool", "objects", "id", "flags"),
        *("mirror_id", "extent.e_start", "extent.e_end", "lcm_layout_gen", "lcm_entry_count", "lcm_mirror_count"),
        *("entry_count", "mirror_count", "fid", "seq", "oid", "l_fid", "timestamp", "prefer", "magic", "object_id"),
        "raw_flags",
    }
)


def parse_lfs_getstripe(raw: Raw) -> Outcome:
    """Every object of the output, whichever form it is in."""
    found: list[dict[str, object]] = []
    odd: list[OddLine] = []
    parts: list[Component] = []

    def begin(line: int, path: str | None, default: bool = False) -> None:
        close()
        found.append({"line": line, "path": path, "default": default})

    def close() -> None:
        if found and "components" not in found[-1]:
            if parts:
                found[-1]["components"] = tuple(parts)
            else:
                found.pop()
            parts.clear()

    def set_(line: int, **values: object) -> None:
        if not found or "components" in found[-1]:
            begin(line, None)
        if not parts:
            parts.append(Component(line=line))
        parts[-1] = parts[-1].model_copy(update=values)

    for n, line in raw.numbered():
        text = line.strip()
        if _NONE.search(text) or _SECTION.match(text):
            continue
        if text.startswith(("stripe_count:", "stripe_size:")):
            values = dict(_DEFAULT.findall(text))
            if not found or "components" in found[-1] or parts:
                begin(n, None)
            found[-1]["default"] = True
            set_(n, **_numbers(values, n))
        elif objects := _OBJECT.search(text):
            osts = parts[-1].osts if parts else ()
            set_(n, osts=(*osts, int(objects[1])))
        elif row := _TABLE.match(line):
            osts = parts[-1].osts if parts else ()
            set_(n, osts=(*osts, int(row[1])))
        elif _HEADING.match(line) or text in ("lmm_objects:", "objects:"):
            continue
        elif (field := _FIELD.match(line)) and field[1] in _KNOWN:
            name, value = field[1], field[2].strip()
            if name == "id" and parts and parts[-1].stripe_count is not None:
                parts.append(Component(line=n))
            if name in ("stripe_count", "stripe_size", "pattern", "stripe_offset", "pool"):
                set_(n, **_numbers({name: value}, n))
            elif name in ("lcm_entry_count", "entry_count") and found and "components" not in found[-1]:
                found[-1]["entries"] = integer(value)
            elif name == "mirror_id":
                set_(n, mirror=integer(value))
            elif name == "flags":
                set_(n, initialised="init" in value)
            elif name == "extent.e_start":
                set_(n, start=integer(value))
            elif name == "extent.e_end":
                set_(n, end=integer(value))
        elif "getstripe" in text and ("error" in text.lower() or "failed" in text.lower()):
            continue
        elif _path(text):
            begin(n, text.removesuffix(":"))
        elif found:
            odd.append(raw.odd(n))
    close()
    layouts = []
    for entry in found:
        components = tuple(_counted(c) for c in entry["components"])  # type: ignore[attr-defined]
        layouts.append(Layout(line=entry["line"], path=entry["path"], components=components, default=entry["default"]))
    if not any(c.stripe_count is not None for x in layouts for c in x.components):
        return raw.unparsable("no stripe count")
    short = any(int(str(e.get("entries") or 0)) > len(x.components) for e, x in zip(found, layouts, strict=True))
    fewer = any(c.osts and len(c.osts) < (c.stripe_count or 0) for x in layouts for c in x.components)
    if short or fewer:
        odd.append(OddLine(line=len(raw.lines), text="fewer components or objects than told: maybe cut off"))
    elif not raw.complete and not layouts[-1].default:
        odd.append(raw.odd(len(raw.lines)))
    return Layouts(layouts=tuple(layouts), odd=tuple(odd))


def _path(text: str) -> bool:
    return bool(re.match(r"^(?:/|\./|\.$|\.\.|[\w.-]+$|[\w.-]+/)", text)) and ": " not in text


def _numbers(values: dict[str, str], line: int) -> dict[str, object]:
    out: dict[str, object] = {}
    for name, value in values.items():
        if name in ("pattern", "pool"):
            out[name] = value
        else:
            out[name] = integer(value)
    if "stripe_count" in values:
        out["stripe_count_line"] = line
    return out


def _counted(component: Component) -> Component:
    """A table of objects alone tells the stripe count too."""
    if component.stripe_count is None and component.osts:
        return component.model_copy(update={"stripe_count": len(component.osts), "stripe_count_line": component.line})
    return component


parse_lfs_getstripe_file = parse_lfs_getstripe
