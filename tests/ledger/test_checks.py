import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
import yaml

from scansnap_core.ledger import (
    VERDICT_MIME,
    WITNESSES,
    Chapter,
    CheckFailed,
    ControlPassed,
    NoEvidence,
    Witness,
    display,
)
from scansnap_core.ledger.display import rich
from scansnap_core.ledger.entries import JUDGES
from scansnap_core.ledger.prose import NUMBERS_MIME
from tests.book.books import REPAIRED
from tests.ledger.conftest import (
    BROKEN,
    LACKING,
    UPHELD,
    Opened,
    Outputs,
    all_three,
    check,
    concluded,
    is_reading,
    refuting,
    without_styles,
)
from tests.refusing import refuses


@pytest.fixture
def chapter(opened: Opened) -> Chapter:
    claims = {
        "free": check("of a computed bound", must="≤ bound"),
        "tiny": check("error of $e^h$ & h", control="a <b>"),
    }
    return opened(numeric={"printed_error": REPAIRED, **claims}, symbolic={"zero": check("rows", must="= bound")})


@pytest.fixture
def numeric(chapter: Chapter) -> Witness:
    return chapter.witness("numeric")


def test_a_check_shows_what_it_found(numeric: Witness, outputs: Outputs) -> None:
    numeric.holds("tiny", 1 / 3, control=2 / 3)
    (shown,) = outputs
    assert [*shown] == ["text/plain", "text/html"]
    assert shown["text/plain"] == "✓ numeric: error of $e^h$ & h: 0.333, must be at most 0.5\n    control: a <b>: 0.667"
    for part in (
        r'error of <span class="math notranslate nohighlight">\(e^h\)</span> &amp; h',
        '<span class="ss-number"><strong>0.333</strong>, must be at most 0.5</span>',
        '<section class="ss-check ss-numeric" id="claim-tiny"><p class="ss-head">',
        ">control: a &lt;b&gt;: 0.667</small></p></section>",
    ):
        assert part in shown["text/html"]


def test_a_control_is_seen_at_once_and_only_what_else_there_is_unfolds(opened: Opened, outputs: Outputs) -> None:
    u = sp.Symbol("u")
    claims = {"zero": check("a square", must="= 0"), "some": check("some", must="= 0", only_sampled="no lemma")}
    symbolic = opened(symbolic=claims).witness("symbolic")
    symbolic.holds("zero", (u * u, u**2), control=(u, sp.Integer(1)), by=sp.expand)
    symbolic.holds("some", 0, control=1)
    zero, some = outputs
    full = f"<dt>control: another exponent</dt><dd>{rich('$u = 1$')}, ≠ 0</dd>"
    for output, value, folded in ((zero, "≠ 0", full), (some, "1", "<dt>only sampled</dt>")):
        head, _, fold = without_styles(output["text/html"]).partition("</summary>")
        assert head.startswith("<details ")
        assert head.endswith(f">control: another exponent: {value}</small>")
        assert folded in fold
        assert fold.count("control") == folded.count("control"), "what is seen at once isn't said twice"


