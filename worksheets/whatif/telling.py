"""What-if results as lines of at most 80 columns; every bar has its numbers beside it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from common.safetext import safe_line
from common.words import say
from worksheets.exports.telling import MARKS, between
from worksheets.quantities import number
from worksheets.values import plain, show
from worksheets.whatif import bars
from worksheets.whatif.compare import Comparison, Difference, Line
from worksheets.whatif.sweep import Outcome
from worksheets.whatif.tornado import Bar, Tornado
from worksheets.whatif.uncertain import Uncertain

if TYPE_CHECKING:
    # these load numpy
    from worksheets.whatif.goal import Goal, Try
    from worksheets.whatif.sample import Quantiles, Sampling, Shares

COLUMNS = 80
_NAMED = 12
"""Inputs that a text names before it only counts."""
_SHOWN_SHARES = 4


def wrapped(text: str, indent: str = "  ") -> list[str]:
    """A text in lines; what a stranger's sheet says cannot steer the terminal."""
    lines, line = list[str](), indent
    for word in _words(safe_line(text, limit=2000), COLUMNS - len(indent) - 2):
        if line.strip() and _columns(line) + _columns(word.rstrip()) > COLUMNS:
            lines.append(line.rstrip())
            line = indent + "  "
        line += word
    return [*lines, line.rstrip()]


def _words(text: str, most: int) -> Iterator[str]:
    """Words with the blank behind them; Chinese may break after every sign, and nothing is wider than a line."""
    word = ""
    for sign in text:
        word += sign
        if sign == " " or _columns(sign) == 2 or _columns(word) >= most:
            yield word
            word = ""
    yield word


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _beside(bar: str, text: str) -> list[str]:
    """A bar and what it shows, on one line where that fits."""
    line = f"  {bar}  {safe_line(text)}"
    return [line] if _columns(line) <= COLUMNS else [f"  {bar}", *wrapped(text, "    ")]


def _change(value: float, base: float) -> str:
    """The change from the plan in percent, where the plan has something to compare with."""
    if not base or value == base:
        return ""
    percent = float(f"{(value / base - 1) * 100:.3g}")
    return f" ({'+' if percent > 0 else ''}{number(percent)} %)"


def _names(inputs: Iterable[Uncertain]) -> str:
    told = [f"{one.ref.key} {between(one.low, one.high, one.unit)}" for one in inputs]
    more = say("and {count} more", count=len(told) - _NAMED) if len(told) > _NAMED else ""
    return "; ".join([*told[:_NAMED], *([more] if more else [])])


def tornado(found: Tornado) -> list[str]:
    """The bars on one scale, widest swing first."""
    head = f"{found.target.key}, {found.target.entry.label}: {show(found.base, found.unit)}"
    lines = wrapped(head, "")
    lines += wrapped(say("each input to its low and its high end alone, the widest swing first"), "")
    results = [end.result for bar in found.bars for end in (bar.at_low, bar.at_high) if end.result is not None]
    least, most = min([*results, found.base]), max([*results, found.base])
    for bar in found.bars:
        lines += ["", *_bar(bar, found, least, most)]
    if not found.bars:
        lines += ["", *wrapped(say("no input moves it"))]
    if found.still:
        lines += ["", *wrapped(say("without effect: {names}", names=_names(found.still)), "")]
    return lines


def _bar(bar: Bar, found: Tornado, least: float, most: float) -> list[str]:
    one = bar.input
    assumed = say("assumed, {pct:g} %", pct=found.others_pct) if one.assumed else ""
    head = f"{one.ref.key}: {between(one.low, one.high, one.unit)}"
    lines = wrapped(head + (f" ({assumed})" if assumed else ""), "")
    if bar.at_low.result is None or bar.at_high.result is None:
        for name, end in ((say("low"), bar.at_low), (say("high"), bar.at_high)):
            text = end.why if end.result is None else show(end.result, found.unit)
            lines += wrapped(f"{name}: {text}")
        return lines
    low, high = bar.at_low.result, bar.at_high.result
    told = ", ".join(
        f"{name} {show(value, found.unit)}{_change(value, found.base)}"
        for name, value in ((say("low"), low), (say("high"), high))
    )
    return lines + _beside(bars.span(low, high, found.base, least, most), told)


