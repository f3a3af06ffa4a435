"""`rackside lint`: checks runbooks, cluster folders, worksheets, their tables and plans; file, line, fix."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UsageError
from rackside import cli, output, status

if TYPE_CHECKING:
    from checks.lint import Problem


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a runbook, a cluster folder, a worksheet, a table or plan, or a folder of these",
    )
    parser.add_argument(
        "--anonymised",
        action="store_true",
        help="look for names left in recordings, too (on its own for those that `rackside anonymise` wrote)",
    )
    parser.add_argument("--map", metavar="FILE", help="the map of `rackside anonymise`: look for every name in it")
    cli.format_options(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """65 when anything is an error, 1 when there are only warnings, 0 otherwise."""
    problems: list[Problem] = []
    looked: list[str] = []
    for name in args.paths:
        path = Path(name)
        if not path.exists():
            raise UsageError(f"no such file or folder: {name}")
        for kind, found in _lint(path, args):
            looked.append(kind)
            problems.extend(found)
    if not looked:
        raise UsageError(f"nothing to lint in {', '.join(args.paths)}: no runbook, cluster folder or worksheet")
    if args.format == "json":
        rows = [p.model_dump(mode="json") for p in problems]
        text = json.dumps({"schema": "rackside.lint/1", "problems": rows}, indent=2, ensure_ascii=False)
    else:
        lines = [str(p) for p in problems]
        text = "\n".join([*lines, f"{len(looked)} looked at, {len(problems)} problems"])
    output.emit(text, args.output)
    if any(p.severity == "error" for p in problems):
        return status.UNREADABLE
    return status.WARNING if any(p.severity == "warning" for p in problems) else status.HEALTHY


def _lint(path: Path, args: argparse.Namespace) -> Iterator[tuple[str, list[Problem]]]:
    from checks import lint as cluster_lint

    if cluster_lint.is_cluster(path):
        folder = path if path.is_dir() else path.parent
        yield "cluster", [*cluster_lint.lint_cluster(folder), *_expected(folder), *_left(folder, args)]
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.is_dir() or child.suffix in (".yaml", ".yml"):
                yield from _lint(child, args)
    elif path.suffix in (".yaml", ".yml"):
        from worksheets.library import kind

        if found := kind(path):
            yield found, list(_worksheets(path, found))
        else:
            from runbooks import lint as runbook_lint

            yield "runbook", runbook_lint.lint_file(path)


def _worksheets(path: Path, kind: str) -> Iterator[Problem]:
    """A sheet sees its neighbours and the user's, a plan the user's."""
    from checks.lint import Problem
    from worksheets import lint
    from worksheets.library import of_user

    if kind == "sheet":
        found = lint.lint_sheet(path, of_user(path))
    elif kind == "plan":
        found = lint.lint_plan(path, of_user())
    else:
        found = lint.lint_table(path)
    for p in found:
        yield Problem(file=str(p.file), line=p.line, severity=p.severity, message=p.message, fix=p.fix)


def _left(folder: Path, args: argparse.Namespace) -> Iterator[Problem]:
    """Secrets, and in an anonymised recording names."""
    from checks.anonymise import left

    yield from left.secrets(folder)
    if args.anonymised or args.map or left.says_anonymised(folder):
        yield from left.identifiers(folder, Path(args.map) if args.map else None)


def _expected(folder: Path) -> Iterator[Problem]:
    from checks.lint import Problem
    from common.errors import InputError
    from runbooks import expected, loader

    known = {book.id for book in loader.shipped()}
    for file in [folder / "expected.yaml", *sorted(folder.glob("overlays/*/expected.yaml"))]:
        if not file.is_file():
            continue
        try:
            for case in expected.read(file).cases:
                if case.runbook not in known:
                    from common.yamlfile import nearest

                    fix = nearest(case.runbook, known)
                    yield Problem(file=str(file), message=f"unknown runbook `{case.runbook}`", fix=fix)
        except InputError as error:
            yield Problem.of(error, file)
