"""Operations of the family lstm; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Bool,
    Calling,
    CellActivation,
    Float,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class LstmMethods(Calling):
    """LSTM, BIDIRECTIONAL_SEQUENCE_LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM."""

    def lstm(
        self,
        input: Given,
        *,
        input_to_input_weights: Given | None = None,
        input_to_forget_weights: Given,
        input_to_cell_weights: Given,
        input_to_output_weights: Given,
        recurrent_to_input_weights: Given | None = None,
        recurrent_to_forget_weights: Given,
        recurrent_to_cell_weights: Given,
        recurrent_to_output_weights: Given,
        cell_to_input_weights: Given | None = None,
        cell_to_forget_weights: Given | None = None,
        cell_to_output_weights: Given | None = None,
        input_gate_bias: Given | None = None,
        forget_gate_bias: Given,
        cell_bias: Given,
        output_gate_bias: Given,
        projection_weights: Given | None = None,
        projection_bias: Given | None = None,
        output_state_in: Given,
        cell_state_in: Given,
        activation: CellActivation = "TANH",
        cell_clip: Float = 0.0,
        proj_clip: Float = 0.0,
        input_layer_norm_weights: Given | None = None,
        forget_layer_norm_weights: Given | None = None,
        cell_layer_norm_weights: Given | None = None,
        output_layer_norm_weights: Given | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand, Operand, Operand]:
        """The operation LSTM.

        One step of a cell: cell_state_out = f * cell_state_in + i * g and output = projection(o *
        act(cell_state_out)), the gates i, f, g, o from the input and output_state_in.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        recurrent_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        recurrent_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        recurrent_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        recurrent_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        forget_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        output_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        projection_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        projection_bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        output_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        activation: that of the cell.
        cell_clip: FLOAT32, FLOAT16 (level 3).
        proj_clip: FLOAT32, FLOAT16 (level 3).
        input_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        forget_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        cell_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        output_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        dimensions: of the output, where more is known than follows.

        Gives scratch (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)); output_state_out (TENSOR_FLOAT32,
        TENSOR_FLOAT16 (level 3)); cell_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)); output
        (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)). Dimensions: the first output is scratch: room
        for the gates that are computed.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 2)
        - The activation is one that cells have.
        - Bounds are not negative.
        - The cell of an LSTM.
        """
        scratch, output_state_out, cell_state_out, output = self._several(
            OperationType.LSTM,
            {
                "input": input,
                "input_to_input_weights": input_to_input_weights,
                "input_to_forget_weights": input_to_forget_weights,
                "input_to_cell_weights": input_to_cell_weights,
                "input_to_output_weights": input_to_output_weights,
                "recurrent_to_input_weights": recurrent_to_input_weights,
                "recurrent_to_forget_weights": recurrent_to_forget_weights,
                "recurrent_to_cell_weights": recurrent_to_cell_weights,
                "recurrent_to_output_weights": recurrent_to_output_weights,
                "cell_to_input_weights": cell_to_input_weights,
                "cell_to_forget_weights": cell_to_forget_weights,
                "cell_to_output_weights": cell_to_output_weights,
                "input_gate_bias": input_gate_bias,
                "forget_gate_bias": forget_gate_bias,
                "cell_bias": cell_bias,
                "output_gate_bias": output_gate_bias,
                "projection_weights": projection_weights,
                "projection_bias": projection_bias,
                "output_state_in": output_state_in,
                "cell_state_in": cell_state_in,
                "activation": activation,
                "cell_clip": cell_clip,
                "proj_clip": proj_clip,
                "input_layer_norm_weights": input_layer_norm_weights,
                "forget_layer_norm_weights": forget_layer_norm_weights,
                "cell_layer_norm_weights": cell_layer_norm_weights,
                "output_layer_norm_weights": output_layer_norm_weights,
            },
            Output(dimensions, name),
            None,
        )
        return scratch, output_state_out, cell_state_out, output

    def bidirectional_sequence_lstm(
        self,
        input: Given,
        *,
        fw_input_to_input_weights: Given | None = None,
        fw_input_to_forget_weights: Given,
        fw_input_to_cell_weights: Given,
        fw_input_to_output_weights: Given,
        fw_recurrent_to_input_weights: Given | None = None,
        fw_recurrent_to_forget_weights: Given,
        fw_recurrent_to_cell_weights: Given,
        fw_recurrent_to_output_weights: Given,
        fw_cell_to_input_weights: Given | None = None,
        fw_cell_to_forget_weights: Given | None = None,
        fw_cell_to_output_weights: Given | None = None,
        fw_input_gate_bias: Given | None = None,
        fw_forget_gate_bias: Given,
        fw_cell_bias: Given,
        fw_output_gate_bias: Given,
        fw_projection_weights: Given | None = None,
        fw_projection_bias: Given | None = None,
        bw_input_to_input_weights: Given | None = None,
        bw_input_to_forget_weights: Given,
        bw_input_to_cell_weights: Given,
        bw_input_to_output_weights: Given,
        bw_recurrent_to_input_weights: Given | None = None,
        bw_recurrent_to_forget_weights: Given,
        bw_recurrent_to_cell_weights: Given,
        bw_recurrent_to_output_weights: Given,
        bw_cell_to_input_weights: Given | None = None,
        bw_cell_to_forget_weights: Given | None = None,
        bw_cell_to_output_weights: Given | None = None,
        bw_input_gate_bias: Given | None = None,
        bw_forget_gate_bias: Given,
        bw_cell_bias: Given,
        bw_output_gate_bias: Given,
        bw_projection_weights: Given | None = None,
        bw_projection_bias: Given | None = None,
        fw_activation_state_in: Given,
        fw_cell_state_in: Given,
        bw_activation_state_in: Given,
        bw_cell_state_in: Given,
        aux_input: Given | None = None,
        fw_aux_input_to_input_weights: Given | None = None,
        fw_aux_input_to_forget_weights: Given | None = None,
        fw_aux_input_to_cell_weights: Given | None = None,
        fw_aux_input_to_output_weights: Given | None = None,
        bw_aux_input_to_input_weights: Given | None = None,
        bw_aux_input_to_forget_weights: Given | None = None,
        bw_aux_input_to_cell_weights: Given | None = None,
        bw_aux_input_to_output_weights: Given | None = None,
        activation: CellActivation = "TANH",
        cell_clip: Float = 0.0,
        proj_clip: Float = 0.0,
        merge_outputs: Bool = False,
        time_major: Bool = False,
        fw_input_layer_norm_weights: Given | None = None,
        fw_forget_layer_norm_weights: Given | None = None,
        fw_cell_layer_norm_weights: Given | None = None,
        fw_output_layer_norm_weights: Given | None = None,
        bw_input_layer_norm_weights: Given | None = None,
        bw_forget_layer_norm_weights: Given | None = None,
        bw_cell_layer_norm_weights: Given | None = None,
        bw_output_layer_norm_weights: Given | None = None,
        output_count: int | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation BIDIRECTIONAL_SEQUENCE_LSTM.

        Two LSTM cells over a sequence, one in the order of time and one against it; every output
        stands at the step that it belongs to.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_recurrent_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_recurrent_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_recurrent_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_recurrent_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_input_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_forget_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_output_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_projection_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_projection_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_recurrent_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_recurrent_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_recurrent_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_recurrent_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_forget_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_output_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_projection_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_projection_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_activation_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_activation_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        aux_input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_aux_input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_aux_input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_aux_input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_aux_input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_aux_input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_aux_input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_aux_input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_aux_input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        activation: that of the cell.
        cell_clip: FLOAT32, FLOAT16.
        proj_clip: FLOAT32, FLOAT16.
        merge_outputs: BOOL.
        time_major: BOOL.
        fw_input_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_forget_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_cell_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        fw_output_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_input_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_forget_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_cell_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        bw_output_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output_count: how many outputs; None for as few as there can be.
        dimensions: of the output, where more is known than follows.

        Gives fw_output (TENSOR_FLOAT32, TENSOR_FLOAT16); bw_output (TENSOR_FLOAT32,
        TENSOR_FLOAT16); fw_activation_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16); fw_cell_state_out
        (TENSOR_FLOAT32, TENSOR_FLOAT16); bw_activation_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16);
        bw_cell_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: the outputs of every step,
        and the states after the last step of each direction.
        Since feature level 3; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 3)
        - The activation is one that cells have.
        - Bounds are not negative.
        - The backward cell has an output of its own unless the outputs are merged.
        - The cells of both directions, and what links them.
        """
        return self._several(
            OperationType.BIDIRECTIONAL_SEQUENCE_LSTM,
            {
                "input": input,
                "fw_input_to_input_weights": fw_input_to_input_weights,
                "fw_input_to_forget_weights": fw_input_to_forget_weights,
                "fw_input_to_cell_weights": fw_input_to_cell_weights,
                "fw_input_to_output_weights": fw_input_to_output_weights,
                "fw_recurrent_to_input_weights": fw_recurrent_to_input_weights,
                "fw_recurrent_to_forget_weights": fw_recurrent_to_forget_weights,
                "fw_recurrent_to_cell_weights": fw_recurrent_to_cell_weights,
                "fw_recurrent_to_output_weights": fw_recurrent_to_output_weights,
                "fw_cell_to_input_weights": fw_cell_to_input_weights,
                "fw_cell_to_forget_weights": fw_cell_to_forget_weights,
                "fw_cell_to_output_weights": fw_cell_to_output_weights,
                "fw_input_gate_bias": fw_input_gate_bias,
                "fw_forget_gate_bias": fw_forget_gate_bias,
                "fw_cell_bias": fw_cell_bias,
                "fw_output_gate_bias": fw_output_gate_bias,
                "fw_projection_weights": fw_projection_weights,
                "fw_projection_bias": fw_projection_bias,
                "bw_input_to_input_weights": bw_input_to_input_weights,
                "bw_input_to_forget_weights": bw_input_to_forget_weights,
                "bw_input_to_cell_weights": bw_input_to_cell_weights,
                "bw_input_to_output_weights": bw_input_to_output_weights,
                "bw_recurrent_to_input_weights": bw_recurrent_to_input_weights,
                "bw_recurrent_to_forget_weights": bw_recurrent_to_forget_weights,
                "bw_recurrent_to_cell_weights": bw_recurrent_to_cell_weights,
                "bw_recurrent_to_output_weights": bw_recurrent_to_output_weights,
                "bw_cell_to_input_weights": bw_cell_to_input_weights,
                "bw_cell_to_forget_weights": bw_cell_to_forget_weights,
                "bw_cell_to_output_weights": bw_cell_to_output_weights,
                "bw_input_gate_bias": bw_input_gate_bias,
                "bw_forget_gate_bias": bw_forget_gate_bias,
                "bw_cell_bias": bw_cell_bias,
                "bw_output_gate_bias": bw_output_gate_bias,
                "bw_projection_weights": bw_projection_weights,
                "bw_projection_bias": bw_projection_bias,
                "fw_activation_state_in": fw_activation_state_in,
                "fw_cell_state_in": fw_cell_state_in,
                "bw_activation_state_in": bw_activation_state_in,
                "bw_cell_state_in": bw_cell_state_in,
                "aux_input": aux_input,
                "fw_aux_input_to_input_weights": fw_aux_input_to_input_weights,
                "fw_aux_input_to_forget_weights": fw_aux_input_to_forget_weights,
                "fw_aux_input_to_cell_weights": fw_aux_input_to_cell_weights,
                "fw_aux_input_to_output_weights": fw_aux_input_to_output_weights,
                "bw_aux_input_to_input_weights": bw_aux_input_to_input_weights,
                "bw_aux_input_to_forget_weights": bw_aux_input_to_forget_weights,
                "bw_aux_input_to_cell_weights": bw_aux_input_to_cell_weights,
                "bw_aux_input_to_output_weights": bw_aux_input_to_output_weights,
                "activation": activation,
                "cell_clip": cell_clip,
                "proj_clip": proj_clip,
                "merge_outputs": merge_outputs,
                "time_major": time_major,
                "fw_input_layer_norm_weights": fw_input_layer_norm_weights,
                "fw_forget_layer_norm_weights": fw_forget_layer_norm_weights,
                "fw_cell_layer_norm_weights": fw_cell_layer_norm_weights,
                "fw_output_layer_norm_weights": fw_output_layer_norm_weights,
                "bw_input_layer_norm_weights": bw_input_layer_norm_weights,
                "bw_forget_layer_norm_weights": bw_forget_layer_norm_weights,
                "bw_cell_layer_norm_weights": bw_cell_layer_norm_weights,
                "bw_output_layer_norm_weights": bw_output_layer_norm_weights,
            },
            Output(dimensions, name),
            output_count,
        )

    def unidirectional_sequence_lstm(
        self,
        input: Given,
        *,
        input_to_input_weights: Given | None = None,
        input_to_forget_weights: Given,
        input_to_cell_weights: Given,
        input_to_output_weights: Given,
        recurrent_to_input_weights: Given | None = None,
        recurrent_to_forget_weights: Given,
        recurrent_to_cell_weights: Given,
        recurrent_to_output_weights: Given,
        cell_to_input_weights: Given | None = None,
        cell_to_forget_weights: Given | None = None,
        cell_to_output_weights: Given | None = None,
        input_gate_bias: Given | None = None,
        forget_gate_bias: Given,
        cell_bias: Given,
        output_gate_bias: Given,
        projection_weights: Given | None = None,
        projection_bias: Given | None = None,
        output_state_in: Given,
        cell_state_in: Given,
        activation: CellActivation = "TANH",
        cell_clip: Float = 0.0,
        proj_clip: Float = 0.0,
        time_major: Bool = False,
        input_layer_norm_weights: Given | None = None,
        forget_layer_norm_weights: Given | None = None,
        cell_layer_norm_weights: Given | None = None,
        output_layer_norm_weights: Given | None = None,
        output_count: int | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation UNIDIRECTIONAL_SEQUENCE_LSTM.

        LSTM over a sequence: every step takes the states that the one before it left.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        input_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        input_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        input_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        input_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        recurrent_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        recurrent_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        recurrent_to_cell_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        recurrent_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_to_input_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_to_forget_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_to_output_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        input_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        forget_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output_gate_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        projection_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        projection_bias: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16.
        activation: that of the cell.
        cell_clip: FLOAT32, FLOAT16.
        proj_clip: FLOAT32, FLOAT16.
        time_major: BOOL.
        input_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        forget_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        cell_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output_layer_norm_weights: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output_count: how many outputs; None for as few as there can be.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16); output_state_out (TENSOR_FLOAT32,
        TENSOR_FLOAT16); cell_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: the output of
        every step, and the states after the last one.
        Since feature level 3; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 3)
        - The activation is one that cells have.
        - The cell of a sequence; the reference looks neither at a projection bias that has no use
          nor, in the operation, at the sign of the bounds.
        """
        return self._several(
            OperationType.UNIDIRECTIONAL_SEQUENCE_LSTM,
            {
                "input": input,
                "input_to_input_weights": input_to_input_weights,
                "input_to_forget_weights": input_to_forget_weights,
                "input_to_cell_weights": input_to_cell_weights,
                "input_to_output_weights": input_to_output_weights,
                "recurrent_to_input_weights": recurrent_to_input_weights,
                "recurrent_to_forget_weights": recurrent_to_forget_weights,
                "recurrent_to_cell_weights": recurrent_to_cell_weights,
                "recurrent_to_output_weights": recurrent_to_output_weights,
                "cell_to_input_weights": cell_to_input_weights,
                "cell_to_forget_weights": cell_to_forget_weights,
                "cell_to_output_weights": cell_to_output_weights,
                "input_gate_bias": input_gate_bias,
                "forget_gate_bias": forget_gate_bias,
                "cell_bias": cell_bias,
                "output_gate_bias": output_gate_bias,
                "projection_weights": projection_weights,
                "projection_bias": projection_bias,
                "output_state_in": output_state_in,
                "cell_state_in": cell_state_in,
                "activation": activation,
                "cell_clip": cell_clip,
                "proj_clip": proj_clip,
                "time_major": time_major,
                "input_layer_norm_weights": input_layer_norm_weights,
                "forget_layer_norm_weights": forget_layer_norm_weights,
                "cell_layer_norm_weights": cell_layer_norm_weights,
                "output_layer_norm_weights": output_layer_norm_weights,
            },
            Output(dimensions, name),
            output_count,
        )