def sample(found: Sampling) -> list[str]:
    """Quantiles with the heap of the draws, shares of texts, chances, and what was drawn."""
    from worksheets.whatif.sample import Quantiles

    lines: list[str] = []
    for row in found.rows:
        lines += _quantiles(row, found.draws) if isinstance(row, Quantiles) else _shares(row, found.draws)
        lines.append("")
    for chance in found.chances:
        held = say("holds in the plan") if chance.base else say("does not hold in the plan")
        lines += wrapped(f"{chance.condition.text}: {chance.share * 100:.4g} %; {held}", "")
    if found.chances:
        lines.append("")
    told = say(
        "{draws} draws, seed {seed}; {count} inputs from triangles over low, value and high: {names}",
        draws=found.draws, seed=found.seed, count=len(found.inputs), names=_names(found.inputs),
    )  # fmt: skip
    return [*lines, *wrapped(told, "")]


def _quantiles(row: Quantiles, draws: int) -> list[str]:
    plan = "-" if row.base is None else show(row.base, row.unit)
    lines = wrapped(f"{row.target.key}, {row.target.entry.label}: {say('plan')} {plan}", "")
    told = "  ".join(
        f"P{name} {show(value, row.unit)}" for name, value in ((10, row.p10), (50, row.p50), (90, row.p90))
    )
    lines += wrapped(told)
    lines += _beside(bars.heap(row.bins), f"{between(row.least, row.most, row.unit)}, {say('mean')} {number_of(row)}")
    return lines + _unanswered(row, draws)


def number_of(row: Quantiles) -> str:
    """The mean of the draws."""
    return show(row.mean, row.unit)


def _shares(row: Shares, draws: int) -> list[str]:
    lines = wrapped(f"{row.target.key}, {row.target.entry.label}: {say('plan')} {row.base or '-'}", "")
    for text, share in row.shares:
        filled = "█" * round(share * bars.WIDTH)
        lines += _beside(f"{filled:·<{bars.WIDTH}}", f"{share * 100:.4g} % {text}")
    return lines + _unanswered(row, draws)


def _unanswered(row: Quantiles | Shares, draws: int) -> list[str]:
    if row.answered == draws:
        return []
    text = say(
        "{count} of {draws} draws have no answer, such as: {why}", count=draws - row.answered, draws=draws, why=row.why
    )
    return wrapped(f"{MARKS['warn']} {text}")


def goal(found: Goal) -> list[str]:
    """What was found, the value beside it at which the goal fails, or the nearest miss."""
    by, wanted = found.turned, " and ".join(condition.text for condition in found.conditions)
    ends = between(by.low, by.high, by.unit)
    stops = {"low": say("the low end"), "high": say("the high end"), "": say("inside the range")}[found.stops]
    if found.found is None:
        text = say("no {name} from {ends} meets {goal}", name=by.ref.key, ends=ends, goal=wanted)
        lines = wrapped(f"{MARKS['fail']} {text}", "")
        if found.nearest is not None:
            nearest = _try(found, found.nearest)
            lines += wrapped(say("it stops at {place}; nearest: {nearest}", place=stops, nearest=nearest))
    else:
        pick = say("the smallest") if found.pick == "smallest" else say("the largest")
        value = _exactly(found, found.found.value)
        text = say(
            "{name} = {value}: {pick} from {ends} that meets {goal}",
            name=by.ref.key, value=value, pick=pick, ends=ends, goal=wanted,
        )  # fmt: skip
        lines = wrapped(f"{MARKS['ok']} {text}", "")
        lines += wrapped(_try(found, found.found))
        if found.beside is not None and by.step:
            lines += wrapped(f"{_try(found, found.beside)}: {say('fails')}")
        elif found.beside is None:
            lines += wrapped(say("the goal holds at {place} of the range already, where the search stops", place=stops))
        if found.gaps:
            lines += wrapped(f"{MARKS['warn']} {say('further on it fails again at some values')}")
        if by.step and not found.every:
            lines += wrapped(
                say("{count} values tried, not every one: give a narrower range to try all", count=found.tried)
            )
    if found.now is not None:
        holds = say("holds") if found.now.holds else say("fails")
        lines += wrapped(f"{say('plan')}: {_try(found, found.now)}: {holds}")
    return lines


