"""The calculator's numbers and sentences in a real browser, against scansnap_core.law.answer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, unquote

import numpy as np
import pytest
from lab_widgets import calculator_script, widget_html
from playwright.sync_api import Page

from scansnap_core import PredictionOutOfRange, SequenceClasses, predict, with_overlap
from scansnap_core.law import memory
from scansnap_core.law.answer import counted, named, written
from scansnap_core.law.answer_numbers import numbers_and_tokens
from scansnap_core.law.expected_error import (
    LEAST,
    LIKELY,
    Causes,
    Errors,
    errors_by_cause,
)
from scansnap_core.law.forecast_errors import Oscillation
from scansnap_core.law.memory import Law, State
from scansnap_core.law.overshoot import Updates, overshoot_of
from scansnap_core.law.phases import tilt, turning_length
from scansnap_core.law.predicting import LOOK
from scansnap_core.law.types import types_of
from tests.law.test_ties import TIES, Rows
from tests.site.book import ROOT
from tests.site.lab_page import write_page

DEFAULTS = {"K": "2", "M": "1000", "rho": "0.3", "w": "1,0.8,0.5", "T": "inf", "etaY": "1", "etaZ": "0.1"}
DEFAULTS |= {"opt": "sgd", "mu": "0.9", "B": "full", "steps": "1000", "table": ""}
FOUND = "document.querySelector('.ss-calculator').lab.picture.answer.found"
GENERIC = {"common": "the common word", "first": "the most frequent distinct word"}
GENERIC["last"] = "the least frequent distinct word"
"""How words are called that have no names, where each is one."""
SEA = "ship: and 30, blue 20, wave 25, sail 15, harbour 10\nplane: and 30, blue 20, cloud 30, wing 10, runway 10"
ONE_WORD = "a: x 1\nb: x 2, y 1"
ODD = "ship: and 3, constructor 5, 7 2\n3: and 2, toString 5, __proto__ 2"
"""Names that are keys of every object, and names that an object would put first."""
ALONE = f"{SEA}\nshore: sand 1, shell 2"
"""The last of these classes shares no word."""
THREE = "a: x 5, y 2, p 4, q 1\nb: x 1, y 3, r 2\nc: y 2, s 3, t 5"

SETTINGS = [
    "",
    "K=10&rho=0.1&etaY=0.5",
    "M=5000&T=64",
    "K=5&M=10000&rho=0.04",
    "K=3&M=100000&rho=0.05&etaZ=1",
    "K=20&M=1000000&rho=0.002&T=1000000&etaY=10&etaZ=0.01&steps=50",
    "K=2&M=4&w=1&rho=0.3&etaY=0.1&etaZ=1&steps=1",
    "K=3&M=50&rho=0.99&w=4,2,1&etaZ=10&T=32&steps=200",
    "K=4&M=300&rho=0.05&opt=momentum&mu=0.5&T=512&steps=300",
    "K=2&M=1000&rho=0.3&opt=momentum&mu=0.99&etaY=10&etaZ=10",
    "K=2&M=1000&rho=0.74&opt=momentum&mu=0.9&etaY=3.55&etaZ=1.7&steps=100",
    "K=4&M=300&rho=0.05&opt=flow&etaY=8&T=512&steps=300",
    "K=4&M=300&rho=0.3&opt=momentum&mu=0.5&etaY=10&etaZ=9&T=64&steps=300",
    f"M=50&T=128&etaY=0.5&etaZ=0.5&steps=200&table={quote(SEA)}",
    f"M=100&T=128&table={quote(ODD)}",
    f"M=2000&T=128&etaZ=1&opt=momentum&mu=0.3&steps=5000&table={quote(THREE)}",
    "K=5&M=10000&rho=0.04&w=4,2,1&etaY=0.01&etaZ=0.02&opt=adam",
    f"M=2000&T=16&etaZ=1&opt=adam&steps=1e13&table={quote(THREE)}",
    "K=3&w=1",
    "K=3&w=1,1",
    "K=3&w=0.5,1,1,0.5&T=64",
    "K=3&w=1,1,1,0.5,1&opt=adam",
    "K=4&M=300&rho=0.05&opt=flow&B=8&steps=300",
]
BATCHES = [
    "B=1",
    "B=1&steps=1",
    "B=8&steps=6.5",
    "B=64&K=3&M=50&rho=0.4&w=4,2,1&etaZ=5&steps=200",
    "B=1&K=5&M=10000&rho=0.04&steps=100",
    "B=8&K=12&M=5000&rho=0.02&w=1,2,3,4&etaY=10&steps=50",
    "B=1&K=3&M=100000&rho=0.05&etaZ=2&steps=2000",
    "B=8&opt=momentum&mu=0.9&etaY=0.5&steps=5000",
    "B=64&K=3&rho=0.1&opt=momentum&mu=0.99&steps=1000",
    *(f"B=1&M=11&steps={steps}&table={quote(SEA)}" for steps in (10, 1000)),
    f"B=64&M=1000&steps=100&table={quote(SEA)}",
    f"B=8&M=2000&etaZ=1&opt=momentum&mu=0.3&steps=5000&table={quote(THREE)}",
    f"B=1&M=100&steps=100&table={quote(ALONE)}",
]
"""Settings with a batch size, whose classes come in random order."""


def table_of(rows: Rows) -> str:
    return "\n".join(
        f"{name}: {', '.join(f'{word} {count}' for word, count in row.items())}" for name, row in rows.items()
    )


def shuffled(rows: Rows) -> Rows:
    """The same classes, in which each word stands at another place."""
    return {name: dict(reversed(row.items())) for name, row in rows.items()}


TIED = [
    f"M=50&{how}table={quote(table_of(file))}"
    for rows, _ in TIES.values()
    for file, how in ((rows, "T=64&"), (shuffled(rows), "T=64&"), (rows, "opt=adam&"))
]


def texts_of(address: str) -> dict[str, str]:
    return DEFAULTS | {key: unquote(text) for key, text in (pair.split("=") for pair in address.split("&") if pair)}


def classes_of(texts: dict[str, str]) -> tuple[SequenceClasses, Any]:
    """The classes of a setting, and the words of a table."""
    if texts["table"]:
        rows = [line.split(": ") for line in texts["table"].split("\n")]
        counts = {name: {w: float(c) for w, c in (pair.split() for pair in row.split(", "))} for name, row in rows}
        probs = {name: {w: c / sum(row.values()) for w, c in row.items()} for name, row in counts.items()}
        classes = SequenceClasses.from_dicts(probs, query_of="the", vocab_size=int(texts["M"]))
        return classes, classes.coords["token"]
    weights = [float(weight) for weight in texts["w"].split(",")]
    return with_overlap(int(texts["K"]), int(texts["M"]), float(texts["rho"]), distinct_weights=weights), None


@cache
def numbers_by_the_package(address: str) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers, and what the sentences call the words."""
    texts = texts_of(address)
    classes, names = classes_of(texts)
    rest: dict[str, Any] = {"seq_len": float(texts["T"]), "optimizer": texts["opt"]}
    if texts["opt"] == "momentum":
        rest["momentum"] = float(texts["mu"])
    if texts["opt"] in ("sgd", "momentum") and texts["B"] != "full":
        rest["batch_size"] = int(texts["B"])
    lr_y = float(texts["etaY"])
    lr_z = float(texts["etaZ"])
    steps = float(texts["steps"])

    # The page's error at finite T is only near (see `expected`), so there the law's own digits are plenty.
    digits = memory.RTOL if np.isfinite(rest["seq_len"]) else 1e-10
    if texts["opt"] != "adam":
        with warnings.catch_warnings(), patch.object(memory, "RTOL", digits):
            warnings.simplefilter("ignore", PredictionOutOfRange)
            # The page has our law alone.
            rest["forecast"] = predict(classes, lr_y, lr_z, steps, exact=False, **rest)
    with patch.object(memory, "RTOL", 1e-10):
        found, tokens = numbers_and_tokens(classes, lr_y, lr_z, steps, **rest)
    words = {}
    for name, group in tokens.items():
        if names is not None:
            words[name] = named([f"“{names[token]}”" for token in group], name, found)
        else:
            words[name] = GENERIC[name] if len(group) == 1 else counted(len(group), name, found)
            words[name] = words[name] if found["several"] or len(group) > 1 or name == "common" else "the distinct word"
    return found, words


