"""Examples of the lstm family: cells with and without their optional parts."""

from typing import TYPE_CHECKING

from nnapi_shim.operations.lstm import ACTIVATIONS, DIRECTION_STATES
from nnapi_shim.operations.lstm_cell import (
    STATES,
    aux_names,
    bias_names,
    gain_names,
    input_names,
    peephole_names,
    projection_names,
    recurrent_names,
)
from tests.operations.plans.common import DEPTHS, SIZES, Plan, Random, pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.operations.cases import Use

CLIPS = (0.0, 0.25, 1.5)
LINKS = ("none", "parallel", "cross")


def parameters(
    rng: Random,
    batch: int,
    input_size: int,
    is_coupled: bool,
    prefix: str = "",
    states: "Sequence[str]" = STATES,
) -> Plan:
    """Dimensions of the operands of a cell, None for those that are omitted."""
    units = outputs = pick(rng, SIZES)
    plan: Plan = dict.fromkeys(input_names(prefix), (units, input_size))
    has_projection, has_bias, has_peephole, has_gains = (bool(bit) for bit in rng.integers(0, 2, 4))
    if has_projection:
        outputs = pick(rng, SIZES)
    weights, bias = projection_names(prefix)
    plan |= dict.fromkeys(recurrent_names(prefix), (units, outputs))
    plan |= dict.fromkeys(peephole_names(prefix), (units,) if has_peephole else None)
    plan |= dict.fromkeys(bias_names(prefix), (units,))
    plan |= dict.fromkeys(gain_names(prefix), (units,) if has_gains else None)
    plan[weights] = (outputs, units) if has_projection else None
    plan[bias] = (outputs,) if has_projection and has_bias else None
    if is_coupled:
        for names in (input_names, recurrent_names, peephole_names, bias_names, gain_names):
            plan[names(prefix)[0]] = None
    plan[prefix + states[0]] = (batch, outputs)
    plan[prefix + states[1]] = (batch, units)
    return plan


def scalars(rng: Random) -> Plan:
    """The activation and the bounds of the states."""
    cell_clip, proj_clip = rng.choice(CLIPS, 2).tolist()
    activation = pick(rng, list(ACTIVATIONS))
    return {"activation": activation, "cell_clip": cell_clip, "proj_clip": proj_clip}


def single(use: "Use", rng: Random, batch: int) -> Plan:
    """One step."""
    size = pick(rng, DEPTHS)
    plan = parameters(rng, batch, size, bool(rng.integers(2)))
    return plan | scalars(rng) | {"input": (batch, size)}


def sequence(use: "Use", rng: Random, batch: int) -> Plan:
    """Up to four steps, in either layout."""
    size, leading, time_major = pick(rng, DEPTHS), *_leading(rng, batch)
    plan = parameters(rng, batch, size, bool(rng.integers(2)))
    return plan | scalars(rng) | {"input": (*leading, size), "time_major": time_major}


def both(use: "Use", rng: Random, batch: int) -> Plan:
    """As `sequence`, with all kinds of linking; there is no cross linking of coupled gates."""
    size, leading, time_major = pick(rng, DEPTHS), *_leading(rng, batch)
    link, is_coupled = str(rng.choice(LINKS)), bool(rng.integers(2))
    if link == "cross":
        is_coupled = False
    backward_size = pick(rng, DEPTHS) if link == "parallel" else size
    plan = scalars(rng) | {
        "input": (*leading, size),
        "aux_input": None if link == "none" else (*leading, backward_size),
        "time_major": time_major,
        "merge_outputs": len(use.outputs) in (1, 5),
    }
    for prefix, source_size in (("fw_", size), ("bw_", backward_size)):
        plan |= parameters(rng, batch, source_size, is_coupled, prefix, DIRECTION_STATES)
        units = plan[input_names(prefix)[-1]][0]
        plan |= dict.fromkeys(aux_names(prefix), (units, size) if link == "cross" else None)
    return plan


def _leading(rng: Random, batch: int) -> tuple[tuple[int, int], bool]:
    """The first two dimensions of a sequence, and whether the first one is time."""
    steps, time_major = pick(rng, range(1, 5)), bool(rng.integers(2))
    return ((steps, batch) if time_major else (batch, steps)), time_major


PLANS = {
    "LSTM": single,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence,
    "BIDIRECTIONAL_SEQUENCE_LSTM": both,
}
AMPLITUDE = dict.fromkeys(PLANS, 0.5)
