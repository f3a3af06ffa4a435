"""Files of a worksheet: the plan to save and to open, and exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work

from common.files import write_atomically
from common.words import say
from tui.messages import PlanRead, SheetSaved
from tui.screens.ask import AskText, free_file
from tui.screens.base import RackScreen

if TYPE_CHECKING:
    from worksheets.desk import Desk
    from worksheets.engine import Result, Workbook
    from worksheets.plan import Plan

ENDINGS = (".md", ".csv", ".json", ".xlsx")


class SheetFiles(RackScreen):
    """What a screen over a sheet does with files."""

    slug: str

    @property
    def desk(self) -> Desk:
        """The plan all sheets share."""
        assert self.rack.desk is not None
        return self.rack.desk

    def show(self) -> None:
        """Shows the sheet anew."""
        raise NotImplementedError

    def action_save(self) -> None:
        """Asks for the file of the plan; its own may be written over, another's not."""
        own = self.desk.file

        def check(path: str) -> str:
            return "" if own is not None and Path(path).expanduser() == own else free_file(path)

        def named(path: str | None) -> None:
            if path:
                self._save_plan(self.desk.named(place := Path(path).expanduser()), place)

        self.app.push_screen(AskText(say("sheet.save-as"), value=str(own or "plan.yaml"), check=check), named)

    @work(thread=True, group="save", exit_on_error=False)
    def _save_plan(self, plan: Plan, path: Path) -> None:
        from worksheets import plan as plans

        plans.save(plan, path)
        self.post_message(SheetSaved(path, plan=True))

    def action_open(self) -> None:
        """Asks for a plan, and goes on with it."""

        def named(path: str | None) -> None:
            if path:
                self._read_plan(Path(path).expanduser())

        self.app.push_screen(AskText(say("sheet.open"), check=_is_file), named)

    @work(thread=True, group="plan", exclusive=True, exit_on_error=False)
    def _read_plan(self, path: Path) -> None:
        from worksheets.lint import sound_plan

        self.post_message(PlanRead(path, sound_plan(path, self.desk.library)))

    @on(PlanRead)
    def _plan_read(self, event: PlanRead) -> None:
        self.desk.take(event.plan, event.path)
        self.problem()
        self.show()

    def action_export(self) -> None:
        """Asks for a file; its ending says the format."""

        def named(path: str | None) -> None:
            if path:
                self._export(Path(path).expanduser(), self.desk.book.copy())

        title = say("sheet.export-as", endings=" ".join(ENDINGS))
        self.app.push_screen(AskText(title, value=f"{self.slug}.md", check=_exportable), named)

    @work(thread=True, group="save", exit_on_error=False)
    def _export(self, path: Path, book: Workbook) -> None:
        kept: tuple[str, ...] = ()
        if path.suffix == ".xlsx":
            from worksheets.exports.xlsx import write_workbook

            kept = tuple(fixed.key for fixed in write_workbook(path, book, [self.slug]))
        else:
            write_atomically(path, _text(path.suffix, book, book.compute(self.slug)).encode("utf-8", "replace"))
        self.post_message(SheetSaved(path, kept))

    @on(SheetSaved)
    def _saved(self, event: SheetSaved) -> None:
        if event.plan:
            self.desk.saved(event.path)
        self.problem(say("sheet.kept", names=", ".join(event.kept[:4])) if event.kept else "")
        self.tell(say("report.saved", path=str(event.path)))
        self.show()


def _text(ending: str, book: Workbook, result: Result) -> str:
    from worksheets.exports import flat

    write = {".md": flat.as_markdown, ".csv": flat.as_csv, ".json": flat.as_json}[ending]
    text = write(book, result)
    return text if text.endswith("\n") else f"{text}\n"


def _exportable(path: str) -> str:
    if path and Path(path).suffix not in ENDINGS:
        return say("sheet.no-format", endings=" ".join(ENDINGS))
    return free_file(path)


def _is_file(path: str) -> str:
    return "" if path and Path(path).expanduser().is_file() else say("sheet.no-plan", path=path or "-")