ERRORS = [
    "K=3&M=100000&rho=0.05&etaZ=2.6",
    "opt=momentum&mu=0.5&etaZ=5.5&steps=100",
    "B=8&opt=momentum&mu=0.5&etaY=0.5&etaZ=4&steps=300",
    "B=1&K=5&M=100000&rho=0.05&etaY=0.1&etaZ=0.85&steps=400",
    "opt=momentum&mu=0.5&T=6&etaZ=0.01&steps=100",
    "T=3&etaY=2&etaZ=0.01&steps=1.5",
    "K=3&M=50&rho=0.4&w=4,2,1&T=6&etaZ=0.01&steps=100",
    f"M=50&etaZ=6.3&steps=200&table={quote(SEA)}",
    f"M=2000&etaY=0.5&etaZ=2.8&steps=400&table={quote(THREE)}",
    f"B=1&M=2000&etaY=0.1&etaZ=1.15&steps=400&table={quote(THREE)}",
    f"M=2000&T=6&etaZ=0.01&steps=200&table={quote(THREE)}",
]
"""Settings of long steps and of short texts: their errors lie between the least and the largest.

In the two with batches of 1 one class alone overshoots.

None of them is that of the order of classes.
"""
NO_ERRORS = ["K=3&M=100000&rho=0.05&etaZ=2.6&opt=flow", "etaZ=9&steps=1", "etaY=7&etaZ=0.01&steps=20"]
"""A flow makes no steps, at the first one nothing has been learned, and a fast decoder alone does no harm."""
LOOKS = 40
"""The page looks at the speed at so many times."""


