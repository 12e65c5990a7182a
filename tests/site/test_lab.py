"""The lab's numbers in a real browser: its curves against Python's, its training against the engine's."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from lab import setting_of
from playwright.sync_api import Page
from scipy import stats

from scansnap_core.data.datasets import with_overlap
from scansnap_core.engine.training import train
from scansnap_core.law import memory, predict
from scansnap_core.theory import clocks, dynamics, flows, formulas, measures
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.solving import solve
from tests.site.book import ROOT
from tests.site.lab_page import FIELDS, drawn, first, number

FLOWS = {"ideal": flows.IdealisedFlow, "update26": flows.ModifiedFlow, "true": flows.TrueFlow}
RTOL, ATOL = 1e-6, 1e-14  # the second for logits that have hardly begun to move: both solvers work to 1e-15 there

# One setting a line, over the whole range of every slider. The true gradient flow is drawn, and compared, beside each.
SETTINGS = [
    "K=2&M=4&w=1&rho=0.3&etaY=1&etaZ=1&dyn=ideal",
    "K=2&M=4&w=1&rho=0.99&beyond=1&etaY=10&etaZ=10&dyn=update26",
    "K=2&M=1000000&w=1,0.8,0.5&rho=0.002&etaY=1&etaZ=0.001&dyn=ideal",
    "K=2&M=1000000&w=1,0.8,0.5&rho=0.4&etaY=0.1&etaZ=0.1&dyn=update26",
    "K=2&M=30&w=100,0.01&rho=0.05&etaY=3&etaZ=0.3&dyn=ideal",
    "K=2&M=1000&w=1,0.8,0.5&rho=0.3&etaY=0.1&etaZ=10&dyn=ideal",
    "K=3&M=100&w=0.5,1,0.8&rho=0.1&etaY=1&etaZ=0.1&n=3&dyn=ideal",
    "K=3&M=100&w=0.5,1,0.8&rho=0.1&etaY=1&etaZ=0.1&n=2&dyn=update26",
    "K=3&M=10000&w=1,1,1,1&rho=0.16&etaY=10&etaZ=0.001&dyn=update26",
    "K=6&M=64&w=1,2&rho=0.99&beyond=1&etaY=1&etaZ=1&dyn=ideal",
    "K=10&M=102&w=10,9,8,7,6,5,4,3,2,1&rho=0.01&etaY=1&etaZ=1&n=10&dyn=ideal",
    "K=2&M=4&w=1&rho=0.3&etaY=1&etaZ=1&dyn=law&t=0.5",
    "K=2&M=1000000&w=1,0.8,0.5&rho=0.002&etaY=0.1&etaZ=10&dyn=law",
    "K=3&M=1000&w=100,0.01&rho=0.99&beyond=1&etaY=10&etaZ=0.001&dyn=law",
    "K=5&M=2000&w=3,2,1&rho=0.04&etaY=1&etaZ=1&dyn=law",
    "K=10&M=102&w=10,9,8,7,6,5,4,3,2,1&rho=0.01&etaY=1&etaZ=10&n=10&dyn=law",
    "K=2&M=4&w=1&rho=0.3&etaY=1&etaZ=1&dyn=ideal&model=residual",
    "K=2&M=1000000&w=1,0.8,0.5&rho=0.002&etaY=0.1&etaZ=0.001&dyn=update26&model=residual",
    "K=5&M=2000&w=3,2,1&rho=0.04&etaY=10&etaZ=10&n=2&dyn=update26&model=residual",
    "K=10&M=102&w=10,9,8,7,6,5,4,3,2,1&rho=0.9&beyond=1&etaY=1&etaZ=1&n=10&dyn=ideal&model=residual",
    "K=2&M=4&w=1&rho=0.3&etaY=1&etaZ=1&dyn=update26&model=layernorm",
    "K=2&M=1000000&w=1,0.8,0.5&rho=0.002&etaY=1&etaZ=0.001&dyn=ideal&model=layernorm",
    "K=3&M=30&w=0.5,1,0.8&rho=0.1&etaY=1&etaZ=0.1&n=3&dyn=ideal&model=layernorm",
    "K=5&M=200&w=3,2,1&rho=0.04&etaY=10&etaZ=10&dyn=update26&model=layernorm",
    "K=10&M=102&w=10,9,8,7,6,5,4,3,2,1&rho=0.9&beyond=1&etaY=1&etaZ=1&n=10&dyn=ideal&model=layernorm",
]


def texts_of(address: str) -> dict[str, str]:
    return {key: field["default"] for key, field in FIELDS.items()} | dict(
        pair.split("=") for pair in address.split("&")
    )


@cache
def expected(address: str, times: tuple[float, ...]) -> dict[str, list[Any]]:
    """The same curves by the package."""
    texts = texts_of(address)
    weights = [float(weight) for weight in texts["w"].split(",")]
    K, M, n = int(texts["K"]), int(texts["M"]), int(texts["n"]) - 1
    classes = with_overlap(K, M, float(texts["rho"]), distinct_weights=weights)
    curves: dict[str, list[Any]] = {"z": [], "entropy": [], "chi": []}
    own = [0, *classes.distinct_tokens(n)]
    first, *others = 1 + np.flatnonzero(np.array(weights) == max(weights))
    for dyn in dict.fromkeys((texts["dyn"], "true")):
        lr_y, lr_z = float(texts["etaY"]), float(texts["etaZ"])
        if dyn == "law":
            # With the law's own ATOL, 1e-16, LSODA would resolve rounding noise at this RTOL, at ten times the price.
            with patch.multiple(memory, RTOL=1e-10, ATOL=1e-15):
                path = predict(classes, lr_y, lr_z, list(times), optimizer="flow", exact=False)
        else:
            method = "LSODA" if lr_z > 3 * lr_y else "DOP853"  # the faster one, stiff or not
            path = solve(FLOWS[dyn](classes, lr_y, lr_z, model=texts["model"]), list(times), method=method, rtol=1e-11)
        z = path.Z.isel(query=0).sel(token=own).values.T
        c = measures.attention(path.Z.sel(token=classes.coords["token"]), classes)
        curves["z"] += list(z)
        curves["entropy"].append(measures.entropy(c, classes).values[:, n])
        curves["chi"] += [np.exp(2 * z[token]) for token in (first, *(others if dyn == texts["dyn"] else ()))]
        if dyn == texts["dyn"] != "law" and texts["model"] == "plain":  # the law has no B, variants no bounds
            f = classes.compact.probs[n, own] / np.linalg.norm(classes.compact.probs[n])
            B = path.B.values[:, n]
            lower = function_of(formulas.chi_lower, (formulas.f_0, formulas.B_))(f[first], B)
            curves["chi"] += [function_of(formulas.chi_upper, (formulas.B_,))(B), lower]
    return curves


def misses(page: Page, address: str) -> list[str]:
    """The curves and moments that differ from Python's, with the largest relative error of each."""
    got = drawn(page)
    texts = texts_of(address)
    moments = clocks.transition(int(texts["K"]), int(texts["M"]), float(texts["etaY"]))
    found = [f"moments {got['moments']}"] if not np.allclose(got["moments"], moments, rtol=1e-12, atol=0) else []
    times = got["z"][0]
    for kind, curves in expected(address, tuple(times)).items():
        assert got[kind][0] == times
        assert len(got[kind]) == 1 + len(curves)
        for place, (have, want) in enumerate(zip(got[kind][1:], curves, strict=True)):
            off = np.abs(np.array(have, dtype=float) - want)
            if not (off <= RTOL * np.abs(want) + ATOL).all():
                found.append(f"{kind} {place}: {np.max(off / (np.abs(want) + ATOL)):.1e}; {np.max(off):.1e}")
    return found


