"""Operations of the family lstm_quantized; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Calling,
    Float,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class LstmQuantizedMethods(Calling):
    """QUANTIZED_16BIT_LSTM, QUANTIZED_LSTM."""

    def quantized_16bit_lstm(
        self,
        input: Given,
        *,
        input_to_input_weights: Given,
        input_to_forget_weights: Given,
        input_to_cell_weights: Given,
        input_to_output_weights: Given,
        recurrent_to_input_weights: Given,
        recurrent_to_forget_weights: Given,
        recurrent_to_cell_weights: Given,
        recurrent_to_output_weights: Given,
        input_gate_bias: Given,
        forget_gate_bias: Given,
        cell_bias: Given,
        output_gate_bias: Given,
        prev_cell_state: Given,
        prev_output: Given,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation QUANTIZED_16BIT_LSTM.

        One step of a cell in fixed point: cell_state_out = f * prev_cell_state + i * g and output =
        o * tanh(cell_state_out).

        input: TENSOR_QUANT8_ASYMM.
        input_to_input_weights: TENSOR_QUANT8_ASYMM.
        input_to_forget_weights: TENSOR_QUANT8_ASYMM.
        input_to_cell_weights: TENSOR_QUANT8_ASYMM.
        input_to_output_weights: TENSOR_QUANT8_ASYMM.
        recurrent_to_input_weights: TENSOR_QUANT8_ASYMM.
        recurrent_to_forget_weights: TENSOR_QUANT8_ASYMM.
        recurrent_to_cell_weights: TENSOR_QUANT8_ASYMM.
        recurrent_to_output_weights: TENSOR_QUANT8_ASYMM.
        input_gate_bias: TENSOR_INT32.
        forget_gate_bias: TENSOR_INT32.
        cell_bias: TENSOR_INT32.
        output_gate_bias: TENSOR_INT32.
        prev_cell_state: TENSOR_QUANT16_SYMM.
        prev_output: TENSOR_QUANT8_ASYMM.
        dimensions: of the output, where more is known than follows.

        Gives cell_state_out (TENSOR_QUANT16_SYMM); output (TENSOR_QUANT8_ASYMM). Dimensions: those
        of `prev_cell_state`, `prev_output`.
        Scale and zero point: those of `STATE_16`, `OUTPUT_16`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 2)
        - The operands of the cell fit each other.
        - All parameters are fixed but those of the weights, which the weights share.
        """
        cell_state_out, output = self._several(
            OperationType.QUANTIZED_16BIT_LSTM,
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
                "input_gate_bias": input_gate_bias,
                "forget_gate_bias": forget_gate_bias,
                "cell_bias": cell_bias,
                "output_gate_bias": output_gate_bias,
                "prev_cell_state": prev_cell_state,
                "prev_output": prev_output,
            },
            Output(dimensions, name),
            None,
        )
        return cell_state_out, output

    def quantized_lstm(
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
        prev_output: Given,
        prev_cell_state: Given,
        input_layer_norm_weights: Given | None = None,
        forget_layer_norm_weights: Given | None = None,
        cell_layer_norm_weights: Given | None = None,
        output_layer_norm_weights: Given | None = None,
        cell_clip: Float = 0.0,
        projection_clip: Float = 0.0,
        input_intermediate_scale: Float,
        forget_intermediate_scale: Float,
        cell_intermediate_scale: Float,
        output_intermediate_scale: Float,
        hidden_state_zero_point: Int,
        hidden_state_scale: Float,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand, Operand]:
        """The operation QUANTIZED_LSTM.

        One step of a cell in fixed point: cell_state_out = f * prev_cell_state + i * g and output =
        projection(o * tanh(cell_state_out)).

        input: TENSOR_QUANT8_ASYMM_SIGNED.
        input_to_input_weights: TENSOR_QUANT8_SYMM.
        input_to_forget_weights: TENSOR_QUANT8_SYMM.
        input_to_cell_weights: TENSOR_QUANT8_SYMM.
        input_to_output_weights: TENSOR_QUANT8_SYMM.
        recurrent_to_input_weights: TENSOR_QUANT8_SYMM.
        recurrent_to_forget_weights: TENSOR_QUANT8_SYMM.
        recurrent_to_cell_weights: TENSOR_QUANT8_SYMM.
        recurrent_to_output_weights: TENSOR_QUANT8_SYMM.
        cell_to_input_weights: TENSOR_QUANT16_SYMM.
        cell_to_forget_weights: TENSOR_QUANT16_SYMM.
        cell_to_output_weights: TENSOR_QUANT16_SYMM.
        input_gate_bias: TENSOR_INT32.
        forget_gate_bias: TENSOR_INT32.
        cell_bias: TENSOR_INT32.
        output_gate_bias: TENSOR_INT32.
        projection_weights: TENSOR_QUANT8_SYMM.
        projection_bias: TENSOR_INT32.
        prev_output: TENSOR_QUANT8_ASYMM_SIGNED.
        prev_cell_state: TENSOR_QUANT16_SYMM.
        input_layer_norm_weights: TENSOR_QUANT16_SYMM.
        forget_layer_norm_weights: TENSOR_QUANT16_SYMM.
        cell_layer_norm_weights: TENSOR_QUANT16_SYMM.
        output_layer_norm_weights: TENSOR_QUANT16_SYMM.
        cell_clip: FLOAT32.
        projection_clip: FLOAT32.
        input_intermediate_scale: FLOAT32.
        forget_intermediate_scale: FLOAT32.
        cell_intermediate_scale: FLOAT32.
        output_intermediate_scale: FLOAT32.
        hidden_state_zero_point: INT32.
        hidden_state_scale: FLOAT32.
        dimensions: of the output, where more is known than follows.

        Gives output_state_out (TENSOR_QUANT8_ASYMM_SIGNED); cell_state_out (TENSOR_QUANT16_SYMM);
        output (TENSOR_QUANT8_ASYMM_SIGNED). Dimensions: those of `prev_output`, `prev_cell_state`.
        Scale and zero point: the cell state has the parameters of the one before; the reference
        does not compare the scale of prev_output with what the outputs declare.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 2)
        - Optional parts are complete; the reference cannot project without a bias, and ignores a
          bias without a projection.
        - The operands of the cell fit each other.
        - The scale of the cell state is a power of 2.
        - The scales that are divided by are numbers other than 0; coupled gates have no use for
          that of the input gate.
        """
        output_state_out, cell_state_out, output = self._several(
            OperationType.QUANTIZED_LSTM,
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
                "prev_output": prev_output,
                "prev_cell_state": prev_cell_state,
                "input_layer_norm_weights": input_layer_norm_weights,
                "forget_layer_norm_weights": forget_layer_norm_weights,
                "cell_layer_norm_weights": cell_layer_norm_weights,
                "output_layer_norm_weights": output_layer_norm_weights,
                "cell_clip": cell_clip,
                "projection_clip": projection_clip,
                "input_intermediate_scale": input_intermediate_scale,
                "forget_intermediate_scale": forget_intermediate_scale,
                "cell_intermediate_scale": cell_intermediate_scale,
                "output_intermediate_scale": output_intermediate_scale,
                "hidden_state_zero_point": hidden_state_zero_point,
                "hidden_state_scale": hidden_state_scale,
            },
            Output(dimensions, name),
            None,
        )
        return output_state_out, cell_state_out, output
