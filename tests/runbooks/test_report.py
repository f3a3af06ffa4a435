"""Reports: complete, and safe whatever a node or a person wrote."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from jsonschema import Draft202012Validator
from rich.cells import cell_len

from checks.findings import Evidence, Finding, Observed, ThresholdUse
from runbooks import conclusions, documents, report
from runbooks.documents import CheckDocument, Note, PathStep, WalkDocument
from tests.runbooks.fakes import finding

EVIL = "\x1b[31m<script>alert(1)</script> **bold** `x` [a](http://e.vil) \u202eabc | ``` \r\n# head"


def document(text: str = "leaf03 marks nothing", **more: object) -> WalkDocument:
    bad = finding(
        "network.ecn_thresholds",
        "critical",
        "net-ecn-threshold-mismatch",
        nodes="leaf03",
        entities=("leaf03:Ethernet128",),
        summary=text,
        observed=(Observed(name="kmax", value=10000, unit="KB", nodes="leaf03"),),
        threshold=ThresholdUse(id="ecn-kmax", value=2000, unit="KB", source="peers", kind="peer"),
        evidence=(Evidence(round=2, node="leaf03", command="sw-ecn", lines=(7, 9), text=text),),
    )
    blind = finding("gpu.ecc", "unknown", nodes="gpu020", reason=text, missing=("smi-ecc",))
    found: dict[str, list[Finding]] = {bad.check: [bad], "gpu.ecc": [blind], "host.swap": [finding("host.swap")]}
    made = tuple(conclusions.build({"net-ecn-threshold-mismatch": (bad.check,)}, found, {}))
    values: dict[str, object] = {
        "runbook": "training-slow",
        "title": "Training is slow",
        "cluster": "small",
        "source": "replay",
        "started": "2026-03-04T02:31:00Z",
        "ended": "2026-03-04T02:32:00Z",
        "verdict": "fault",
        "path": (PathStep(step="queues", layer="network", outcome="critical", answer=text, at="2026-03-04T02:31:05Z"),),
        "conclusions": made,
        "findings": tuple(f for fs in found.values() for f in fs),
        "cleared": conclusions.cleared(found, made),
        "unknown": conclusions.unknown(found),
        "notes": (Note(at="2026-03-04T02:31:30Z", step="queues", text=text),),
        "closing": text,
    }
    return WalkDocument(**{**values, **more})


@pytest.mark.parametrize("render", [report.as_text, report.as_markdown, report.as_html])
def test_a_report_says_cause_place_evidence_remedy_and_the_rest(render: object) -> None:
    text = " ".join(render(document()).replace("\\", "").split())  # type: ignore[operator]
    for part in (
        "fault",
        "[net-ecn-threshold-mismatch]",
        "leaf03",
        "leaf03:Ethernet128",
        "kmax = 10000 KB",
        "ecn-kmax = 2000 KB",
        "leaf03 sw-ecn, line 7-9, round 2",
        "[safe]",
        "how to confirm",
        "looks alike and is not ruled out",
        "host: host.swap",
        "gpu.ecc gpu020",
        "smi-ecc",
        "2026-03-04T02:31:05Z queues",
        "2026-03-04T02:31:30Z queues",
    ):
        assert part in text, part


def test_remedies_stand_safe_before_disruptive() -> None:
    text = report.as_text(document())
    assert 0 < text.index("[safe]") < text.rindex("[disruptive]")
    assert text.rindex("[safe]") < text.index("[disruptive]")


def test_no_escape_or_direction_character_survives() -> None:
    for render in (report.as_text, report.as_markdown, report.as_html):
        out = render(document(EVIL))
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\r" not in out


def test_text_is_at_most_80_cells_wide_whatever_it_holds() -> None:
    for text in ("慢" * 300, "x" * 500, EVIL, "a " * 200, "慢 慢慢慢 " * 40):
        for line in report.as_text(document(text)).split("\n"):
            assert cell_len(line) <= 80, line


def test_wrapping_loses_no_character() -> None:
    for text in ("慢" * 100, "x" * 300, "some words of a line " * 20):
        joined = "".join(report.wrapped(text, "- ", "  ")).replace(" ", "").removeprefix("-")
        assert joined == text.replace(" ", "")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_holds_only_its_own_tags_balanced_and_needs_nothing_else() -> None:
    out = report.as_html(document(EVIL, cluster=EVIL, title=EVIL))
    tags = _Tags()
    tags.feed(out)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "a" not in tags.seen
    assert "src=" not in out
    assert "&lt;script&gt;" in out


def test_markdown_from_a_node_is_no_markup() -> None:
    out = report.as_markdown(document(EVIL))
    outside, fenced = [], False
    for line in out.split("\n"):
        if line.strip().startswith("````"):
            fenced = not fenced
        elif not fenced:
            outside.append(line)
    prose = "\n".join(outside)
    assert not fenced
    assert "\\[a\\](http" in prose
    assert "**bold**" not in prose
    assert "<script>" not in prose
    assert "\n# head" not in prose


def test_what_a_runbook_says_to_tell_the_users_stands_in_the_report() -> None:
    step = PathStep(step="message", outcome="noted", title="What to tell the users", text="Do not drain them.")
    for render in (report.as_text, report.as_markdown, report.as_html):
        out = render(document(path=(step,)))
        assert "Do not drain them." in out
        assert out.count("What to tell the users".upper() if render is report.as_text else "What to tell the users")


def test_an_unfinished_walk_and_a_healthy_one_have_their_own_words() -> None:
    going = document(ended=None, verdict="undecided", conclusions=(), findings=(), unknown=())
    assert "the walk is not finished" in report.as_text(going)
    assert "still going on" in report.as_text(going)
    healthy = document(verdict="healthy", conclusions=(), findings=(), unknown=())
    assert "nothing is wrong" in report.as_text(healthy)


def test_json_is_the_contract_s_document_and_reads_back() -> None:
    made = document(EVIL)
    data = json.loads(report.as_json(made))
    Draft202012Validator(documents.schema("walk")).validate(data)
    assert data["schema"] == "rackside.walk/1"
    assert WalkDocument.model_validate(data) == made
    assert set(data["conclusions"][0]) >= {
        "fault", "title", "layer", "severity", "role", "certainty", "nodes", "entities", "because", "alternatives",
        "remedy", "caused_by",
    }  # fmt: skip
    assert "answer" not in json.loads(report.as_json(document(path=(PathStep(step="a", outcome="ok"),))))["path"][0]
    assert "command" not in data["conclusions"][0]["remedy"][0]


def test_a_check_document_fits_its_schema() -> None:
    made = CheckDocument(cluster="small", status="warn", findings=(finding("gpu.ecc", "warn", "gpu-dbe"),))
    Draft202012Validator(documents.schema("check")).validate(made.model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize("name", ["walk.schema.json", "check.schema.json", "runbook.schema.json"])
def test_a_shipped_schema_is_what_the_models_say(name: str) -> None:
    stored = json.loads((documents.SCHEMAS / name).read_text(encoding="utf-8"))
    assert stored == documents.schemas()[name], "run python -m runbooks.documents"
    Draft202012Validator.check_schema(stored)


def test_shipped_runbooks_fit_the_runbook_schema() -> None:
    import yaml

    from runbooks import loader

    validator = Draft202012Validator(documents.schema("runbook"))
    for name in loader.names():
        data = yaml.safe_load((loader.LIBRARY / f"{name}.yaml").read_text(encoding="utf-8"))
        assert [e.message for e in validator.iter_errors(data)] == [], name
