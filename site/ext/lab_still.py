"""The lab's still picture, for readers without JavaScript: the paper's law (10) beside the true
gradient.
"""

import hashlib
import io
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.theory import clocks, flows
from scansnap_core.theory.solving import solve

POINTS = 120


@dataclass(frozen=True)
class Setting:
    """A picture depends on these fields, named as :func:`with_overlap` and :func:`dynamics.compare`
    name it.
    """

    K: int
    M: int
    weights: tuple[float, ...]
    rho: float
    lr_y: float
    lr_z: float
    model: str = "plain"

    def classes(self) -> SequenceClasses:
        """Return the class system, or raise BadInput."""
        return with_overlap(self.K, self.M, self.rho, distinct_weights=self.weights)

    def digest(self) -> str:
        """Return a name for the picture's file."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


def still_svg(setting: Setting) -> tuple[str, str]:
    """Draw the picture as SVG, and describe it in words."""
    classes = setting.classes()
    t_0_prime, t_0 = clocks.transition(setting.K, setting.M, setting.lr_y)
    times = np.geomspace(t_0_prime / 100, 40 * t_0, POINTS)
    paths = {
        name: solve(
            flow(classes, setting.lr_y, setting.lr_z, model=setting.model),
            times,
            rtol=1e-7,
            atol=1e-12,
        ).Z
        for name, flow in (
            ("the paper's law (10)", flows.IdealisedFlow),
            ("true gradient flow", flows.TrueFlow),
        )
    }
    paths = {name: Z.sel(token=classes.coords["token"]).values[:, 0] for name, Z in paths.items()}
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, z), style in zip(paths.items(), ("-", "--"), strict=True):
        for token in range(len(setting.weights) + 1):
            label = (
                f"{'distinct tokens' if token else 'common token'}, {name}" if token < 2 else None
            )
            colour = "C0" if token else "C1"
            axes.plot(
                times, z[:, token], style, color=colour, alpha=1 if token < 2 else 0.5, label=label
            )
    for time, name in ((t_0_prime, "$t_0'$"), (t_0, "$t_0$")):
        axes.axvline(time, color="grey", linewidth=0.8)
        axes.annotate(name, (time, 1.01), xycoords=("data", "axes fraction"), ha="center")
    axes.set(xscale="log", xlabel="t, in steps of batch size 1", ylabel="attention logits z")
    axes.legend(fontsize=8)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "lab", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    ends = [f"{z[-1, 0]:.2g}".replace("-", "−") for z in paths.values()]
    with_model = "" if setting.model == "plain" else f", model {setting.model}"
    words = (
        f"Attention logits of a class's tokens over time for K = {setting.K}, M = {setting.M}, ρ "
        f"= {setting.rho:g}, η_Y = {setting.lr_y:g}, η_Z = {setting.lr_z:g}{with_model}; t₀′ = "
        f"{t_0_prime:.3g}, t₀ = {t_0:.3g}. At 40 t₀ the common token has fallen to {ends[0]} by "
        f"the paper's law (10) and to {ends[1]} under the true gradient flow."
    )
    return buffer.getvalue(), words
