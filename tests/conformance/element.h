/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors of every type, as numbers. */
#ifndef ELEMENT_H
#define ELEMENT_H

#include <android/NeuralNetworksTypes.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                   : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* Size of an element in bytes, and with `data` not NULL, the value of an element. */
static size_t element(int32_t type, const void *data, size_t index, double *value)
{
#define ELEMENT(kind, convert)                                   \
    do {                                                         \
        if (data != NULL)                                        \
            *value = convert(((const kind *)data)[index]);       \
        return sizeof(kind);                                     \
    } while (0)
    switch (type) {
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        ELEMENT(float, );
    case ANEURALNETWORKS_FLOAT16:
    case ANEURALNETWORKS_TENSOR_FLOAT16:
        ELEMENT(uint16_t, half);
    case ANEURALNETWORKS_INT32:
    case ANEURALNETWORKS_TENSOR_INT32:
        ELEMENT(int32_t, );
    case ANEURALNETWORKS_UINT32:
        ELEMENT(uint32_t, );
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
        ELEMENT(int16_t, );
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
        ELEMENT(uint16_t, );
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
        ELEMENT(int8_t, );
    default: /* TENSOR_QUANT8_ASYMM and bool */
        ELEMENT(uint8_t, );
    }
#undef ELEMENT
}

#endif
