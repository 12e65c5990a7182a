from __future__ import annotations

import torch

# The programs here are small: a second thread costs more than it gives, and pytest-xdist has taken the cores.
torch.set_num_threads(1)
