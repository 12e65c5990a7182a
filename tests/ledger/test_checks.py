import json
import math
from typing import Any

import pytest
import sympy as sp

from scansnap_core import BadInput
from scansnap_core.ledger import (
    VERDICT_MIME,
    WITNESSES,
    Card,
    Chapter,
    CheckFailed,
    ControlPassed,
    NoEvidence,
    Printed,
    Repair,
    Silent,
    Witness,
    display,
)
from scansnap_core.ledger.entries import JUDGES

REFUTATION: dict[str, Any] = {
    "control": 0.1,
    "control_is": "with exp(2Mh)",
    "place": "Lemma 6, Eqn 45",
    "printed": "$e^{Mh}$",
    "consequence": "none",
}
QUIET = Silent("not concerned", "It has no noise in it.")


def upheld(what: str = "numeric error") -> Card:
    """The card of a chapter whose verdict asks for no repair."""
    return Card(Printed(what, "It holds."), QUIET, QUIET, figure="")


def broken(what: str = "printed error") -> Card:
    """The card of a chapter in which this refutation is one of those that decide."""
    return Card(Printed(what, "It fails."), QUIET, QUIET, figure="", repaired=Repair("2", "Everywhere.", what))


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the ledger displays, in place of a notebook."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "show", lambda output: shown.append(output._repr_mimebundle_()))
    return shown


@pytest.fixture
def chapter(outputs: list[dict[str, Any]]) -> Chapter:
    return Chapter("lemma_06")


@pytest.fixture
def numeric(chapter: Chapter) -> Witness:
    return chapter.witness("numeric")


def check(witness: Witness, measured: Any = 0.1, *, what: str = "error", control: Any = 0.7) -> None:
    witness.check(what, measured, "<=", 0.5, control=control, control_is="another exponent")


def all_three(chapter: Chapter) -> None:
    for name in WITNESSES:
        check(chapter.witness(name), what=f"{name} error")


def refute(witness: Witness, measured: Any = 0.7, *, what: str = "printed error", **rest: Any) -> None:
    witness.refute(what, measured, "<=", 0.5, **{**REFUTATION, **rest})


def test_a_check_shows_what_it_found(numeric: Witness, outputs: list[dict[str, Any]]) -> None:
    numeric.check("error of $e^h$ & h", 3e-13, "<=", 1e-9, control=1 / 3, control_is="a <b>")
    assert outputs == [
        {
            "text/plain": "✓ numeric: error of $e^h$ & h\n    measured: ≤ 1e-09\n    required: ≤ 1e-09\n"
            "    control, which must fail: 0.333 (a <b>)",
            "text/html": outputs[0]["text/html"],
        }
    ]
    markup = outputs[0]["text/html"]
    assert r'error of <span class="math notranslate nohighlight">\(e^h\)</span> &amp; h' in markup
    assert "0.333 (a &lt;b&gt;)" in markup
    assert 'class="ss-check ss-numeric"' in markup


def test_a_failed_check_raises(numeric: Witness, outputs: list[dict[str, Any]]) -> None:
    with pytest.raises(CheckFailed, match=r"Lemma 6, numeric witness, 'error': measured 0.6.*required ≤ 0.5"):
        check(numeric, 0.6)
    assert not outputs


def test_a_control_that_passes_raises(numeric: Witness, outputs: list[dict[str, Any]]) -> None:
    with pytest.raises(ControlPassed, match=r"the control \(another exponent\) gives 0.4.*≤ 0.5"):
        check(numeric, control=0.4)
    assert not outputs


@pytest.mark.parametrize(("measured", "control"), [(math.nan, 0.7), (0.1, math.nan)])
def test_nan_is_no_evidence(numeric: Witness, measured: float, control: float) -> None:
    with pytest.raises(NoEvidence, match="NaN"):
        check(numeric, measured, control=control)
    with pytest.raises(NoEvidence, match="NaN"):
        refute(numeric, measured + 1, control=control, repair="the other")


def test_an_undecided_control_is_no_evidence(chapter: Chapter) -> None:
    x = sp.Symbol("x")
    with pytest.raises(NoEvidence, match="can't decide"):
        chapter.witness("symbolic").check(
            "zero", sp.Integer(0), "==", 0, control=sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, control_is="unsimplified"
        )


