"""Operations of the family lookup; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class LookupMethods(Calling):
    """EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, LSH_PROJECTION, GATHER."""

    def embedding_lookup(
        self,
        lookups: Given,
        values: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation EMBEDDING_LOOKUP.

        output[i,...] = values[lookups[i],...]; an index outside of values fails.

        lookups: TENSOR_INT32.
        values: TENSOR_FLOAT32, TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3),
            TENSOR_FLOAT16 (level 4), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3),
        TENSOR_FLOAT16 (level 4), TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: a row of
        `values` per lookup.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: values)
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: lookups; rank: 1)
        - Values have rank 2 at least.
        """
        return self._one(
            OperationType.EMBEDDING_LOOKUP,
            {
                "lookups": lookups,
                "values": values,
            },
            Output(dimensions, name),
        )

    def hashtable_lookup(
        self,
        lookups: Given,
        keys: Given,
        values: Given,
        *,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation HASHTABLE_LOOKUP.

        output[i,...] = values[k,...] and hits[i] = 1 where keys[k] = lookups[i]; zero bytes and 0
        where there is no such key. Keys ascend.

        lookups: TENSOR_INT32.
        keys: TENSOR_INT32.
        values: TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM); hits
        (TENSOR_QUANT8_ASYMM). Dimensions: a row of `values` per lookup.
        Scale and zero point: those of `values`, `scale`, `zero_point`.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: lookups, keys; rank: 1)
        """
        output, hits = self._several(
            OperationType.HASHTABLE_LOOKUP,
            {
                "lookups": lookups,
                "keys": keys,
                "values": values,
            },
            Output(dimensions, name),
            None,
        )
        return output, hits

    def lsh_projection(
        self,
        hash: Given,
        input: Given,
        type: Int,
        *,
        weight: Given | None = None,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LSH_PROJECTION.

        bit[i,j] = sum over items k of weight[k] * int64(Fingerprint64(float32(hash[i,j]),
        input[k])) > 0; output: the bits (DENSE), or per row the number that they form, first bit
        highest, plus i * 2^bits (SPARSE).

        hash: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        input: TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16 (level 3).
        type: INT32.
        weight: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_INT32). Dimensions: a number per hash, or per bit of every hash.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: hash; rank: 2)
        - Up to 32 bits per hash; a dense projection weighs every item, a sparse one none.
        """
        return self._one(
            OperationType.LSH_PROJECTION,
            {
                "hash": hash,
                "input": input,
                "type": type,
                "weight": weight,
            },
            Output(dimensions, name),
        )

    def gather(
        self,
        input: Given,
        axis: Int,
        indices: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation GATHER.

        output[a,i,b] = input[a,indices[i],b], where a, b are the dimensions before and after
        `axis`; an index outside of the input fails.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        indices: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: the dimension `axis` of the input is
        replaced by the dimensions of `indices`.
        Scale and zero point: output scale and zero point are free; an output that declares none has
        those of an input. (name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.GATHER,
            {
                "input": input,
                "axis": axis,
                "indices": indices,
            },
            Output(dimensions, name, scale, zero_point, like),
        )