def errors_of_endless_texts(address: str) -> Errors:
    """The errors by the package's tables, along the flow, and update by update where there is momentum."""
    texts = texts_of(address)
    classes, _ = classes_of(texts)
    T, steps, lr_y = (float(texts[key]) for key in ("T", "steps", "etaY"))
    mu = float(texts["mu"]) if texts["opt"] == "momentum" else 0.0
    law = Law(types_of(classes), float(texts["etaZ"]) / lr_y)
    update = lr_y / classes.num_classes / (1 - mu)
    is_flow = texts["opt"] == "flow"
    batch_size = None if texts["B"] == "full" else int(texts["B"])
    updates = Updates(0.0 if is_flow else lr_y / classes.num_classes, mu, batch_size)

    def grown(times: Iterable[float], states: Iterable[State]) -> float:
        """How far an oscillation grows along states, at times in updates."""
        oscillation = Oscillation(1.0)
        growth = 0.0
        for t, state in zip(times, states, strict=True):
            rate = overshoot_of(law, state, law.own_errors(state), updates).growth
            growth = oscillation.until(t, rate)
            oscillation.advance(t, rate)
        return growth

    times = np.geomspace(min(1.0, steps / 2), steps, LOOKS)
    states = law.path(update * times)
    learned = states[-1].a.max()
    growth = grown(times, states)
    if mu:
        packed = law.start(1e-12)
        velocity = np.zeros_like(packed)
        seen = {}
        following = 1.0
        for t in range(1, int(steps) + 1):
            velocity = mu * velocity + (1 - mu) * update * law.rate(packed)
            packed = packed + velocity
            if t >= following or t == int(steps):
                seen[t] = law.unpack(packed)
                following = LOOK * t
        learned = max(learned, seen[t].a.max())
        growth = max(growth, grown(seen, seen.values()))
    return errors_by_cause(Causes(learned / (T - 1), growth, 0.0))


