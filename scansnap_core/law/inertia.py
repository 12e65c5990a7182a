"""SGD with momentum as a motion with a mass, m θ'' + θ' = eta g, to second order in the rates.

One update v <- mu v + g, θ <- θ + eta v is exactly one step h = 1/(1 - mu) of the central
differences

    m (θ_+ - 2 θ + θ_-)/h² + (θ_+ - θ_-)/(2 h) = eta g,    m = (1 + mu)/(2 (1 - mu)²).

So the mass is the only first-order term of the equation. The start adds no other one if the motion
begins at (1 - mu)/(1 + mu) times the flow's velocity: there the lag m (1 - share) is that of
momentum's clock, mu/(1 - mu)².

Where m is short against the time in which g changes, the motion shrinks to the modified equation
θ' = eta g - m D(eta g) eta g; with mu = 0, so m = 1/2, that is plain SGD's.

Clock: t in steps of batch size 1 without momentum; s updates with momentum take t = s/(1 - mu).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import elementwise

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import checked_numbers
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.law import many_classes
from scansnap_core.law.log_tau import Motion
from scansnap_core.law.memory import Law
from scansnap_core.theory.flows import Flow, TrueFlow
from scansnap_core.theory.formulas import mu
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.solving import IntegrationFailed

if TYPE_CHECKING:
    import torch

mass = (1 + mu) / (2 * (1 - mu) ** 2)
"""The mass m counts in steps of batch size 1 without momentum."""
share = (1 - mu) / (1 + mu)
"""The motion starts at this share of the flow's velocity."""
ONE_BY_ONE = 8
"""The number of first updates that are made one by one; after them a sum is near an integral."""
HEAVIEST = 1e12
""":func:`plateau` still has ten digits at this mass."""
mass_of = function_of(mass, (mu,))
_share_of = function_of(share, (mu,))


