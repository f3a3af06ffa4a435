"""A computed worksheet as HTML to print or to pass on: the answer on one page, then how each number came about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape

from common.page import page
from common.safetext import safe_line
from common.words import language, say
from worksheets.engine import Cell, Result, Workbook
from worksheets.exports.telling import (
    LIMIT,
    LONG,
    MARKS,
    Part,
    cited,
    head,
    parts,
    readings,
    spread,
    told,
    verdict,
    whence,
)
from worksheets.plan import Plan

STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;"
    "background:#fff}h1{font-size:1.4em;margin:0}h2{font-size:1.1em;border-bottom:1px solid #ccc;margin:1em 0 .2em}"
    "p{margin:.3em 0}table{border-collapse:collapse;width:100%}th{text-align:left;color:#666;font-size:.85em}"
    "td,th{padding:.1em .8em .1em 0;vertical-align:top;border-bottom:1px solid #eee}"
    "td.value{text-align:right;padding-right:0;font-variant-numeric:tabular-nums}"
    "tr.group td{font-weight:600;padding-top:.5em;border-bottom:0}"
    "code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere}.quiet{color:#666;font-size:.85em}"
    "ul{list-style:none;padding:0;margin:.3em 0}dl{margin:.3em 0}dt{font-weight:600;margin-top:.3em}dd{margin:0}"
    ".two{display:grid;grid-template-columns:1fr 1fr;gap:0 2.5em}.state,.mark{font-weight:700}"
    ".ok{color:#1a7f37}.info{color:#0b6e99}.warn{color:#9a6700}.fail{color:#b3261e}.not-enough-input{color:#7b3fa0}"
    "@media(max-width:50rem){.two{grid-template-columns:1fr}}@page{size:A4;margin:12mm}"
    "@media print{body{font-size:9px;margin:0;max-width:none;padding:0}.two{grid-template-columns:1fr 1fr}"
    ".how{break-before:page}tr,li,dd{break-inside:avoid}h2,tr.group{break-after:avoid}}"
    "@media screen and (prefers-color-scheme:dark){body{color:#ddd;background:#161616}td,th{border-color:#333}"
    ".quiet,th{color:#aaa}.ok{color:#4ac26b}.info{color:#54aeff}.warn{color:#d4a72c}.fail{color:#ff8182}"
    ".not-enough-input{color:#c297ff}}"
)


def as_html(book: Workbook, result: Result, colour: bool = False) -> str:
    """Question, verdict, advice, results and inputs; then the formulas as written and with the numbers in them."""
    return page(head(result), STYLE, _body(book, result), language=language())


def _body(book: Workbook, result: Result) -> Iterator[str]:
    yield f"<h1>{_text(head(result))}</h1>\n<p>{_text(str(result.sheet.question))}</p>"
    plan = say("the plan of the sheets themselves") if book.plan == Plan() else book.plan.plan
    made = say("reckoned {date} for: {plan}", date=book.today.isoformat(), plan=plan)
    yield f'<p class="quiet">{_text(made)}</p>'
    state = f'<span class="state {result.state}">{MARKS[result.state]} {result.state}</span>'
    yield f"<p>{state} {_text(verdict(result))}</p>"
    said = [(advice.severity, told(advice)) for advice in result.advice] + [("warn", note) for note in result.notes]
    if said:
        marked = (f'<li><span class="mark {level}">{MARKS[level]}</span> {_text(text)}</li>' for level, text in said)
        yield "\n".join(["<ul>", *marked, "</ul>"])
    inputs, results = parts(result)
    sentences = [cell for cell in results.cells if _is_long(cell)]
    if sentences:
        texts = (f"<dt>{_text(str(c.entry.label))}</dt><dd>{_lines(c)}</dd>" for c in sentences)
        yield "\n".join(["<dl>", *texts, "</dl>"])
    yield '<div class="two">'
    for part in (results, inputs):
        yield f"<div>\n<h2>{_text(part.title)}</h2>"
        yield from _table(part, (), _short)
        yield "</div>"
    yield '</div>\n<div class="how">'
    yield f"<h2>{_text(say('How the results came about'))}</h2>"
    yield from _table(results, ("Name", "Formula", "Source"), lambda cell: _how(book, result, cell))
    yield f"<h2>{_text(say('Where the inputs come from'))}</h2>"
    yield from _table(inputs, ("Name", "Label", "Origin"), _origin)
    if legend := cited(result):
        yield f"<h2>{_text(say('Sources'))}</h2>\n<ul>"
        yield from (f'<li class="quiet">{_text(code)} {_text(text)}</li>' for code, text in legend)
        yield "</ul>"
    yield "</div>"


def _table(part: Part, heads: Iterable[str], row: Callable[[Cell], tuple[str, ...]]) -> Iterator[str]:
    titles = "".join(f"<th>{_text(say(title))}</th>" for title in heads)
    yield "<table>" + (f"\n<thead><tr>{titles}</tr></thead>" if titles else "") + "\n<tbody>"
    for title, cells in part.groups:
        rows = [(cell, row(cell)) for cell in cells]
        if title and any(columns for _, columns in rows):
            yield f'<tr class="group"><td colspan="3">{_text(title)}</td></tr>'
        for _, columns in rows:
            if columns:
                yield f"<tr>{''.join(columns)}</tr>"
    yield "</tbody>\n</table>"


def _short(cell: Cell) -> tuple[str, ...]:
    """Label and value; nothing for a sentence, which stands in full above."""
    if _is_long(cell):
        return ()
    usual = f' <span class="quiet">({_text(spread(cell))})</span>' if spread(cell) else ""
    return f"<td>{_text(str(cell.entry.label))}</td>", f'<td class="value">{_text(cell.text())}{usual}</td>'


def _how(book: Workbook, result: Result, cell: Cell) -> tuple[str, ...]:
    how = book.explain(result.sheet.sheet, cell.name)
    filled = "" if how.filled == how.formula else f'<br><code class="quiet">= {_text(how.filled)}</code>'
    formula = f"<td><code>{_text(how.formula)}</code>{filled}</td>"
    return f"<td><code>{_text(cell.name)}</code></td>", formula, f'<td class="quiet">{_text(whence(cell))}</td>'


def _origin(cell: Cell) -> tuple[str, ...]:
    name = f"<td><code>{_text(cell.name)}</code></td>"
    return name, f"<td>{_text(str(cell.entry.label))}</td>", f'<td class="quiet">{_text(whence(cell))}</td>'


def _is_long(cell: Cell) -> bool:
    return len(cell.text()) > LONG


def _lines(cell: Cell) -> str:
    return "<br>".join(map(_text, readings(cell)))


def _text(text: str) -> str:
    return escape(safe_line(text, limit=LIMIT))
