# The front door, by task. Each heading is one of the code page's.

# -- Classes and data sets
from .data.sequences import SequenceClasses as SequenceClasses
from .data.audit import audit as audit
from .data.datasets import syn_small as syn_small
from .data.datasets import syn_medium as syn_medium
from .data.datasets import syn_large as syn_large
from .data.datasets import with_overlap as with_overlap

# -- Training
from .engine.training import train as train
from .engine.training import TrainingDiverged as TrainingDiverged

# -- Flows: the paper's law (10), update (26), the true gradient
from .theory.solving import solve as solve
from .theory.flows import IdealisedFlow as IdealisedFlow
from .theory.flows import ModifiedFlow as ModifiedFlow
from .theory.flows import TrueFlow as TrueFlow
from .theory.sampling import FiniteLengthFlow as FiniteLengthFlow
from .theory.solving import IntegrationFailed as IntegrationFailed

# -- Our law (drift, memory, sampling)
from .law.predicting import predict as predict
from .law.expected_error import PredictionOutOfRange as PredictionOutOfRange
from . import law as law

# -- Measures of a training or a flow
from .theory.quantities import theory_of as theory_of
from .theory.measures import attention as attention
from .theory.measures import entropy as entropy
from .theory.measures import recall as recall
from .theory.measures import relative_gain as relative_gain

# -- Closed forms
from .theory import formulas as formulas
from .theory.functions import function_of as function_of
from .theory.clocks import h as h
from .theory.clocks import h_star as h_star
from .theory.clocks import omega as omega
from .theory.clocks import transition as transition

# -- Pictures
from . import pictures as pictures
from . import plots as plots

# -- Bad input
from .base.bad_input import BadInput as BadInput

__all__: list[str]
__version__: str