def test_symbolic_zero_matrices(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    zero = sp.zeros(2, 2)
    chapter.witness("symbolic").check("rows", zero, "==", zero, control=sp.ones(2, 2), control_is="the sign changed")
    assert "measured: = 0 (2×2)" in outputs[0]["text/plain"]


@pytest.mark.parametrize("bound", [math.inf, -math.inf, sp.oo])
def test_a_bound_that_nothing_could_fail_is_refused(numeric: Witness, bound: Any) -> None:
    with pytest.raises(BadInput, match="pass a finite bound"):
        numeric.check("error", 1.0, "<=", bound, control=2.0, control_is="anything")


def test_the_same_thing_is_checked_once(chapter: Chapter, numeric: Witness) -> None:
    check(numeric)
    with pytest.raises(BadInput, match="a chapter checks each thing once"):
        check(chapter.witness("empirical"))
    with pytest.raises(BadInput, match="a chapter checks each thing once"):
        refute(numeric, what="error", repair="the other")


def test_malformed_arguments_are_refused(chapter: Chapter, numeric: Witness) -> None:
    with pytest.raises(BadInput, match="relation = '≤'"):
        numeric.check("error", 0.1, "≤", 0.5, control=0.7, control_is="another exponent")
    with pytest.raises(BadInput, match="control_is = ' '"):
        numeric.check("error", 0.1, "<=", 0.5, control=0.7, control_is=" ")
    with pytest.raises(BadInput, match="witness = 'visual'"):
        chapter.witness("visual")
    with pytest.raises(BadInput, match="did you mean lemma_06"):
        Chapter("Lemma 6")
    for both_or_none in ({}, {"repair": "a", "condition": "b"}):
        with pytest.raises(BadInput, match="exactly one"):
            refute(numeric, **both_or_none)


def test_a_counterexample_must_violate(numeric: Witness) -> None:
    with pytest.raises(CheckFailed, match="no counterexample"):
        refute(numeric, 0.3, repair="the other")


def test_a_repair_must_repair(numeric: Witness) -> None:
    with pytest.raises(ControlPassed, match="the repair"):
        refute(numeric, control=0.8, repair="the other")


def test_a_verdict_holds(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    all_three(chapter)
    chapter.conclude(upheld())
    verdict = outputs[-1][VERDICT_MIME]
    assert verdict["verdict"] == "holds"
    assert verdict["witnesses"] == {name: {"checks": 1, "refutations": 0} for name in WITNESSES}
    assert outputs[-1]["text/plain"].startswith("Verdict: holds\n")
    named = [text for text in outputs[-1].values() if chapter.page.title in str(text) or chapter.page.name in str(text)]
    assert named == [], "a page's name and title are its heading's, and no output has to be stored when they change"
    assert 'class="ss-verdict ss-holds"' in outputs[-1]["text/html"]
    assert json.loads(json.dumps(verdict)) == verdict


@pytest.mark.parametrize(
    ("refutations", "verdict", "css"),
    [
        ([{"condition": "h is small"}], "holds under a condition", "ss-condition"),
        ([{"condition": "h is small"}, {"condition": "M > 2"}], "holds under a condition", "ss-condition"),
        ([{"repair": "the other"}], "fails as printed", "ss-fails"),
        ([{"condition": "h is small"}, {"repair": "the other"}], "fails as printed", "ss-fails"),
    ],
)
def test_refutations_decide_the_verdict(
    chapter: Chapter, outputs: list[dict[str, Any]], refutations: list[dict[str, str]], verdict: str, css: str
) -> None:
    all_three(chapter)
    for number, remedy in enumerate(refutations):
        refute(chapter.witness("numeric"), what=f"printed error {number}", **remedy)
    chapter.conclude(broken("printed error 0"))
    assert outputs[-1][VERDICT_MIME]["verdict"] == verdict
    assert css in outputs[-1]["text/html"]
    stored = outputs[-1][VERDICT_MIME]["refutations"][0]
    assert stored["place"] == "Lemma 6, Eqn 45"
    assert stored["measured"] == "0.7"


@pytest.mark.parametrize(
    ("page_id", "verdict"), [("lemma_06", "holds"), ("fig_04", "reproduced"), ("one_path", "holds")]
)
@pytest.mark.parametrize("judges", ["proof", "remark", "reading"])
def test_only_what_a_page_itself_claims_decides_its_verdict(
    outputs: list[dict[str, Any]], page_id: str, verdict: str, judges: str
) -> None:
    chapter = Chapter(page_id)
    all_three(chapter)
    refute(chapter.witness("numeric"), repair="the other", judges=judges)
    assert f"    judges: {JUDGES[judges]}\n" in outputs[-1]["text/plain"]
    refute(chapter.witness("numeric"), what="another", repair="the other", judges=judges)
    chapter.conclude(upheld())
    assert outputs[-1][VERDICT_MIME]["verdict"] == verdict
    assert [refutation["judges"] for refutation in outputs[-1][VERDICT_MIME]["refutations"]] == [judges, judges]
    assert f"doesn't decide the verdict: 2 of {JUDGES[judges]}\n" in outputs[-1]["text/plain"]
    assert "ss-beside" in outputs[-1]["text/html"]


def test_a_remark_beside_a_refuted_claim(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    all_three(chapter)
    refute(chapter.witness("numeric"), condition="h is small")
    assert f"    judges: {JUDGES['claim']}\n" in outputs[-1]["text/plain"]
    refute(chapter.witness("numeric"), what="a remark's error", repair="the other", judges="remark")
    chapter.conclude(broken())
    assert outputs[-1][VERDICT_MIME]["verdict"] == "holds under a condition"


def test_what_a_refutation_judges_has_a_name(numeric: Witness) -> None:
    with pytest.raises(BadInput, match=r"judges = 'lemma'.*use one of claim, proof, remark, reading"):
        refute(numeric, repair="the other", judges="lemma")


@pytest.mark.parametrize("silent", WITNESSES)
def test_a_statement_needs_all_three_witnesses(chapter: Chapter, silent: str) -> None:
    for name in WITNESSES:
        if name != silent:
            check(chapter.witness(name), what=f"{name} error")
    refute(chapter.witness(silent), repair="the other")
    with pytest.raises(NoEvidence, match=f"no check by the witness {silent}"):
        chapter.conclude(upheld())


@pytest.mark.parametrize(
    ("page_id", "verdict"), [("fig_04", "reproduced"), ("notation", "holds"), ("one_path", "holds")]
)
def test_other_pages_need_any_check(outputs: list[dict[str, Any]], page_id: str, verdict: str) -> None:
    chapter = Chapter(page_id)
    with pytest.raises(NoEvidence, match="no check by any witness"):
        chapter.conclude(upheld("error"))
    check(chapter.witness("empirical"))
    chapter.conclude(upheld("error"))
    assert outputs[-1][VERDICT_MIME]["verdict"] == verdict


def test_a_figure_can_differ(outputs: list[dict[str, Any]]) -> None:
    figure = Chapter("fig_04")
    refute(figure.witness("empirical"), repair="the curve ends at 3")
    figure.conclude(broken())
    assert outputs[-1][VERDICT_MIME]["verdict"] == "differs from the paper"


def test_a_page_beyond_the_paper_can_refute_it(outputs: list[dict[str, Any]]) -> None:
    beyond = Chapter("one_path")
    refute(beyond.witness("numeric"), repair="one curve for each ratio of the rates")
    beyond.conclude(broken())
    assert outputs[-1][VERDICT_MIME]["verdict"] == "fails as printed"


def test_nothing_follows_the_conclusion(chapter: Chapter) -> None:
    all_three(chapter)
    chapter.conclude(upheld())
    with pytest.raises(BadInput, match="concluded already"):
        check(chapter.witness("numeric"), what="afterthought")
    with pytest.raises(BadInput, match="concluded already"):
        chapter.conclude(upheld())


def test_digits_that_read_like_the_bounds_say_on_which_side_they_lie(
    chapter: Chapter, numeric: Witness, outputs: list[dict[str, Any]]
) -> None:
    above, below = 0.2 + 1e-6, 0.2 - 1e-6
    numeric.check("numeric error", below, "<=", 0.2, control=above, control_is="with exp(2Mh)")
    assert chapter.checked == {"numeric error"}
    numeric.refute("printed error", above, "<=", 0.2, **REFUTATION | {"control": below}, repair="2")
    check, refutation = (output["text/plain"] for output in outputs)
    assert "measured: ≤ 0.2\n" in check
    assert "control, which must fail: > 0.2 (" in check
    assert "measured: > 0.2\n" in refutation
    assert "with the repair: ≤ 0.2 (" in refutation


@pytest.mark.parametrize("remedy", ["repair", "condition"])
def test_a_refutation_says_with_which_remedy_its_control_was_measured(
    numeric: Witness, outputs: list[dict[str, Any]], remedy: str
) -> None:
    refute(numeric, **{remedy: "h is small"})
    (shown,) = outputs
    plain, markup = shown["text/plain"], shown["text/html"]
    assert plain.count("with the ") == markup.count("<dt>with the ") == 1
    assert f"    with the {remedy}: 0.1 (with exp(2Mh))\n" in plain
    assert f"    {remedy}: h is small\n" in plain
    assert f"<dt>with the {remedy}</dt><dd>0.1 (with exp(2Mh))</dd>" in markup
