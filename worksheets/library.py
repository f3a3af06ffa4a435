"""Finds and loads sheets: the shipped ones, and those of the user's folders, which win."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from common import yamlfile
from common.errors import InputError
from common.yamlfile import nearest
from worksheets.formulas import registry
from worksheets.formulas.scalar import Program, compile_formula
from worksheets.formulas.syntax import Node, names
from worksheets.model import FILL, Advice, Input, Row, Sheet
from worksheets.references import References
from worksheets.units import TEXT

FOLDER = Path(__file__).parent / "library"
_KIND = re.compile(rb"^(sheet|table|plan|card|sheets|measured|sources):", re.MULTILINE)
_HEAD_BYTES = 65_536
Part = Literal["value", "low", "high", "untouched", "given", "price_age"]
PARTS: dict[str, Part] = {part: part for part in ("low", "high", "untouched", "given", "price_age")}


@dataclass(frozen=True, slots=True)
class Ref:
    """What a name in a formula stands for: an input or row of a sheet, the low or high end of it, or what it rests on.

    `untouched` is a text that names the assumptions behind it, `given` counts the inputs behind it that somebody typed
    or measured, `price_age` is how old its oldest price is.
    """

    sheet: str
    name: str
    part: Part = "value"

    @property
    def key(self) -> str:
        """`sheet.name`, by which the engine keeps its cells."""
        return f"{self.sheet}.{self.name}"


@dataclass(frozen=True, slots=True)
class Ready:
    """A formula ready to run: its program, and what the names in it and in its words stand for."""

    program: Program
    names: Mapping[str, Ref]
    tree: Node


def of_user(file: Path | None = None) -> Library:
    """The shipped sheets and tables with those of the user's config folder on top, and of one file and its neighbours.

    Sheets lie in `worksheets` there, rows of tables in `worksheets/reference`.
    """
    from platformdirs import user_config_path

    folder = user_config_path("rackside") / "worksheets"
    # a plan or a runbook beside the sheet must not be taken for a sheet
    beside = () if file is None else (p for p in (*sorted(file.parent.glob("*.yaml")), file) if kind(p) == "sheet")
    return Library((folder,), References((folder / "reference",)), {p.stem: p for p in beside})


def unit_of(entry: Input | Row, ref: Ref) -> str:
    """The unit of what a reference stands for."""
    return {"untouched": TEXT, "given": "count", "price_age": "days"}.get(ref.part, entry.unit)


def kind(path: Path) -> Literal["sheet", "table", "plan"] | None:
    """Whether a YAML file calls itself a sheet, a table or a plan, by the first keys that tell."""
    try:
        with path.open("rb") as file:
            found = _KIND.search(file.read(_HEAD_BYTES))
    except OSError:
        return None
    if found is None:
        return None
    return {b"sheet": "sheet", b"table": "table", b"sources": "table"}.get(found[1], "plan")  # type: ignore[return-value]


@dataclass(slots=True)
class Library:
    """The sheets and tables of a session; each is read when first asked for. `files` are single sheets by slug."""

    folders: tuple[Path, ...] = ()
    references: References = field(default_factory=References)
    files: Mapping[str, Path] = field(default_factory=dict)
    _sheets: dict[str, Sheet] = field(default_factory=dict)
    _ready: dict[tuple[str, str], Ready] = field(default_factory=dict)

    def path(self, slug: str) -> Path:
        """The file of a sheet.

        Raises:
            InputError: no such sheet, with the nearest name.
        """
        if slug in self.files:
            return self.files[slug]
        if Path(slug).name == slug:
            for folder in (*reversed(self.folders), FOLDER):
                if (path := folder / f"{slug}.yaml").is_file():
                    return path
        raise InputError(f"no worksheet `{slug}`", fix=nearest(slug, self.slugs()))

    def slugs(self) -> list[str]:
        """All sheets by slug, the plan card among them."""
        return sorted({p.stem for folder in (*self.folders, FOLDER) for p in folder.glob("*.yaml")} | self.files.keys())

    def sheet(self, slug: str) -> Sheet:
        """A sheet by slug."""
        if slug not in self._sheets:
            path = self.path(slug)
            found = yamlfile.load(path, Sheet)
            if found.sheet != slug:
                raise InputError(f"`sheet: {found.sheet}` in a file named {path.name}", file=path, fix=f"write {slug}")
            for module in found.functions:
                registry.load(module)
            self._sheets[slug] = found
        return self._sheets[slug]

    def entry(self, ref: Ref) -> Input | Row:
        """The input or row a reference names."""
        sheet = self.sheet(ref.sheet)
        found = sheet.get(ref.name)
        if found is None:
            known = [e.name for e in (*sheet.inputs, *sheet.rows)]
            raise InputError(f"sheet {ref.sheet} has no `{ref.name}`", fix=nearest(ref.name, known))
        return found

    def resolve(self, slug: str, name: str) -> Ref:
        """What a name in a formula of sheet `slug` stands for.

        Raises:
            InputError: nothing of that name, with the nearest one.
        """
        parts = name.split(".")
        part: Part = "value"
        if len(parts) > 1 and parts[-1] in PARTS:
            part = PARTS[parts.pop()]
        if len(parts) > 2:
            raise InputError(f"`{name}` names nothing", fix="write sheet.row, or input.low")
        ref = Ref(parts[0] if len(parts) == 2 else slug, parts[-1], part)
        self.entry(ref)
        return ref

    def ready(self, slug: str, entry: Row | Advice) -> Ready:
        """The compiled formula of a row, or condition of an advice, with the names that its text or words fill in."""
        name = entry.name if isinstance(entry, Row) else f"#{entry.id}"
        if (slug, name) not in self._ready:
            wanted = {n.name for n in names(entry.tree)}
            texts = [entry.text] if isinstance(entry, Advice) else entry.words.values()
            wanted |= {found for text in texts for found in FILL.findall(str(text))}
            refs = {n: self.resolve(slug, n) for n in sorted(wanted)}
            program = compile_formula(entry.tree, self.lookup)
            self._ready[slug, name] = Ready(program, refs, entry.tree)
        return self._ready[slug, name]

    def lookup(self, table: str, row: str, column: str) -> object:
        """A table's cell for `lookup` in a formula."""
        cell = self.references.cell(table, row, column)
        if cell is None:
            raise InputError(f"table {table} leaves {row}, {column} open", fix="give the value yourself")
        return cell.value
