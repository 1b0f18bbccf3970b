"""Operations of the family rnn; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Activation,
    Bool,
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class RnnMethods(Calling):
    """RNN, SVDF, BIDIRECTIONAL_SEQUENCE_RNN, UNIDIRECTIONAL_SEQUENCE_RNN."""

    def rnn(
        self,
        input: Given,
        weights: Given,
        recurrent_weights: Given,
        bias: Given,
        hidden_state_in: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation RNN.

        hidden_state_out = output = act(weights * input + recurrent_weights * hidden_state_in +
        bias).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        recurrent_weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        hidden_state_in: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.

        Gives hidden_state_out (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)); output (TENSOR_FLOAT32,
        TENSOR_FLOAT16 (level 3)). Dimensions: those of `hidden_state_in`.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, weights,
          recurrent_weights; rank: 2) These operands are matrices; the reference does not look at
          further dimensions, here 1s. (names: input, weights, recurrent_weights)
        - All operands fit the input [batch, input_size] and the weights [num_units, input_size].
        - The activation is one of these codes. (allowed: 0, 1, 2, 3, 4, 6)
        """
        hidden_state_out, output = self._several(
            OperationType.RNN,
            {
                "input": input,
                "weights": weights,
                "recurrent_weights": recurrent_weights,
                "bias": bias,
                "hidden_state_in": hidden_state_in,
                "activation": activation,
            },
            Output(dimensions, name),
            None,
        )
        return hidden_state_out, output

    def svdf(
        self,
        input: Given,
        weights_feature: Given,
        weights_time: Given,
        state_in: Given,
        rank: Int,
        *,
        bias: Given | None = None,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation SVDF.

        state_in[b,f,:] with its last entry replaced by weights_feature[f] * input[b]; output[b,u] =
        act(bias[u] + sum over the rank filters f of u and all m of state[b,f,m] *
        weights_time[f,m]); state_out is state, moved down by one entry.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        weights_feature: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        weights_time: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        state_in: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        rank: INT32.
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.

        Gives state_out (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)); output (TENSOR_FLOAT32,
        TENSOR_FLOAT16 (level 3)). Dimensions: those of `state_in`, `input`, `weights_feature`,
        `rank`.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, weights_feature,
          weights_time; rank: 2) These operands are matrices; the reference does not look at further
          dimensions, here 1s. (names: input, weights_feature, weights_time)
        - The filters are a multiple of the rank, and all operands fit them.
        - The activation is one of these codes. (allowed: 0, 1, 2, 3, 4, 5, 6)
        """
        state_out, output = self._several(
            OperationType.SVDF,
            {
                "input": input,
                "weights_feature": weights_feature,
                "weights_time": weights_time,
                "state_in": state_in,
                "rank": rank,
                "bias": bias,
                "activation": activation,
            },
            Output(dimensions, name),
            None,
        )
        return state_out, output

    def bidirectional_sequence_rnn(
        self,
        input: Given,
        *,
        fw_weights: Given,
        fw_recurrent_weights: Given,
        fw_bias: Given,
        fw_hidden_state: Given,
        bw_weights: Given,
        bw_recurrent_weights: Given,
        bw_bias: Given,
        bw_hidden_state: Given,
        aux_input: Given | None = None,
        fw_aux_weights: Given | None = None,
        bw_aux_weights: Given | None = None,
        activation: Activation = "NONE",
        time_major: Bool = False,
        merge_outputs: Bool = False,
        output_count: int | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation BIDIRECTIONAL_SEQUENCE_RNN.

        A UNIDIRECTIONAL_SEQUENCE_RNN forward in time, and one backward from the last step to the
        first. aux_input alone is the input of the backward cell; with aux weights, these times it
        are added in both cells. Merged, fw_output is [forward, backward] along the last dimension.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        fw_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        fw_recurrent_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        fw_bias: TENSOR_FLOAT16, TENSOR_FLOAT32.
        fw_hidden_state: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bw_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bw_recurrent_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bw_bias: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bw_hidden_state: TENSOR_FLOAT16, TENSOR_FLOAT32.
        aux_input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        fw_aux_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bw_aux_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        activation: applied to the result.
        time_major: BOOL.
        merge_outputs: BOOL.
        output_count: how many outputs; None for as few as there can be.
        dimensions: of the output, where more is known than follows.

        Gives fw_output (TENSOR_FLOAT16, TENSOR_FLOAT32); bw_output (TENSOR_FLOAT16,
        TENSOR_FLOAT32); fw_hidden_state_out (TENSOR_FLOAT16, TENSOR_FLOAT32); bw_hidden_state_out
        (TENSOR_FLOAT16, TENSOR_FLOAT32). Dimensions: the outputs that there are, then their states.
        Since feature level 3; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 3)
        - At run time these operands have exactly this rank. (names: fw_weights, bw_weights; rank:
          2)
        - An auxiliary input has rank 3.
        - An auxiliary input comes alone (the backward cell takes it in place of the input), or with
          weights for both cells, which add it to the input.
        - Each direction fits its input; a merged output is one, separate ones are two.
        - The activation is one of these codes. (allowed: 0, 1, 2, 3, 4, 6)
        """
        return self._several(
            OperationType.BIDIRECTIONAL_SEQUENCE_RNN,
            {
                "input": input,
                "fw_weights": fw_weights,
                "fw_recurrent_weights": fw_recurrent_weights,
                "fw_bias": fw_bias,
                "fw_hidden_state": fw_hidden_state,
                "bw_weights": bw_weights,
                "bw_recurrent_weights": bw_recurrent_weights,
                "bw_bias": bw_bias,
                "bw_hidden_state": bw_hidden_state,
                "aux_input": aux_input,
                "fw_aux_weights": fw_aux_weights,
                "bw_aux_weights": bw_aux_weights,
                "activation": activation,
                "time_major": time_major,
                "merge_outputs": merge_outputs,
            },
            Output(dimensions, name),
            output_count,
        )

    def unidirectional_sequence_rnn(
        self,
        input: Given,
        weights: Given,
        recurrent_weights: Given,
        bias: Given,
        hidden_state_in: Given,
        *,
        activation: Activation = "NONE",
        time_major: Int = False,
        output_count: int | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation UNIDIRECTIONAL_SEQUENCE_RNN.

        output[t] = act(weights * input[t] + recurrent_weights * output[t-1] + bias), output[-1]
        being hidden_state_in; hidden_state_out is the last output.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        recurrent_weights: TENSOR_FLOAT16, TENSOR_FLOAT32.
        bias: TENSOR_FLOAT16, TENSOR_FLOAT32.
        hidden_state_in: TENSOR_FLOAT16, TENSOR_FLOAT32.
        activation: applied to the result.
        time_major: INT32.
        output_count: how many outputs; None for as few as there can be.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32); hidden_state_out (TENSOR_FLOAT16,
        TENSOR_FLOAT32). Dimensions: the output, and the state if it is asked for.
        Since feature level 3; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 3)
        - At run time these operands have exactly this rank. (names: weights; rank: 2)
        - As rnn_sizes, for an input of which every step is one; time_major is 0 or 1.
        - The activation is one of these codes. (allowed: 0, 1, 2, 3, 4, 6)
        """
        return self._several(
            OperationType.UNIDIRECTIONAL_SEQUENCE_RNN,
            {
                "input": input,
                "weights": weights,
                "recurrent_weights": recurrent_weights,
                "bias": bias,
                "hidden_state_in": hidden_state_in,
                "activation": activation,
                "time_major": time_major,
            },
            Output(dimensions, name),
            output_count,
        )