def _exactly(found: Goal, value: float) -> str:
    """The value with enough digits to type it again."""
    told, amount = show(value, found.turned.unit), plain(value, found.turned.unit)
    shown = number(amount)
    if found.turned.step or float(f"{amount:.4g}") == amount:
        return told
    return f"{amount:.7g}{told.removeprefix(shown)}" if told.startswith(shown) else f"{amount:.7g} {found.turned.unit}"


def _try(found: Goal, one: Try) -> str:
    results = [
        f"{condition.target.key} {_outcome(outcome, unit)}"
        for condition, outcome, unit in zip(found.conditions, one.outcomes, found.units, strict=True)
    ]
    return f"{_exactly(found, one.value)}: {', '.join(results)}"


def _outcome(outcome: Outcome, unit: str) -> str:
    return outcome.why if outcome.why else show(outcome.value, unit)


def compare(found: Comparison) -> list[str]:
    """The inputs that differ, then each row that does, with the inputs that explain its gap."""
    first, second = found.names
    states = " / ".join(f"{MARKS[state]} {state}" for state in found.states)
    lines = wrapped(f"{found.sheet}: {first} / {second} ({states})", "")
    lines += ["", say("Inputs that differ")]
    for one in found.inputs:
        lines += wrapped(f"{one.ref.key}: {_both(one)}")
    if not found.inputs:
        lines += wrapped(say("none that these rows rest on"))
    lines += ["", say("Results, and what explains the gap")]
    for line in found.lines:
        lines += _line(line)
    if not found.lines:
        lines += wrapped(say("none that differs"))
    if found.alike:
        lines += ["", *wrapped(say("{count} rows are the same", count=len(found.alike)), "")]
    if any(line.shares for line in found.lines):
        lines += wrapped(_method(found), "")
    return lines


def _both(one: Difference | Line) -> str:
    pair = zip((one.first, one.second), one.units, strict=True)
    return " / ".join(_outcome(outcome, unit) for outcome, unit in pair)


def _method(found: Comparison) -> str:
    if found.every_order:
        return say("Shares: what swapping an input changes, averaged over every order of swaps (Shapley values).")
    return say("Shares: what swapping an input changes, averaged over {count} orders of swaps.", count=found.orders)


def _line(line: Line) -> Iterator[str]:
    gap = ""
    if line.gap is not None and not isinstance(line.first.value, bool):
        gap = f": {_signed(line.gap, line.units[0])}{_change(line.second.value, line.first.value)}"
    yield from wrapped(f"{line.target.ref.name}: {_both(line)}{gap}")
    if line.why:
        yield from wrapped(line.why, "    ")
    most = abs(line.shares[0].amount) if line.shares else 0.0
    for share in line.shares[:_SHOWN_SHARES]:
        yield from _beside(bars.amount(share.amount, most), f"{_signed(share.amount, line.units[0])} {share.key}")
    if len(line.shares) > _SHOWN_SHARES:
        rest = sum(share.amount for share in line.shares[_SHOWN_SHARES:])
        count = len(line.shares) - _SHOWN_SHARES
        yield from _beside(
            bars.amount(rest, most), f"{_signed(rest, line.units[0])} {say('{count} more', count=count)}"
        )


def _signed(value: float, unit: str) -> str:
    return ("+" if value > 0 else "") + show(value, unit)
