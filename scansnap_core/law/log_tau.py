"""Motions that are integrated in ln tau: what happens spreads over many powers of ten of tau.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from scansnap_core.data.sequences import Floats
from scansnap_core.theory.solving import IntegrationFailed, integrated

MOST_RATES = 20_000
"""The most evaluations of a rate of change in one path. Few paths take 3,000. Where attention has
run away, as in sequences far too short for the law, there is no end to them.
"""
START = 1e-4
"""Integration begins at this tau, or at this share of the first tau asked for. Until then errors
are 1 - 1/M.
"""

S = TypeVar("S")


class Motion(ABC, Generic[S]):
    """How a packed state moves with tau, and what its parts are.

    :class:`~scansnap_core.law.memory.Law` is one.
    """

    @abstractmethod
    def start(self, tau: float) -> Floats:
        """Return the packed state after an update from zero that takes ``tau``."""

    @abstractmethod
    def rate(self, packed: Floats) -> Floats:
        """Compute d(state)/dtau of a packed state."""

    @abstractmethod
    def unpack(self, state: Floats) -> S:
        """Return the parts of a packed state; further numbers may follow the state's own."""

    @abstractmethod
    def failed(self, log_tau: float) -> str:
        """Write how far it could be integrated."""

    @abstractmethod
    def tolerances(self) -> tuple[float, float]:
        """Return the solver's relative and absolute tolerance."""

    def path(self, taus: Floats) -> list[S]:
        """Compute the states of the gradient flow at ascending taus above 0, one for each.

        Rates per unit of tau are multiplied by dtau/d(ln tau) = tau. As ln 0 isn't a number, it
        begins at a small tau (``first_tau``), at the state that the first step of size tau leads
        to.
        """
        begin = first_tau(taus)
        return self.along(
            lambda x, packed: np.exp(x) * self.rate(packed), begin, taus, self.start(begin)
        )

    def along(
        self,
        rhs: Callable[[float, Floats], Floats],
        begin: float,
        taus: Floats,
        start: Floats,
    ) -> list[S]:
        """Integrate d(state)/d(ln tau), and return the states at ascending taus.

        Parameters
        ----------
        rhs
            The derivative by ln tau of a packed state, called with ln tau and the state.
        begin, start
            The tau at which integration begins, and the packed state there. Numbers may follow the
            state's own, such as velocities; they are integrated and left out of what is returned.
        taus
            The taus asked for.

        Raises
        ------
        ~scansnap_core.IntegrationFailed
            Its ``last`` is a tau, and its ``reached`` are the states before it.
        """
        rtol, atol = self.tolerances()
        # The law is stiff where memory holds attention, and large on real text. CVODE minds
        # neither.
        try:
            found = integrated(
                rhs,
                np.log(begin),
                np.log(taus),
                start,
                failed=self.failed,
                method="CVODE",
                most_rates=MOST_RATES,
                rtol=rtol,
                atol=atol,
            )
        except IntegrationFailed as error:
            # The solver knows ln tau and packed states; callers know tau and states.
            if error.last is not None:
                error.last = float(np.exp(error.last))
            if error.reached is not None:
                error.reached = [self.unpack(packed) for packed in error.reached]
            raise
        return [self.unpack(packed) for packed in found]


def first_tau(taus: Floats) -> float:
    """Return the tau at which an integration up to ascending taus begins."""
    return START * min(float(taus[0]), 1.0)