class InertialFlow(Flow):
    """m θ'' + θ' = eta g of the true gradient at T = infinity, for Y and Z at once.

    The rates are those of the updates. The state packs Y, Z and B of
    :class:`~scansnap_core.theory.flows.TrueFlow`, then their velocities. It begins at the share
    (1 - mu)/(1 + mu) of the flow's velocity; then it lags behind the flow as far as momentum does
    in the end.
    """

    name = "true flow with a mass"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, *, momentum: float
    ) -> None:
        """Lay out the state: each part of the true flow's, then its velocity."""
        self.momentum = checked_momentum(momentum, "momentum")
        self.mass = float(mass_of(self.momentum))
        self._true = TrueFlow(classes, lr_y, lr_z)
        # Each part of the true flow's state is joined by its velocity.
        names = tuple(self._true.shapes)
        super().__init__(
            classes,
            lr_y,
            lr_z,
            names + tuple(map("velocity_{}".format, names)),
            self._true.class_weight,
        )

    def initial(self, Z: ArrayLike | None = None, Y: ArrayLike | None = None) -> Floats:
        """Return the packed state at t = 0: the flow's own, then its velocities times the share
        (1 - mu)/(1 + mu).
        """
        state = super().initial(Z, Y)
        place, velocity = np.split(state, 2)
        velocity[:] = _share_of(self.momentum) * self._true.rhs(0.0, place)
        return state

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state: θ' is the velocity, and m θ'' = eta g - θ'."""
        place, velocity = np.split(state, 2)
        return np.concatenate([velocity, (self._true.rhs(t, place) - velocity) / self.mass])


class ReducedFlow(TrueFlow):
    """The modified equation of SGD, θ' = eta g - m D(eta g) eta g, to first order in the rates.

    It is for SGD with momentum or without.
    """

    name = "modified equation"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, *, momentum: float = 0.0
    ) -> None:
        self.mass = float(mass_of(checked_momentum(momentum, "momentum")))
        super().__init__(classes, lr_y, lr_z)

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state, eta g - m D(eta g) eta g."""
        import torch

        from scansnap_core.engine.surroundings import undisturbed

        change = super().rhs(t, state)
        # Of Y and Z, autograd finds the derivative of eta g in the direction eta g, which is a
        # product of a Jacobian with a vector; the Jacobian itself isn't built.
        with undisturbed():
            place = [torch.tensor(part, device="cpu") for part in self.unpack(state)[:2]]
            pushed = [torch.tensor(part, device="cpu") for part in self.unpack(change)[:2]]
            _, turn = torch.autograd.functional.jvp(self._update, tuple(place), tuple(pushed))
        for part, bent in zip(self.unpack(change), turn, strict=False):
            part -= self.mass * bent.numpy()
        return change

    def _update(self, Y: torch.Tensor, Z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute eta g of Y and of Z."""
        from scansnap_core.engine import variants

        found = variants.plain(self._batch, Y, Z)
        return self.lr_y * found.Y, self.lr_z * found.Z


S = TypeVar("S")


class InertialLaw(Generic[S]):
    """The law in steps of finite size: SGD, with momentum or without.

    After s updates momentum has added up the force of update j with the weight
    (1 - mu^(s - j))/(1 - mu). The law takes that sum as an integral. Two corrections keep it exact
    to second order:

    - the weight becomes 1 - kappa mu^(s - j - 1/2) with kappa = mu ln(1/mu)/(1 - mu), so that a
      constant force moves the law exactly as far as the updates,
    - each force is that of half an update before.

    Together these are the mass: mu/(1 - mu)² + 1/(2 (1 - mu)) = (1 + mu)/(2 (1 - mu)²). The first
    updates are made one by one.

    Parameters
    ----------
    law, momentum
        The law, of endless sequences or at finite T, or another motion; and mu, 0 for plain SGD.
    pace
        eta_Y/K of the updates: the tau of one of them without momentum.
    one_by_one
        How many first updates are made one by one.
    """

    def __init__(
        self, law: Motion[S], momentum: float, pace: float, *, one_by_one: int = ONE_BY_ONE
    ) -> None:
        """Compute the tau of one update, and the share of a force that acts later."""
        self.law = law
        self.one_by_one = one_by_one
        self.momentum = checked_momentum(momentum, "momentum")
        self.pace = pace
        self.update = pace / (1 - momentum)
        """The tau that one update takes."""
        # This is kappa, the share of a force that acts later.
        self._lagging = float(special.entr(momentum) / (1 - momentum))

    def path(self, taus: Floats) -> Iterator[S]:
        """Yield the states at ascending taus = eta_Y t/K above 0, one for each.

        Up to ``one_by_one`` updates they lie on lines between the updates' states; from there on
        the motion is integrated, in ln tau. Rates so large that an update isn't finite raise
        IntegrationFailed.
        """
        law = self.law
        begin = self.one_by_one * self.update
        early, later = np.split(taus, [np.count_nonzero(taus <= begin)])

        # The states before and after update number s. Between them the path is a line.
        updates = self._updates()
        after, speed = next(updates)
        before = 0 * after
        s = 1
        for count in early / self.update:
            while s < count:
                before = after
                after, speed = next(updates)
                s += 1
            yield law.unpack(before + (count - s + 1) * (after - before))
        if not later.size:
            return

        # From the last update that is made by itself the motion is integrated.
        for _ in range(self.one_by_one - s):
            after, speed = next(updates)
        if self.momentum:
            coasting = self._lagging * (1 - self.momentum) * speed
            yield from law.along(self._rhs, begin, later, np.concatenate([after, coasting]))
        elif isinstance(law, Law) and law.is_split:
            path = many_classes.path(law, later, law.unpack(after), begin, self.update)
            yield from cast("Iterator[S]", path)
        else:
            yield from law.along(self._plain, begin, later, after)

    def _updates(self) -> Iterator[tuple[Floats, Floats]]:
        """Make updates one by one from zero; yield the packed state after each, and the velocity in
        units of the pace.

        An update that isn't finite raises IntegrationFailed.
        """
        speed = self.law.start(1.0)
        place = self.law.start(self.pace)
        for s in itertools.count(1):
            yield place, speed
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                speed = self.momentum * speed + self.law.rate(place)
                place = place + self.pace * speed
            if not np.isfinite(place).all():
                raise self._ran_away(s)

    def _ran_away(self, updates: int) -> IntegrationFailed:
        """Say that the state after this many updates is the last finite one."""
        tau = updates * self.update
        text = (
            f"{self.law.failed(float(np.log(tau)))} only: the next update isn't finite; use "
            "smaller rates"
        )
        return IntegrationFailed(text, tau)

    def _plain(self, log_tau: float, place: Floats) -> Floats:
        """Compute d(state)/d(ln tau) of plain SGD from a packed state: its rate is that of half an
        update before, which it finds to first order.
        """
        law = self.law
        before = place - self.update / 2 * law.rate(place)
        return np.asarray(np.exp(log_tau) * law.rate(before))

    def _rhs(self, log_tau: float, moving: Floats) -> Floats:
        """Compute d(state)/d(ln tau) of SGD with momentum; ``moving`` packs the state and its
        coasting part.

        Of each force, the share 1 - kappa moves the state at once. The coasting part is a velocity
        per unit of tau, what past forces still add: it goes to the share kappa of the present
        force, and the difference falls as mu^s with s updates.
        """
        place, coasting = np.split(moving, 2)
        law = self.law
        kappa = self._lagging
        slowing = -np.log(self.momentum) / self.update  # per unit of tau

        # The state half an update before, by two terms of a Taylor series.
        now = law.rate(place)
        before = place - self.update / 2 * ((1 - kappa) * now + coasting)
        before += self.update**2 / 8 * slowing * (kappa * now - coasting)
        force = law.rate(before)
        velocity = (1 - kappa) * force + coasting
        gain = slowing * (kappa * force - coasting)
        return np.asarray(np.exp(log_tau) * np.concatenate([velocity, gain]))


def plateau(mass: ArrayLike, vocab_size: ArrayLike) -> Floats:
    """Compute the evidence A at which a class comes to rest for a long time.

    It overshoots ln M, by more the larger the mass is. A class alone gathers a by m a'' + a' = 1 -
    alpha. While 1 - alpha is 1, a is momentum's clock; its impulse carries a on to the time A that
    this took: A - m (1 - exp(-A/m)) = (1 - 1/M) ln M. A is near sqrt(2 m ln M) for m >> ln M. The
    mass is in units of tau = eta_Y t/K, so eta_Y/K times :data:`mass`.

    Examples
    --------
    >>> plateau([20.0, 1000.0], vocab_size=1000).round(2)
    array([ 19.27, 119.83])
    """
    tiny = float(np.nextafter(0, 1))
    m = checked_numbers(
        "mass", mass, least=tiny, rule="a mass is positive and finite", remedy="pass e.g. 10.0"
    )
    if (m > HEAVIEST).any():
        raise BadInput(
            f"mass = {m.max():g}", f"a mass is at most {HEAVIEST:g}", "use the limit sqrt(2 m ln M)"
        )
    M = checked_numbers(
        "vocab_size", vocab_size, least=2, rule="M is finite and at least 2", remedy="pass e.g. 100"
    )
    goal = (1 - 1 / M) * np.log(M)

    def missing(A: Floats, m: Floats, goal: Floats) -> Floats:
        """Compute by how much the equation for A isn't met; it grows with A."""
        return A + m * special.expm1(-A / m) - goal

    # The root lies between these two ends.
    found = elementwise.find_root(
        missing, (goal, goal + 2 * np.sqrt(2 * m * goal) + 2 * goal), args=(m, goal)
    )
    return np.asarray(found.x)