def expected(address: str, got: dict[str, float]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """The numbers and the sentences by the package, with the page's own errors to be expected, which ``got`` has.

    The page integrates no law at finite T, and takes the flow where steps are large. On these settings its errors are
    near the package's, and on the same side of where it warns.
    """
    numbers, words = numbers_by_the_package(address)
    found = dict(numbers)
    for name in {"likely", "error"} & got.keys():
        assert got[name] == pytest.approx(found[name], rel=0.12, abs=2e-3)
        found[name] = got[name]
    if "likely" in got:
        assert (got["likely"] <= LIKELY) == (numbers["likely"] <= LIKELY)
    return found, written(found, words)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("calculator")
    return write_page(folder, widget_html("calculator"), calculator=calculator_script(ROOT))


@pytest.fixture
def ask(address: str, page: Page) -> Callable[[str], Page]:
    """Loads the calculator at a setting's address and waits for its answer."""

    def load(setting: str) -> Page:
        page.goto(f"{address}#{setting}")
        page.wait_for_function("document.querySelector('.ss-calculator').dataset.state === 'done'")
        return page

    return load


def misses(page: Page, address: str) -> list[str]:
    """The numbers that differ from Python's by more than a millionth.

    Of the order of classes Python integrates five digits of its largest, and it is exactly 0 in full batches.
    """
    got = page.evaluate(FOUND)
    found, _ = expected(address, got)
    assert got.keys() == found.keys()
    digits = dict.fromkeys(found, (1e-6, 1e-12)) | {"order": (1e-3, 0.0)}
    return [
        f"{name}: {got[name]} is not {want}"
        for name, want in found.items()
        if got[name] != want and not abs(got[name] - want) <= digits[name][0] * abs(want) + digits[name][1]
    ]


@pytest.mark.parametrize("setting", [*SETTINGS, *BATCHES, *TIED])
def test_numbers_and_sentences_are_pythons(setting: str, ask: Callable[[str], Page]) -> None:
    page = ask(setting)
    assert misses(page, setting) == []
    _, told = expected(setting, page.evaluate(FOUND))
    sections = page.locator(".ss-calculator section")
    assert sections.locator("h2").all_inner_texts() == list(told)
    assert sections.locator("p").all_inner_texts() == [" ".join(texts).replace("η_", "η") for texts in told.values()]


@pytest.mark.parametrize("setting", ["K=3&rho=0.1", f"M=50&etaZ=1&table={quote(SEA)}"])
def test_the_curves_are_the_answers_in_percent(setting: str, ask: Callable[[str], Page]) -> None:
    page = ask(setting)
    found = page.evaluate(FOUND)
    times, curves = page.evaluate(
        f"(({{ times, curves }}) => [Array.from(times), curves])({FOUND.removesuffix('.found')})"
    )
    at = times.index(found["steps"])
    for law in ("ten", "true"):
        common, first, last = (curves[law][name][at] for name in ("common", "first", "last"))
        assert common == pytest.approx(100 * found["share"] * (1 - found[f"lost_{law}"]), rel=1e-9, abs=0)
        assert first / last == pytest.approx(found[f"lead_{law}"], rel=1e-9, abs=0)


@pytest.mark.parametrize("setting", [*ERRORS, *NO_ERRORS])
def test_errors_to_be_expected_are_those_of_endless_texts(setting: str, ask: Callable[[str], Page]) -> None:
    want = errors_of_endless_texts(setting)
    between = 0 < want.likely.max() < 1 or LEAST < want.expected.max() < 1
    assert between == (setting in ERRORS)
    near = 5e-3 if "table" in setting else 1e-4  # with a table the page integrates all of Y, the law a memory a class
    found = ask(setting).evaluate(FOUND)
    assert found["error"] == pytest.approx(want.expected.max(), rel=near, abs=0)
    assert found["likely"] == pytest.approx(want.likely.max(), rel=near, abs=0)


def test_a_vocabulary_of_a_milliard_has_the_closed_forms_length(ask: Callable[[str], Page]) -> None:
    page = ask("K=20&M=1000000000&rho=0.002")
    found = page.evaluate(FOUND)
    probs = with_overlap(20, 10**9, 0.002, distinct_weights=[1, 0.8, 0.5]).compact.probs[0]
    lengths = turning_length(tilt(probs)[[1, 3]], found["snap"] / 20, 20, 10**9, 0.002)
    assert found["T_drift"] == pytest.approx(lengths.max(), rel=1e-6, abs=0)


def classes_with(number: int, words: int) -> str:
    """Write a table of so many classes of so many words each, one of which all share."""
    own = (", ".join(f"w{n}x{i} 1" for i in range(1, words)) for n in range(number))
    return "\n".join(f"c{n}: and 1, {row}" for n, row in enumerate(own))


@pytest.mark.parametrize(
    "setting",
    [
        f"M=9&table={quote(SEA)}",
        "steps=3e7",
        f"M=5000&table={quote(classes_with(20, 3))}",
        f"M=5000&table={quote(classes_with(2, 100) + ', more 1')}",
    ],
)
def test_what_is_just_allowed_has_no_fault(setting: str, address: str, page: Page) -> None:
    page.goto(f"{address}#{setting}")
    page.wait_for_function("document.querySelector('.ss-calculator').dataset.faults !== undefined")
    assert page.locator(".ss-calculator").get_attribute("data-faults") == ""


@pytest.mark.parametrize(
    ("setting", "field", "sentence"),
    [
        ("K=1", "K", "choose a whole number from 2 to 100"),
        ("T=2", "T", "choose a whole number from 3"),
        ("steps=0.5", "steps", "Write 1 or more steps"),
        ("steps=1e12", "steps", "beyond a million t₀"),
        ("B=0", "B", "choose a whole number from 1 to 1000000, or full"),
        ("B=1.5", "B", "choose a whole number from 1 to 1000000, or full"),
        ("B=some", "B", "“some” isn't a number for B; write such as 8"),
        ("B=8&T=64", "B", "B = 8 needs endless sequences here: write T = inf, or B = full"),
        ("opt=momentum&mu=1", "mu", "choose 0 to 0.99"),
        (f"table={quote('ship and')}", "table", "isn’t a class with words and positive counts"),
        (f"table={quote('a: x 1, y 3 z 2')}", "table", "“a: x 1, y 3 z 2” isn’t a class with words"),
        (f"table={quote('a: x 1, y 2')}", "table", "Give 2 to 20 classes"),
        (f"table={quote(ONE_WORD)}", "table", "needs a word that another class shares and one"),
        (f"M=4&table={quote(SEA)}", "M", "M = 4 is too small for 8 words and a query; choose 9 or more"),
        (f"M=8&table={quote(SEA)}", "M", "M = 8 is too small for 8 words and a query; choose 9 or more"),
        ("opt=momentum&mu=0.5&steps=3e7", "steps", "beyond a million t₀"),
        (f"table={quote('a: x 1, y 0')}", "table", "isn’t a class with words and positive counts"),
        (f"table={quote('a: x 1, y 1e999')}", "table", "isn’t a class with words and positive counts"),
        (f"table={quote(': x 1, y 2')}", "table", "isn’t a class with words and positive counts"),
        (
            f"table={quote(classes_with(21, 3))}",
            "table",
            "Give 2 to 20 classes with at most 200 words; these are 21 with",
        ),
        (f"table={quote(classes_with(2, 101))}", "table", "classes with at most 200 words; these are 2 with 201."),
    ],
)
def test_bad_input_gets_a_sentence(setting: str, field: str, sentence: str, address: str, page: Page) -> None:
    page.goto(f"{address}#{setting}")
    where = ".ss-lab-own" if field == "table" else f"[data-field={field}]"
    page.wait_for_function("document.querySelector('.ss-calculator').dataset.faults !== undefined")
    assert sentence in page.locator(f"{where} .ss-lab-fault").inner_text()


def test_the_batch_size_is_in_the_address_and_hides_where_there_are_no_batches(ask: Callable[[str], Page]) -> None:
    page = ask("")
    field = page.locator("[data-field=B]")
    field.locator("input").fill("8")
    page.wait_for_function("location.hash === '#B=8'")
    page.wait_for_function(f"{FOUND}.batch === 8")
    for text in ("", "full"):
        field.locator("input").fill(text)
        page.wait_for_function(f"{FOUND}.batch === Infinity && {FOUND}.order === 0")
    for optimiser, visible in (("flow", False), ("momentum", True), ("adam", False), ("sgd", True)):
        page.locator("[data-field=opt] select").select_option(optimiser)
        assert field.is_visible() == visible


def test_many_unlike_classes_get_a_sentence_in_place_of_a_long_wait(address: str, page: Page) -> None:
    words = [f"w{i}" for i in range(60)]
    rows = (", ".join(f"{word} {1 + (i * n) % 17}" for i, word in enumerate(words)) for n in range(1, 21))
    table = "\n".join(f"c{n}: {row}, own{n} 9" for n, row in enumerate(rows))
    page.goto(f"{address}#B=1&M=5000&table={quote(table)}")
    page.wait_for_function("document.querySelector('.ss-calculator').dataset.state === 'failed'")
    assert "the order of the classes takes too many steps here; B = full leaves it out" in page.inner_text(
        ".ss-calculator"
    )


def test_a_table_can_have_a_line_for_each_word(ask: Callable[[str], Page]) -> None:
    long = "\n".join(
        f"{line.split(': ')[0]}\t{pair.replace(' ', chr(9))}"
        for line in SEA.split("\n")
        for pair in line.split(": ")[1].split(", ")
    )
    setting = f"M=50&T=128&table={quote(SEA)}"
    assert misses(ask(f"M=50&T=128&table={quote(long)}"), setting) == []
    twice = SEA.replace("and 30, blue 20, wave", "and 12, blue 20, and 18, wave")  # counts of one word add up
    assert misses(ask(f"M=50&T=128&table={quote(twice)}"), setting) == []


@pytest.mark.parametrize(
    ("tie", "names"),
    [
        ("all of three", ["“and”", "“x”, “y” and “z”"]),
        ("the only one", ["“and”", "“x”"]),
        ("at the top", ["“and”", "“x” and “y”", "“z”"]),
    ],
)
def test_the_legend_names_each_word_once(tie: str, names: list[str], ask: Callable[[str], Page]) -> None:
    page = ask(f"M=50&table={quote(table_of(TIES[tie][0]))}")
    legend = page.locator(".ss-calculator .ss-lab-legend span").all_inner_texts()
    assert [text for text in legend if "“" in text] == names


QUESTIONS = re.findall(
    r'<a href="#([^"]*)" data-answer="([^"]*)">', (ROOT / "chapters/calculator.md").read_text(encoding="utf8")
)


def test_a_question_shows_which_sentence_answers_it(tmp_path: Path, page: Page) -> None:
    links = "".join(f'<a href="#{setting}" data-answer="{words}">?</a>' for setting, words in QUESTIONS)
    address = write_page(tmp_path, links + widget_html("calculator"), calculator=calculator_script(ROOT))
    assert len(QUESTIONS) == 3
    page.goto(address)
    done = "document.querySelector('.ss-calculator').dataset.state === 'done'"
    page.wait_for_function(done)
    marked = page.locator(".ss-calculator .ss-lab-answer mark")
    assert marked.count() == 0
    for number, (_, words) in enumerate(QUESTIONS):
        page.locator("a[data-answer]").nth(number).click()
        marked.filter(has_text=words).first.wait_for()
        page.wait_for_function(done)
        assert 1 <= marked.count() <= 2
        assert all(words in text for text in marked.all_inner_texts())
