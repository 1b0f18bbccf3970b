"""Operations of the family sampling; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class SamplingMethods(Calling):
    """RANDOM_MULTINOMIAL."""

    def random_multinomial(
        self,
        logits: Given,
        sample_count: Int,
        seeds: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RANDOM_MULTINOMIAL.

        output[b,i] is class c with probability softmax(logits[b])[c]; equal seeds give equal
        numbers, two seeds of 0 others in every run.

        logits: TENSOR_FLOAT16, TENSOR_FLOAT32.
        sample_count: INT32.
        seeds: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives samples (TENSOR_INT32). Dimensions: those of `logits`, `sample_count`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The logits begin with rows [batch, classes]; as in the reference, nobody reads on.
        - There is no negative number of samples.
        """
        return self._one(
            OperationType.RANDOM_MULTINOMIAL,
            {
                "logits": logits,
                "sample_count": sample_count,
                "seeds": seeds,
            },
            Output(dimensions, name),
        )