def test_what_is_seen_first_of_its_kind_is_preceded_by_how_to_read_it(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: Outputs = []
    chapter = opened(numeric={"printed_error": REPAIRED, "second": check("second")})
    monkeypatch.setattr(display, "show", lambda output: shown.append(output))
    numeric = chapter.witness("numeric")
    numeric.holds("numeric_error", 0.1, control=0.7)
    numeric.refutes("printed_error", 0.7, control=0.1)
    numeric.holds("second", 0.1, control=0.7)
    kinds = ["reading" if is_reading(output) else output["text/plain"][0] for output in shown]
    assert kinds == ["reading", "✓", "reading", "✗", "✓"]
    assert shown[0]["text/plain"].startswith("**How to read a check.** `holds(name, measured, control=...)` prints ✓, ")
    assert shown[2]["text/plain"].startswith("**How to read a refutation.** ✗ marks ")
    assert [output["text/markdown"].count("](") for output in shown if is_reading(output)] == [0, 0]


def test_how_to_read_a_check_leads_to_the_books_page_on_it(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: Outputs = []
    chapter = opened()
    contents = Path("_toc.yml")
    contents.write_text(contents.read_text() + "- file: more/trust\n")
    monkeypatch.setattr(display, "show", lambda output: shown.append(output))
    chapter.witness("numeric").holds("numeric_error", 0.1, control=0.7)
    assert "[More about checks and proofs](../more/trust.md)</small>" in shown[0]["text/markdown"]


@pytest.mark.parametrize(("must", "measured", "shown"), [("≤ 1e-9", 3e-13, "≤ 10⁻⁹"), ("= 2", 2, "2")])
def test_what_reads_like_its_requirement_is_written_once(
    opened: Opened, outputs: Outputs, must: str, measured: float, shown: str
) -> None:
    opened(numeric={"size": check("size", must=must)}).witness("numeric").holds("size", measured, control=1 / 3)
    assert outputs[0]["text/plain"] == f"✓ numeric: size: {shown}, as required\n    control: another exponent: 0.333"
    assert f'<span class="ss-number"><strong>{shown}</strong>, as required</span>' in outputs[0]["text/html"]


@pytest.mark.parametrize(
    ("sign", "good", "bad", "needed"),
    [
        ("=", 0.5, 0.1, ""),
        ("≠", 0.1, 0.5, "anything but "),
        ("≤", 0.1, 0.7, "at most "),
        ("≥", 0.7, 0.1, "at least "),
        ("<", 0.1, 0.7, "less than "),
        (">", 0.7, 0.1, "more than "),
    ],
)
def test_what_was_asked_of_a_number_is_said_in_words(
    opened: Opened, outputs: Outputs, sign: str, good: float, bad: float, needed: str
) -> None:
    must = {"must": f"{sign} 0.5"}
    claims = {"size": check("size", **must), "printed_error": REPAIRED | must | {"printed": "words"}}
    numeric = opened(numeric=claims).witness("numeric")
    numeric.holds("size", good, control=bad)
    numeric.refutes("printed_error", bad, control=good)
    kept, printed = (output["text/plain"].splitlines()[0] for output in outputs)
    assert kept.endswith(f": {good}, must be {needed}0.5" if needed else ", as required")
    assert printed.endswith(f", where the printed claim needs {needed}0.5")


@pytest.mark.parametrize(
    ("judges", "printed", "needs"),
    [
        *((judges, "$h = t$", "the printed formula needs") for judges in ("claim", "proof", "remark")),
        ("proof", "so it falls for $h = t$", "the proof needs"),
        ("remark", "it falls", "the printed remark needs"),
        ("reading", "$h = t$", "this reading needs"),
    ],
)
def test_a_refutation_says_what_needs_another_number(
    opened: Opened, outputs: Outputs, judges: str, printed: str, needs: str
) -> None:
    claims = {"printed_error": REPAIRED | {"judges": judges, "printed": printed}}
    opened(numeric=claims).witness("numeric").refutes("printed_error", 0.7, control=0.1)
    assert f": 0.7, where {needs} at most 0.5\n" in outputs[0]["text/plain"]
    assert f"<strong>0.7</strong>, where {needs} at most 0.5</span>" in outputs[0]["text/html"]


def test_a_check_says_why_its_claim_is_only_sampled(opened: Opened, outputs: Outputs) -> None:
    chapter = opened(numeric={"numeric_error": check("numeric error", only_sampled="no tail lemma yet")})
    verdict = concluded(chapter, outputs)
    assert "\n    only sampled: no tail lemma yet" in outputs[1]["text/plain"]
    entry = {"id": "numeric_error", "witness": "sampled", "what": "numeric error", "why": "no tail lemma yet"}
    assert verdict["sampled"] == [entry]


def test_what_isnt_borne_out_raises(numeric: Witness, outputs: Outputs) -> None:
    check, printed = "numeric_error (numeric error): ", "printed_error (printed error): "
    for record, measured, control, kind, said in (
        (numeric.holds, 0.6, 0.7, CheckFailed, f"{check}measured 0.6, must be ≤ 0.5"),
        (numeric.holds, 0.1, 0.4, ControlPassed, f"{check}the control (another exponent) gives 0.4, which also is ≤ 0"),
        (numeric.refutes, 0.3, 0.1, CheckFailed, f"{printed}measured 0.3 is ≤ 0.5, so it is no counterexample"),
        (numeric.refutes, 0.7, 0.8, ControlPassed, f"{printed}the repair (with exp(2Mh)) gives 0.8, which isn't ≤ 0.5"),
    ):
        with pytest.raises(kind, match="^" + re.escape(f"Lemma 6, numeric witness, {said}")):
            record("numeric_error" if record == numeric.holds else "printed_error", measured, control=control)
    assert not outputs


def test_nan_and_an_undecided_control_are_no_evidence(chapter: Chapter, numeric: Witness) -> None:
    for measured, control in ((math.nan, 0.7), (0.1, math.nan)):
        with pytest.raises(NoEvidence, match="NaN"):
            numeric.holds("numeric_error", measured, control=control)
        with pytest.raises(NoEvidence, match="NaN"):
            numeric.refutes("printed_error", measured + 1, control=control)
    undecided = sp.sin(sp.Symbol("x")) ** 2 + sp.cos(sp.Symbol("x")) ** 2 - 1
    for measured, control, named in ((sp.Integer(0), undecided, "control"), (undecided, sp.Integer(1), "measured")):
        with pytest.raises(NoEvidence, match=rf"zero \(rows\): {named}: SymPy can't decide"):
            chapter.witness("symbolic").holds("zero", measured, bound=0, control=control)


@pytest.mark.parametrize(("must", "measured"), [("= 0", sp.zeros(2)), ("≠ 0", sp.ones(2)), ("= bound", sp.ones(2))])
def test_a_matrix_is_compared_with_zeros_or_a_bound(opened: Opened, outputs: Outputs, must: str, measured: Any) -> None:
    symbolic = opened(symbolic={"zero": check("rows", must=must)}).witness("symbolic")
    symbolic.holds("zero", measured, control=sp.ones(2) - measured, bound=measured if must == "= bound" else None)
    required = must.replace("0", "0 (2×2)").replace("bound", "the 2×2 matrix")
    what = "rows. What remains" if must == "= 0" else "rows"
    assert outputs[0]["text/plain"].startswith(f"✓ symbolic: {what}: {required}, as required\n")


def test_a_line_names_what_is_measured(opened: Opened, outputs: Outputs) -> None:
    numeric = opened(numeric={"error": check("<i> holds", measure="largest $h$ < 1")}).witness("numeric")
    numeric.holds("error", 0.1, control=0.7)
    assert outputs[0]["text/plain"].startswith("✓ numeric: <i> holds. largest $h$ < 1: 0.1, must be at most 0.5\n")
    html = outputs[0]["text/html"]
    assert '<span class="ss-what">&lt;i&gt; holds.</span> <span class="ss-number">largest <span' in html
    assert "&lt; 1: <strong>0.1</strong>, must be at most 0.5</span>" in html


def test_a_bound_stands_in_one_place_and_something_could_fail_it(numeric: Witness) -> None:
    for bound in (math.inf, -math.inf, sp.oo):
        with refuses(
            f"Lemma 6, numeric witness, free (of a computed bound): bound = {bound}",
            "nothing but infinity could fail it",
        ):
            numeric.holds("free", 1.0, bound=bound, control=2.0)
    with refuses(
        "numeric_error: bound = 0.5",
        "lemma_06.yaml says that it must be ≤ 0.5",
        "give the bound in one place: here, or there",
    ):
        numeric.holds("numeric_error", 0.1, bound=0.5, control=0.7)
    with refuses("free: bound = None", "lemma_06.yaml says that it must be ≤ bound"):
        numeric.holds("free", 0.1, control=0.7)
    numeric.holds("free", 0.1, bound=0.3, control=0.4)


def test_each_claim_is_made_once_and_as_what_it_is(chapter: Chapter, numeric: Witness) -> None:
    numeric.holds("numeric_error", 0.1, control=0.7)
    with refuses("claim 'numeric_error'", "a chapter makes each claim once"):
        numeric.holds("numeric_error", 0.1, control=0.7)
    with refuses(
        "claim 'free' as a refutation of the numeric witness", "in lemma_06.yaml it is a check of the numeric witness"
    ):
        numeric.refutes("free", 0.7, control=0.1)
    with refuses(
        "claim 'free' as a check of the empirical witness", "in lemma_06.yaml it is a check of the numeric witness"
    ):
        chapter.witness("empirical").holds("free", 0.1, control=0.7)
    with refuses("witness = 'visual'", "the choices are symbolic, numeric, empirical, proved"):
        chapter.witness("visual")
    with refuses("id = 'Lemma 6'", "it names no statement, figure or page", "did you mean lemma_06?"):
        Chapter("Lemma 6")


def test_a_verdict_holds(opened: Opened, outputs: Outputs) -> None:
    chapter = opened()
    verdict = concluded(chapter, outputs)
    assert verdict["verdict"] == "holds"
    assert verdict["witnesses"] == {name: {"checks": 1, "refutations": 0} for name in WITNESSES}
    assert [check["id"] for check in verdict["checks"]] == [f"{name}_error" for name in WITNESSES]
    assert outputs[-1]["text/plain"].startswith("Verdict: holds\n")
    named = [text for text in outputs[-1].values() if chapter.page.title in str(text) or chapter.page.name in str(text)]
    assert named == [], "a page's name and title are its heading's, and no output has to be stored when they change"
    assert 'class="ss-verdict ss-holds"' in outputs[-1]["text/html"]
    assert json.loads(json.dumps(verdict)) == verdict


def test_a_claim_that_was_not_made_leaves_no_verdict(chapter: Chapter) -> None:
    all_three(chapter)
    with pytest.raises(NoEvidence, match=r"^lemma_06\.yaml claims what the notebook doesn't compute: zero, printed_er"):
        chapter.conclude()


@pytest.mark.parametrize(
    ("page_id", "refutations", "verdict", "css"),
    [
        ("lemma_06", [LACKING], "holds under a condition", "ss-condition"),
        ("lemma_06", [LACKING, LACKING], "holds under a condition", "ss-condition"),
        ("lemma_06", [REPAIRED], "fails as printed", "ss-fails"),
        ("lemma_06", [LACKING, REPAIRED], "fails as printed", "ss-fails"),
        ("one_path", [REPAIRED], "fails as printed", "ss-fails"),
        ("fig_04", [REPAIRED], "differs from the paper", "ss-differs"),
    ],
)
def test_refutations_decide_the_verdict(
    opened: Opened, outputs: Outputs, page_id: str, refutations: list[dict[str, str]], verdict: str, css: str
) -> None:
    claims = {f"printed_error{n or ''}": entry | {"says": f"error {n}"} for n, entry in enumerate(refutations)}
    found = concluded(refuting(opened, BROKEN, page_id, **claims), outputs)
    assert found["verdict"] == verdict
    assert css in outputs[-1]["text/html"]
    stored = found["refutations"][0]
    assert (stored["place"], stored["measured"], stored["erratum"]) == ("Lemma 6, Eqn 45", "0.7", "")


SCOPE = LACKING | {"judges": "scope"}


@pytest.mark.parametrize(
    ("page_id", "smaller", "refutations", "verdict"),
    [
        ("one_path", "", [SCOPE], "holds under a condition"),
        ("one_path", "", [SCOPE, LACKING | {"says": "another"}], "holds under a condition"),
        ("fig_04", "", [SCOPE], "differs from the paper"),
        ("fig_04", "the text", [], "reproduced in smaller runs"),
        ("fig_04", "the text", [SCOPE], "reproduced in part, in smaller runs"),
    ],
)
def test_a_sentences_scope_and_smaller_runs_decide_too(
    opened: Opened, outputs: Outputs, page_id: str, smaller: str, refutations: list[dict[str, str]], verdict: str
) -> None:
    card = BROKEN if refutations else UPHELD
    card = card | {"printed": card["printed"] | ({"smaller": smaller} if smaller else {})}
    claims = {f"printed_error{n or ''}": entry for n, entry in enumerate(refutations)}
    chapter = refuting(opened, card, page_id, **claims) if refutations else opened(page_id, card)
    found = concluded(chapter, outputs)
    assert found["verdict"] == verdict
    assert ("Smaller than in the paper: the text." in outputs[-1]["text/plain"]) == bool(smaller)
    assert "the verdict doesn't rest on it" not in outputs[-1]["text/plain"]


def test_smaller_runs_refute_no_printed_claim(opened: Opened, outputs: Outputs) -> None:
    card = BROKEN | {"printed": BROKEN["printed"] | {"smaller": "the text"}}
    with refuses("fig_04.yaml: smaller", "smaller runs don't refute the paper's own"):
        concluded(refuting(opened, card, "fig_04", printed_error=LACKING), outputs)


@pytest.mark.parametrize(
    ("page_id", "verdict"), [("lemma_06", "holds"), ("fig_04", "reproduced"), ("one_path", "holds")]
)
@pytest.mark.parametrize("judges", ["proof", "remark", "reading"])
def test_only_what_a_page_itself_claims_decides_its_verdict(
    opened: Opened, outputs: Outputs, page_id: str, verdict: str, judges: str
) -> None:
    beside = REPAIRED | {"judges": judges}
    chapter = refuting(opened, UPHELD, page_id, one=beside, two=beside | {"says": "another"})
    assert f"    what fails: {JUDGES[judges]}\n" in outputs[-1]["text/plain"]
    found = concluded(chapter, outputs)
    assert found["verdict"] == verdict
    assert [refutation["judges"] for refutation in found["refutations"]] == [judges, judges]
    assert f"the verdict doesn't rest on it: 2 claims about {JUDGES[judges]}\n" in outputs[-1]["text/plain"]
    assert "ss-beside" in outputs[-1]["text/html"]


@pytest.mark.parametrize("silent", WITNESSES)
def test_a_statement_needs_all_three_witnesses(opened: Opened, silent: str) -> None:
    chapter = opened(**{silent: {f"{silent}_error": REPAIRED}})
    for name in WITNESSES:
        witness = chapter.witness(name)
        if name == silent:
            witness.refutes(f"{name}_error", 0.7, control=0.1)
        else:
            witness.holds(f"{name}_error", 0.1, control=0.7)
    with pytest.raises(NoEvidence, match=f"no check by the witness {silent}"):
        chapter.conclude()


@pytest.mark.parametrize("page_id", ["fig_04", "notation", "one_path"])
def test_other_pages_need_any_check(opened: Opened, outputs: Outputs, page_id: str) -> None:
    path = opened(page_id).claims.path
    claims = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({"card": claims["card"]}))
    with pytest.raises(NoEvidence, match="no check by any witness"):
        Chapter(page_id).conclude()
    path.write_text(yaml.safe_dump({key: claims[key] for key in ("numeric", "card")}))
    chapter = Chapter(page_id)
    chapter.witness("numeric").holds("numeric_error", 0.1, control=0.7)
    chapter.conclude()
    assert outputs[-1][VERDICT_MIME]["verdict"] == ("reproduced" if page_id == "fig_04" else "holds")


def test_nothing_follows_the_conclusion(opened: Opened, outputs: Outputs) -> None:
    chapter = opened()
    concluded(chapter, outputs)
    for value, afterthought in (
        ("claim 'numeric_error'", lambda: chapter.witness("numeric").holds("numeric_error", 0.1, control=0.7)),
        ("numbers", lambda: chapter.numbers(drop="1.2")),
        ("conclude", chapter.conclude),
    ):
        with refuses(value, "Lemma 6 is concluded already"):
            afterthought()


def test_digits_that_read_like_the_bounds_say_on_which_side_they_lie(opened: Opened, outputs: Outputs) -> None:
    above, below = 0.2 + 1e-6, 0.2 - 1e-6
    claims = {"numeric_error": check("numeric error", must="≤ 0.2"), "printed_error": REPAIRED | {"must": "≤ 0.2"}}
    numeric = opened(numeric=claims).witness("numeric")
    numeric.holds("numeric_error", below, control=above)
    numeric.refutes("printed_error", above, control=below)
    kept, refuted = (output["text/plain"] for output in outputs)
    assert ": ≤ 0.2, as required\n    control: another exponent: > 0.2" in kept
    assert ": > 0.2, where the printed formula needs at most 0.2\n" in refuted
    assert "with the repair: with exp(2Mh): ≤ 0.2\n" in refuted


@pytest.mark.parametrize(("remedy", "entry"), [("repair", REPAIRED), ("condition", LACKING)])
def test_a_refutation_says_with_which_remedy_its_control_was_measured(
    opened: Opened, outputs: Outputs, remedy: str, entry: dict[str, str]
) -> None:
    opened(numeric={"printed_error": entry}).witness("numeric").refutes("printed_error", 0.7, control=0.1)
    plain = outputs[0]["text/plain"]
    markup = without_styles(outputs[0]["text/html"])
    assert plain.count("with the ") == markup.count("<dt>with the ") == 1
    assert f"    with the {remedy}: with exp(2Mh): 0.1\n" in plain
    assert f"    {remedy}: {entry[remedy]}\n" in plain
    assert f"<dt>with the {remedy}: with exp(2Mh)</dt><dd>0.1</dd>" in markup
    assert 'id="claim-printed_error"' in markup


def test_numbers_of_the_prose_are_stored_and_not_seen(opened: Opened, outputs: Outputs) -> None:
    chapter = opened()
    chapter.numbers({"way_0.1": "-7% to 9 %"}, drop="1.2")
    chapter.numbers(rise="1.3")
    shown = [{"way_0.1": "−7 % to 9 %", "drop": "1.2"}, {"rise": "1.3"}]
    assert outputs == [{"text/plain": "", NUMBERS_MIME: numbers} for numbers in shown]


@pytest.mark.parametrize(
    ("given", "value", "rule"),
    [
        ({"drop": 1.2}, "drop = 1.2", "a number in prose is written by the chapter"),
        ({"drop": " "}, "drop = ' '", "a number in prose is written by the chapter"),
        *(({name: "1"}, f"number {name!r}", "a chapter gives each name once") for name in ("rise", "numeric_error")),
        *(
            ({name: "1"}, f"number {name!r}", "a text can't quote a name with one of :\"<>")
            for name in ("lemma_06:drop", 'a"b')
        ),
    ],
)
def test_a_number_that_no_text_could_quote_is_refused(
    opened: Opened, outputs: Outputs, given: Any, value: str, rule: str
) -> None:
    chapter = opened()
    chapter.numbers(rise="1.3")
    with refuses(value, rule):
        chapter.numbers(given)
    assert len(outputs) == 1


def test_what_a_check_was_given_is_shown_beside_it(opened: Opened, outputs: Outputs) -> None:
    u, v = sp.symbols("u v")
    claims = {
        "zero": check("a square", must="= 0"),
        "size": check("a size", must="≤ 1"),
        "pair": check("two", must="= 0"),
    }
    chapter = opened(symbolic=claims)
    symbolic = chapter.witness("symbolic")
    symbolic.holds("zero", (u + v) ** 2 - u**2 - 2 * u * v - v**2, control=(u + v) ** 2 - u**2, by=sp.expand)
    symbolic.holds("size", sp.Rational(1, 2), control=2, by=lambda number: number)
    symbolic.holds("pair", (u * (u + v), u**2 + u * v), control=(u * v, sp.Integer(1)), by=sp.expand)
    zero, size, pair = outputs
    assert "tried: $u \\left(u + v\\right) = u^{2} + u v$" in pair["text/plain"]
    assert "control: another exponent: $u v = 1$, ≠ 0" in pair["text/plain"]
    assert "    tried: $- u^{2} - 2 u v - v^{2} + \\left(u + v\\right)^{2}$\n" in zero["text/plain"]
    assert "control: another exponent: $- u^{2} + \\left(u + v\\right)^{2}$, ≠ 0" in zero["text/plain"]
    assert "tried" not in size["text/plain"]
    assert chapter._entries["zero"].formula.startswith("$- u^{2}")


def test_by_makes_what_is_compared(opened: Opened) -> None:
    u = sp.Symbol("u")
    symbolic = opened(symbolic={"zero": check("a square", must="= 0")}).witness("symbolic")
    with pytest.raises(CheckFailed):
        symbolic.holds("zero", u * (u + 1) - u**2, control=u, by=sp.expand)
    with pytest.raises(ControlPassed):
        symbolic.holds("zero", u * (u + 1) - u**2 - u, control=u * (u - 1) - u**2 + u, by=sp.expand)


@pytest.mark.parametrize("infinite", [math.inf, -math.inf, sp.oo, sp.zoo, 1 + sp.oo * sp.I])
def test_what_is_infinite_is_no_measurement(opened: Opened, infinite: Any) -> None:
    numeric = opened(numeric={"size": check("a size", must="≤ 1"), "other": check("other", must="≠ 1")}).witness(
        "numeric"
    )
    for claim_id, measured, control in (("size", infinite, 2), ("size", 0.5, infinite), ("other", infinite, 1)):
        with pytest.raises(NoEvidence, match="which is no measurement"):
            numeric.holds(claim_id, measured, control=control)


def test_a_control_has_the_shape_of_what_is_measured(opened: Opened) -> None:
    symbolic = opened(symbolic={"zero": check("rows", must="= 0")}).witness("symbolic")
    for control in (sp.ones(1, 2), sp.Integer(1), 1):
        with refuses(
            "Lemma 6, symbolic witness, zero (rows): shapes (2, 1) and (…)",
            "a control's measurement has the shape of the claim's",
        ):
            symbolic.holds("zero", sp.zeros(2, 1), control=control)
    symbolic.holds("zero", sp.zeros(2, 1), control=sp.ones(2, 1))
