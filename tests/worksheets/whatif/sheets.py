"""Small sheets of which every answer can be told by hand, and helpers of the what-if tests."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from worksheets.engine import Workbook
from worksheets.library import Library, Ref
from worksheets.plan import Plan
from worksheets.whatif.targets import Target, target

TODAY = datetime.date(2026, 6, 1)
LIBRARY = Library()
SLUGS = LIBRARY.slugs()

_SHEETS = {
    "linear": """
sheet: linear
id: W90
title: Linear
question: How much?
inputs:
  - {name: a, label: A, default: 2, spread: [1, 3], range: [0, 100]}
  - {name: b, label: B, default: 1, spread: [-2, 5], range: [-10, 10]}
  - {name: c, label: C, default: 10, range: [0, 100]}
  - {name: idle, label: Idle, default: 1, spread: [0, 2], range: [0, 2]}
  - {name: workers, label: Workers, default: 4, spread: [1, 9], range: [1, 50], whole: true}
  - {name: strict, label: Strict, unit: bool, default: false}
rows:
  - {name: total, label: Total, formula: 3 * a - 2 * b + c + 0 * idle}
  - {name: crew, label: Crew, formula: workers * 2}
  - {name: wall, label: Wall, formula: 1 / (a - 1)}
  - {name: root, label: Root, formula: sqrt(b)}
  - {name: wide, label: Wide, formula: a.high - a.low}
  - {name: big, label: Big, unit: bool, formula: total > 15}
  - {name: words, label: Words, unit: text, formula: 'if(total > 15, "much", if(total > 8, "some", "little"))'}
  - {name: path, label: Path, formula: "a * [1, 2, 4]"}
  - {name: counted, label: Counted, formula: total.given}
  - {name: fits, label: Fits, unit: bool, formula: workers * (workers + 1) <= 30 and not strict}
advice:
  - {id: LIN-1, when: total > 15, severity: warn, text: "{total} is much"}
""",
    "follower": """
sheet: follower
id: W91
title: Follower
question: And then?
inputs:
  - {name: a, label: A, default: 7, range: [0.5, 100], from: linear.a}
  - {name: total, label: Total, default: 7, range: [0, 1000], from: linear.total}
  - {name: crew, label: Crew, default: 7, range: [0, 1000], whole: true, from: linear.crew}
  - {name: word, label: Word, unit: text, choices: [much, some], from: linear.words}
  - {name: open, label: Open, range: [0, 10]}
  - {name: lacking, label: Lacking, default: 5, range: [0, 100], from: follower.needs_open}
  - {name: price, label: Price, unit: currency, default: 10, spread: [5, 20], range: [0, 1000]}
  - {name: steps, label: Steps, default: 3, spread: [2, 5], range: [1, 9], whole: true}
rows:
  - {name: ends, label: Ends, formula: a.high + a.low + a}
  - {name: twice, label: Twice, formula: total * 2}
  - {name: talk, label: Talk, unit: bool, formula: word == "much"}
  - {name: needs_open, label: Needs, formula: open + linear.a}
  - {name: instead, label: Instead, formula: lacking * linear.a}
  - {name: paid, label: Paid, unit: currency, formula: price * crew}
  - {name: dear, label: Dear, unit: currency, formula: price.high * 2}
  - {name: growth, label: Growth, formula: linear.a ^ range(steps)}
  - {name: grown, label: Grown, formula: sum(growth)}
  - {name: last, label: Last, formula: "at(growth, 3)"}
""",
}


def book(folder: Path, **plan: Any) -> Workbook:
    """A workbook over the small sheets."""
    for name, text in _SHEETS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Workbook(Library((folder,)), Plan.model_validate(plan), TODAY)


def shipped(**plan: Any) -> Workbook:
    """A workbook over the shipped sheets."""
    return Workbook(LIBRARY, Plan.model_validate(plan), TODAY)


def row(workbook: Workbook, name: str) -> Target:
    """A row by `sheet.row`."""
    return target(workbook.library, "plan", name)


def rows_of(workbook: Workbook, *slugs: str) -> list[Ref]:
    """Every row of the sheets."""
    return [Ref(slug, entry.name) for slug in slugs for entry in workbook.library.sheet(slug).rows]
