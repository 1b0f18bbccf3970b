/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a processor with AVX2 run the kernels of the tier v3vnni: preloaded, it computes what the
 * processor refuses with SIGILL, the instructions of AVX-VNNI in their VEX form (VPDPBUSD, VPDPWSSD
 * and their saturating forms, as the Intel manual defines them), and announces the tier. Where the
 * processor has the instructions it only announces the tier. For tests: an instruction takes a
 * microsecond.
 *
 * As a program (-DPROBE) it executes one of them and ends with 0, or by SIGILL.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#ifdef PROBE

int main(void)
{
    __asm__ volatile(".byte 0xC4, 0xE2, 0x75, 0x50, 0xC2" ::: "xmm0"); /* vpdpbusd ymm0, ymm1, ymm2 */
    return 0;
}

#else

const char *nnapi_shim_getProcessorTiers(void);
const char *nnapi_shim_getProcessorTiers(void)
{
    return "v3vnni v3 v2";
}

enum { UPPER_HALVES = 576, STATE_BITS = 512, HAS_UPPER = 1 << 2, HAS_LOWER = 1 << 1 };
enum { BYTES_SATURATED = 0x51, WORDS = 0x52, WORDS_SATURATED = 0x53 };

/* An instruction: number of bytes, operation, 16 or 32 bytes of a vector, operands. */
struct instruction {
    int length, operation, size, target, first, second;
    const unsigned char *memory; /* in place of the second operand, if not NULL */
};

static const int general[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* The address of ModRM, SIB and displacement at `at`; adds their bytes after ModRM to *length. */
static const unsigned char *address(const unsigned char *at, const greg_t *registers, int b, int x,
                                    int *length)
{
    const int mod = at[0] >> 6, rm = at[0] & 7;
    const unsigned char *rest = at + 1;
    uint64_t sum = 0;
    int base = rm | b, displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    bool from_next = false;
    if (rm == 4) {
        const int index = (*rest >> 3 & 7) | x;
        if (index != 4)
            sum += (uint64_t)registers[general[index]] << (*rest >> 6);
        base = (*rest & 7) | b;
        rest++;
    }
    if ((base & 7) == 5 && mod == 0) {
        displacement = 4;
        from_next = rm == 5;
    } else {
        sum += (uint64_t)registers[general[base]];
    }
    if (displacement == 1) {
        sum += (uint64_t)(int64_t)(int8_t)*rest;
    } else if (displacement == 4) {
        int32_t value;
        memcpy(&value, rest, 4);
        sum += (uint64_t)(int64_t)value;
    }
    rest += displacement;
    *length += (int)(rest - at) - 1;
    if (from_next)
        sum += (uint64_t)(uintptr_t)rest;
    return (const unsigned char *)(uintptr_t)sum; /* NOLINT: an address of the program */
}

/* Whether the bytes at `code` are an instruction that is emulated. */
static bool decode(const unsigned char *code, const greg_t *registers, struct instruction *found)
{
    if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x83) != 1 || code[3] >> 2 != 0x14)
        return false;
    const int r = code[1] & 0x80 ? 0 : 8, x = code[1] & 0x40 ? 0 : 8, b = code[1] & 0x20 ? 0 : 8;
    found->operation = code[3];
    found->size = code[2] & 4 ? 32 : 16;
    found->target = (code[4] >> 3 & 7) | r;
    found->first = ~code[2] >> 3 & 15;
    found->second = (code[4] & 7) | b;
    found->length = 5;
    found->memory =
        code[4] >> 6 == 3 ? NULL : address(code + 4, registers, b, x, &found->length);
    return true;
}

static int32_t sum_of(int operation, int32_t total, const unsigned char *a, const unsigned char *b)
{
    int64_t sum = total;
    if (operation >= WORDS) {
        for (int i = 0; i < 2; i++) {
            int16_t x, y;
            memcpy(&x, a + 2 * i, 2);
            memcpy(&y, b + 2 * i, 2);
            sum += x * y;
        }
    } else {
        for (int i = 0; i < 4; i++)
            sum += a[i] * (int8_t)b[i];
    }
    if (operation == BYTES_SATURATED || operation == WORDS_SATURATED)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (int32_t)(uint32_t)(uint64_t)sum;
}

static void load(unsigned char *vector, unsigned char *state, int number)
{
    memcpy(vector, ((struct _libc_fpstate *)(void *)state)->_xmm + number, 16);
    memcpy(vector + 16, state + UPPER_HALVES + 16 * number, 16);
}

static void execute(const struct instruction *each, unsigned char *state)
{
    unsigned char total[32], a[32], b[32];
    load(total, state, each->target);
    load(a, state, each->first);
    load(b, state, each->second);
    if (each->memory != NULL)
        memcpy(b, each->memory, (size_t)each->size);
    for (int at = 0; at < each->size; at += 4) {
        int32_t lane;
        memcpy(&lane, total + at, 4);
        lane = sum_of(each->operation, lane, a + at, b + at);
        memcpy(total + at, &lane, 4);
    }
    if (each->size == 16)
        memset(total + 16, 0, 16);
    memcpy(((struct _libc_fpstate *)(void *)state)->_xmm + each->target, total, 16);
    memcpy(state + UPPER_HALVES + 16 * each->target, total + 16, 16);
}

static void on_refused(int signal_number, siginfo_t *info, void *context)
{
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    greg_t *registers = machine->gregs;
    unsigned char *state = (unsigned char *)machine->fpregs;
    struct instruction each;
    uint64_t bits;
    bool is_known = false;
    (void)info;
    memcpy(&bits, state + STATE_BITS, sizeof bits);
    if ((bits & HAS_UPPER) == 0)
        memset(state + UPPER_HALVES, 0, 256);
    while (decode((const unsigned char *)registers[REG_RIP], registers, &each)) {
        execute(&each, state);
        registers[REG_RIP] += each.length;
        is_known = true;
    }
    bits |= HAS_UPPER | HAS_LOWER;
    memcpy(state + STATE_BITS, &bits, sizeof bits);
    if (!is_known) /* comes again, and ends the process */
        signal(signal_number, SIG_DFL);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = on_refused;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
}

#endif
