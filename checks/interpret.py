"""From an output to one of the four outcomes: exit status first, then known failure texts, then the parser."""

from __future__ import annotations

from checks import catalogue
from checks.outputs import (
    Empty,
    Facts,
    NotAvailable,
    OddLine,
    Outcome,
    Output,
    Raw,
    Unparsable,
    by_status,
    failure,
)
from common.safetext import safe_line

NO_ENTRIES = "-- No entries --"


def interpret(output: Output) -> Outcome:
    """The outcome of one output. Never raises: a parser's mistake becomes `Unparsable`."""
    raw = Raw.of(output.stdout, status=output.status, stderr=output.stderr, params=output.params)
    command = catalogue.table().get(output.command)
    answers = command.answers if command else (0,)
    unanswered = by_status(output.status, raw.stderr)
    if unanswered and raw.blank:
        return unanswered
    if raw.blank and (said := failure(raw.stderr)):
        return said
    if output.status not in answers and raw.blank:
        said_text = safe_line(raw.stderr.strip().split("\n")[0], limit=160)
        return NotAvailable("failed", f"exit status {output.status}" + (f": {said_text}" if said_text else ""))
    said = failure(raw.text)
    if said and failure(next(line for line in raw.lines if line.strip())):
        return said
    parse = catalogue.parser(output.command)
    if parse is None:
        return Unparsable("Rackside has no parser for this command")
    try:
        outcome = parse(raw)
    except Exception as error:
        return Unparsable(f"parser failed: {type(error).__name__}: {safe_line(str(error), limit=120)}")
    if said and not isinstance(outcome, Facts):
        return said
    if said and isinstance(outcome, Facts) and not outcome.odd:
        # an answer with a complaint in it is an answer with a gap
        odd = OddLine(line=max(1, len(raw.lines)), text=said.reason)
        outcome = outcome.model_copy(update={"odd": (odd,)})
    if isinstance(outcome, Facts) and output.status not in answers:
        # what was printed still counts, but it is not the whole answer
        why = unanswered.reason if unanswered else f"exit status {output.status}"
        odd = OddLine(line=max(1, len(raw.lines)), text=f"output may be incomplete: {why}")
        return outcome.model_copy(update={"odd": (*outcome.odd, odd)})
    if isinstance(outcome, Empty | Unparsable) and output.status not in answers:
        return unanswered or NotAvailable("failed", f"exit status {output.status}: {safe_line(raw.text, limit=160)}")
    return outcome
