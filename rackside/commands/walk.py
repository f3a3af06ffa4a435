"""`rackside walk`: a runbook without the full-screen application; the same walk, the same conclusions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import InputError, UsageError
from rackside import cli, opening, output, status
from rackside.progress import narrator, nothing_reached

if TYPE_CHECKING:
    from runbooks.engine import AskOperator
    from runbooks.session import Session


def add(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("runbook", metavar="RUNBOOK", nargs="?", help="such as triage or training-slow, or a YAML file")
    cli.cluster_options(parser, required=False)
    parser.add_argument("--nodes", metavar="SET", help="only these nodes, like gpu[001-008]")
    parser.add_argument("--answer", action="append", default=[], metavar="STEP=CHOICE", help="answer a question")
    parser.add_argument("--answers", metavar="FILE", help="answers in a YAML file, step: choice")
    parser.add_argument("--journal", metavar="FILE", help="keep the session here (append-only)")
    parser.add_argument("--resume", metavar="JOURNAL", help="go on with a walk from its journal")
    parser.add_argument("--fork", metavar="JOURNAL", help="walk again from a journal with the answers of --answer")
    cli.format_options(parser, "text", "json", "markdown", "html")


def run(args: argparse.Namespace) -> int:
    """Walks to the end and gives the verdict's exit status."""
    session = start(args)
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    assert session.opened is not None
    try:
        session.drive(ask=_ask if interactive else None, on_step=output.narrate, on_progress=narrator(session.opened))
        return finish(session, args)
    finally:
        session.close()
        session.opened.close()


def start(args: argparse.Namespace) -> Session:
    """A new, resumed or forked session, as the options say."""
    from runbooks.session import Session

    given = answers(args.answer, args.answers)
    if args.fork:
        if not given:
            raise UsageError("--fork needs --answer STEP=CHOICE for the step that goes another way")
        step, choice = next(iter(given.items()))
        journal = Path(args.journal) if args.journal else None
        return Session.fork(Path(args.fork), step, choice, journal=journal, asking=opening.asking(args))
    if args.resume:
        return Session.resume(Path(args.resume), opening.asking(args))
    if not args.runbook or not args.cluster:
        raise UsageError("name a runbook and a cluster: rackside walk triage -c a800-roce-256")
    found = opening.opened(args)
    return Session.start(
        found,
        args.runbook,
        only=found.cluster.select(args.nodes),
        journal=Path(args.journal) if args.journal else None,
        answers=given,
    )


def answers(pairs: list[str], file: str | None) -> dict[str, str]:
    """Answers from `--answers` and `--answer`, the latter win."""
    given: dict[str, str] = {}
    if file:
        from common import yamlfile

        data = yamlfile.parse(yamlfile.read_text(Path(file)), file)
        if not isinstance(data, dict) or not all(isinstance(v, str) for v in data.values()):
            raise InputError("expected `step: choice` pairs", file=file, line=1)
        given.update({str(k): v for k, v in data.items()})
    for pair in pairs:
        step, equals, choice = pair.partition("=")
        if not equals or not step or not choice:
            raise UsageError(f"--answer {pair}: write STEP=CHOICE")
        given[step] = choice
    return given


def finish(session: Session, args: argparse.Namespace) -> int:
    """Writes the result; its exit status is the verdict's."""
    from runbooks import report

    document = session.document()
    render = {
        "text": report.as_text,
        "json": report.as_json,
        "markdown": report.as_markdown,
        "html": report.as_html,
    }[args.format]
    output.emit(render(document), args.output)
    if session.opened is not None:
        nothing_reached(session.opened)
    return exit_status(document.verdict, [f.status.word for f in document.findings])


def exit_status(verdict: str, statuses: list[str]) -> int:
    """2 for a fault, 3 for undecided, 1 for healthy with a warning, else 0."""
    if verdict == "fault":
        return status.CRITICAL
    if verdict == "undecided":
        return status.UNDECIDED
    return status.WARNING if "warn" in statuses or "critical" in statuses else status.HEALTHY


def _ask(request: AskOperator) -> str:
    """A question on the terminal: a number, a choice's name, or any text where the question takes it.

    Anything else is asked again; the end of input is don't know.
    """
    output.narrate("")
    output.narrate(request.text)
    names = [*request.choices]
    for number, name in enumerate(names, 1):
        output.narrate(f"  {number}  {request.choices[name]}")
    while True:
        sys.stderr.write("> ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return "dont-know"
        word = line.strip()
        if word.isdigit() and 1 <= int(word) <= len(names):
            return names[int(word) - 1]
        if word in names or (request.free and word):
            return word
        output.narrate(f"one of 1-{len(names)}, or a name: {', '.join(names)}")
