/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one vpdpbusd on 512 bits and by hand: whether the emulator can be believed at all. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    uint8_t a[64];
    int8_t b[64];
    int32_t is[16], wanted[16];

    for (int i = 0; i < 64; i++) {
        a[i] = (uint8_t)(255 - 3 * i);
        b[i] = (int8_t)(7 * i - 128);
    }
    for (int i = 0; i < 16; i++) {
        is[i] = wanted[i] = 1000 * i - 8000;
        for (int j = 4 * i; j < 4 * i + 4; j++)
            wanted[i] += a[j] * b[j];
    }
    __asm__("vmovdqu32 %0, %%zmm0\n\t"
            "vmovdqu32 %1, %%zmm1\n\t"
            "vpdpbusd %2, %%zmm1, %%zmm0\n\t"
            "vmovdqu32 %%zmm0, %0\n\t"
            "vzeroupper"
            : "+m"(is)
            : "m"(a), "m"(b)
            : "xmm0", "xmm1");
    int same = memcmp(is, wanted, sizeof is) == 0;
    printf("vpdpbusd on zmm registers: %s (first sum %d, last %d)\n", same ? "right" : "WRONG",
           (int)is[0], (int)is[15]);
    return !same;
}
