"""Train the runs of one seed of Fig. 6 as one would write them in JAX, to be timed.

It needs JAX and NumPy alone, and no other module of this repository. ``python jax_training.py
FILE`` reads what :mod:`tools.benchmarks.beside_jax` wrote, with the samples ready-made. For each
line that it reads it trains all runs, and writes the CPU seconds, each run's last loss and JAX's
version, as JSON.
"""

import json
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

MOMENTUM = 0.9


def loss(weights, classes, q, query_row, target):
    """Compute -J of a batch: ``classes`` (B,) and their token frequencies ``q`` (B, L).

    ``weights`` are Y, shape (L, M), and Z, shape (Q, L).
    """
    Y, Z = weights
    z = Z[query_row[classes]]
    # Attention is in proportion to q exp(z); a token that the sequence doesn't hold gets none.
    held = jnp.where(q > 0, z, -jnp.inf)
    b = q * jnp.exp(held - held.max(axis=1, keepdims=True))
    f = b / jnp.linalg.norm(b, axis=1, keepdims=True)
    log_probs = jax.nn.log_softmax(f @ Y)
    return -jnp.take_along_axis(log_probs, target[classes][:, None], axis=1).mean()


def train(lr_y, lr_z, Y, Z, classes, q, query_row, target):
    """Train one run by SGD with momentum on ``classes`` (steps, B) and ``q`` (steps, B, L).

    Returns the losses before each step, in nats, shape (steps,).
    """

    def step(state, batch):
        weights, velocity = state
        value, gradient = jax.value_and_grad(loss)(weights, *batch, query_row, target)
        velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocity, gradient)
        moved = (weights[0] - lr_y * velocity[0], weights[1] - lr_z * velocity[1])
        return (moved, velocity), value

    start = (Y, Z), (jnp.zeros_like(Y), jnp.zeros_like(Z))
    return jax.lax.scan(step, start, (classes, q))[1]


def main() -> None:
    """Compile, then train once for each line."""
    given = {name: jnp.asarray(value) for name, value in np.load(sys.argv[1]).items()}
    rates = given.pop("lr_y"), given.pop("lr_z")
    all_runs = jax.jit(jax.vmap(partial(train, **given)))
    for _ in sys.stdin:
        start = time.process_time()
        losses = np.asarray(all_runs(*rates))
        seconds = time.process_time() - start
        answer = {
            "seconds": seconds,
            "losses": losses[:, -1].tolist(),
            "version": jax.__version__,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