@pytest.mark.parametrize("address", SETTINGS)
def test_curves_are_pythons(address: str, show: Callable[[str], Page]) -> None:
    assert misses(show(address), address) == []


def numbers_by_python(address: str, t: float) -> list[list[list[float]]]:
    """The columns of the lab's numbers at a time: as printed (Theorem 4), under the dynamics shown, under the gradient.

    The rows are z of the common token, z of the leader, B, chi, its bounds, the entropy, and the percentage of the
    common token's movement that comes after t_0.
    """
    texts = texts_of(address)
    setting = setting_of(address, ROOT)
    K, M, lr_y, lr_z = setting.K, setting.M, setting.lr_y, setting.lr_z
    classes = setting.classes()
    n = int(texts["n"]) - 1
    snap = clocks.transition(K, M, lr_y)[1]
    moments = sorted({t, snap, 40 * snap})
    own = [0, *classes.distinct_tokens(n)]
    leader = 1 + int(np.argmax(setting.weights))
    f_0 = classes.compact.probs[n, own[leader]] / np.linalg.norm(classes.compact.probs[n])
    lower = function_of(formulas.chi_lower, (formulas.f_0, formulas.B_))
    upper = function_of(formulas.chi_upper, (formulas.B_,))

    arguments = (formulas.h_, formulas.M, formulas.K, formulas.eta_Y, formulas.eta_Z)
    Gamma = function_of(formulas.Gamma, arguments)
    printed = {}
    for moment in moments:
        given = Gamma(clocks.h(moment / K, M, lr_y), M, K, lr_y, lr_z), 1 / (K * setting.rho**2)
        printed[moment] = [
            float(function_of(form, (formulas.Gamma_, formulas.C_0))(*given)) for form in (formulas.z_snap, formulas.B)
        ]
    z, B = printed[t]
    later = 100 * (1 - printed[snap][0] / printed[40 * snap][0])
    columns: list[list[list[float]]] = [[[z], [], [B], [lower(f_0, B), upper(B)], [], [], [later]]]

    for dyn in (texts["dyn"], "true"):
        path = solve(FLOWS[dyn](classes, lr_y, lr_z), moments, rtol=1e-11)
        z = path.Z.isel(query=0).sel(token=own).values
        B = float(path.B[moments.index(t), n])
        c = measures.attention(path.Z.sel(token=classes.coords["token"]), classes)
        now = z[moments.index(t)]
        entropy = float(measures.entropy(c, classes)[moments.index(t), n])
        later = 100 * (1 - z[moments.index(snap), 0] / z[-1, 0])
        bounds = [float(lower(f_0, B)), float(upper(B))]
        columns.append([[now[0]], [now[leader]], [B], [np.exp(2 * now[leader])], bounds, [entropy], [later]])
    return columns


