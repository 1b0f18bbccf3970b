"""Examples of the rnn family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import SIZES, Plan, Random, pick

if TYPE_CHECKING:
    from tests.operations.cases import Use


def _activation(rng: Random) -> int:
    return pick(rng, (0, 1, 2, 3, 4, 6))


def rnn(use: "Use", rng: Random, batch: int) -> Plan:
    """A single step."""
    size, units = pick(rng, SIZES), pick(rng, SIZES)
    return {
        "input": (batch, size),
        "weights": (units, size),
        "recurrent_weights": (units, units),
        "bias": (units,),
        "hidden_state_in": (batch, units),
        "activation": _activation(rng),
    }


def _leading(time_major: int, batch: int, rng: Random) -> tuple[int, int]:
    """The dimensions of a sequence in front of the size of its items."""
    steps = pick(rng, (1, 2, 5))
    return (steps, batch) if time_major else (batch, steps)


def sequence(use: "Use", rng: Random, batch: int) -> Plan:
    """A few steps."""
    plan = rnn(use, rng, batch)
    plan["time_major"] = pick(rng, (0, 1))
    plan["input"] = (*_leading(plan["time_major"], batch, rng), plan["input"][1])
    return plan


def bidirectional(use: "Use", rng: Random, batch: int) -> Plan:
    """A few steps, with all kinds of linking; outputs are merged where there is one for both."""
    size, aux_size = pick(rng, SIZES), pick(rng, SIZES)
    forward, backward = pick(rng, SIZES), pick(rng, SIZES)
    time_major = bool(rng.integers(2))
    leading = _leading(time_major, batch, rng)
    linking = str(rng.choice(("none", "parallel", "cross")))
    return {
        "input": (*leading, size),
        "fw_weights": (forward, size),
        "fw_recurrent_weights": (forward, forward),
        "fw_bias": (forward,),
        "fw_hidden_state": (batch, forward),
        "bw_weights": (backward, aux_size if linking == "parallel" else size),
        "bw_recurrent_weights": (backward, backward),
        "bw_bias": (backward,),
        "bw_hidden_state": (batch, backward),
        "aux_input": None if linking == "none" else (*leading, aux_size),
        "fw_aux_weights": (forward, aux_size) if linking == "cross" else None,
        "bw_aux_weights": (backward, aux_size) if linking == "cross" else None,
        "activation": _activation(rng),
        "time_major": time_major,
        "merge_outputs": len(use.outputs) in (1, 3),
    }


def svdf(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and memory."""
    size, units, rank = pick(rng, SIZES), pick(rng, SIZES), pick(rng, (1, 1, 2, 3))
    filters, memory = units * rank, pick(rng, (1, 2, 5, 10))
    return {
        "input": (batch, size),
        "weights_feature": (filters, size),
        "weights_time": (filters, memory),
        "bias": (units,) if rng.integers(2) else None,
        "state_in": (batch, memory * filters),
        "rank": rank,
        "activation": pick(rng, range(7)),
    }


PLANS = {
    "RNN": rnn,
    "UNIDIRECTIONAL_SEQUENCE_RNN": sequence,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional,
    "SVDF": svdf,
}
AMPLITUDE = dict.fromkeys(PLANS, 0.5)
"""Small enough for a recurrence without activation not to grow."""