def numbers_in(cell: str) -> list[float]:
    """The numbers that a cell of a table holds; a dash stands for none."""
    return [number(text) for text in re.findall(r"−?\d[\d.]*(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", cell)]


@pytest.mark.parametrize("place", [None, 700, 1000])
@pytest.mark.parametrize(
    "address",
    ["K=3&M=10000&rho=0.1&etaY=0.5&dyn=ideal", "K=3&M=10000&w=0.5,1,0.8&rho=0.1&etaZ=0.01&n=2&dyn=update26"],
)
def test_the_numbers_are_pythons(address: str, place: int | None, show: Callable[[str], Page]) -> None:
    """Every cell, at t_0, at a time between the picture's own, which shows the last before it, and at the end."""
    page = show(address)
    times = np.array(drawn(page)["z"][0])
    t = drawn(page)["moments"][1]
    slider = first(page, ".ss-lab-time [type=range]")
    assert slider.input_value() == str(round(1000 * np.log(t / times[0]) / np.log(times[-1] / times[0])))
    if place is not None:
        slider.fill(str(place))
        t = times[0] * (times[-1] / times[0]) ** (place / 1000)
    at = times[times <= t * (1 + 1e-12)][-1]
    rows = first(page, "table >> nth=0").locator("tbody tr").all()
    texts = [row.locator("td").all_inner_texts() for row in rows]
    printed, shown, gradient = numbers_by_python(address, at)
    if place == 700:  # the printed formulas need no solver, and show the time itself
        printed = numbers_by_python(address, t)[0]
    for row, want in zip(texts, zip(printed, shown, gradient, strict=True), strict=True):
        for cell, values in zip(row, want, strict=True):
            assert numbers_in(cell) == pytest.approx(values, rel=6e-3, abs=0.51 if "%" in cell else 0)


def test_the_course_is_the_curves_at_the_books_moments(show: Callable[[str], Page]) -> None:
    page = show("K=3&M=10000&rho=0.1&etaY=0.5&dyn=update26")
    curves = drawn(page)
    scan, snap = curves["moments"]
    rows = first(page, "table >> nth=1").locator("tbody tr").all()
    for row, t in zip(rows, (scan / 2, scan, snap, 4 * snap, 40 * snap), strict=True):
        at = int(np.argmin(np.abs(np.array(curves["z"][0]) - t)))
        want = [t, *(curve[at] for curve in curves["z"][1:5]), curves["entropy"][1][at], curves["chi"][1][at]]
        cells = row.locator("td").all_text_contents()
        assert [number(cell) for cell in cells] == pytest.approx(want, rel=6e-3, abs=0)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("dyn=sgd&T=8&B=1&seed=2", "it turns round"),  # up first, then down
        ("dyn=sgd&T=16&B=1&seed=4", "it turns round"),  # back towards 0
        ("dyn=sgd&T=inf&B=1&seed=0", "%"),
        ("dyn=sgd&T=inf&B=1024&etaY=0.1&etaZ=0.001", "–"),  # drawn as far as four million samples reach
    ],
)
def test_a_movement_has_a_share_after_t0_where_it_does_not_turn(
    address: str, said: str, show: Callable[[str], Page]
) -> None:
    page = show(address)
    curves = drawn(page)
    snap = curves["moments"][1]
    z = {t: value for t, value in zip(curves["z"][0], curves["z"][1], strict=True) if value is not None}
    assert (max(z) < 39 * snap) == (said == "–")
    assert ("SGD is drawn up to t = " in first(page, ".ss-lab-status").inner_text()) == (said == "–")
    cell = first(page, "table >> nth=0").locator("tbody tr >> nth=-1").locator("td >> nth=1").inner_text()
    share = 100 * (1 - z[max(t for t in z if t <= snap)] / z[max(z)])
    assert said in cell
    assert (0 <= share <= 100) == (said == "%") or said == "–"
    if said == "%":
        assert numbers_in(cell) == pytest.approx([share], abs=0.51)


SEEDS = 300
SGD = {"K": 3, "M": 30, "rho": 0.2, "w": [1, 0.5], "etaY": 1, "etaZ": 2, "T": 6, "B": 16, "dyn": "sgd"}


def test_sgd_has_the_engines_distribution(show: Callable[[str], Page]) -> None:
    """z after as many updates as t_0 takes and four times as many, of each token: tests of two samples."""
    classes = with_overlap(3, 30, 0.2, distinct_weights=[1, 0.5])
    marks = dynamics.moments(classes, 1.0)[2:4]
    run = train(
        classes, lr_y=1.0, lr_z=2.0, steps=marks[-1], seeds=range(SEEDS), batch_size=16, seq_len=6, record=marks
    )
    theirs = run.Z.isel(rate=0, query=0).transpose("seed", "recorded", "token").values
    ours = np.array(
        show("").evaluate(
            """([settings, seeds]) => {
          const { core } = document.querySelector('.ss-lab').lab;
          const system = core.withOverlap(settings);
          const times = core.moments(settings).all.slice(2, 4).map(Math.round);
          return Array.from({ length: seeds }, (_, seed) => {
            const { z } = [...core.trainingPath(system, { ...settings, seed }, times)].at(-1);
            return times.map((_, i) => Array.from(z.slice(i * system.L, (i + 1) * system.L)));
          });
        }""",
            [SGD, SEEDS],
        )
    )
    assert ours.shape == theirs.shape
    for test in (stats.ks_2samp, stats.levene):  # of the distribution, and of its spread
        assert test(ours, theirs, axis=0).pvalue.min() > 1e-3


def test_sgd_streams_into_the_picture(show: Callable[[str], Page]) -> None:
    page = show("dyn=sgd&T=inf&B=2&seed=3")
    got = drawn(page)
    assert all(float(t).is_integer() for t in got["z"][0])
    assert None not in got["z"][1]
    again = drawn(show("dyn=sgd&T=inf&B=2&seed=3"))
    assert got["z"][1] == again["z"][1]
    assert got["z"][1] != drawn(show("dyn=sgd&T=inf&B=2&seed=4"))["z"][1]
