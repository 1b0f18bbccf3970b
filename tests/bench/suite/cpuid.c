/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the processor look like one of an older instruction-set tier, to a whole process: with
 * LD_PRELOAD, before main, it asks Linux to raise SIGSEGV at the instruction CPUID (arch_prctl,
 * ARCH_SET_CPUID; Intel processors and some AMD ones can). The handler executes the instruction and
 * clears the bits of extensions above the tier. Threads inherit this. CPUID_TIER is v3vnni (AVX2 with
 * AVX-VNNI), v3 (AVX2) or v2 (SSE4.2). Linux without this ability: a line on stderr, exit status 77.
 *
 * As a program (-DPROBE) it prints "yes" if the processor can do this.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

/* Registers in the order of `leaf`. */
enum { EAX, EBX, ECX, EDX };

/* What to clear, as the Intel manual numbers the bits. vnni: not for the tier v3vnni. avx: also for
 * the tier v2. */
static const struct {
    uint32_t leaf, subleaf;
    int place;
    uint32_t above_v3, vnni, avx;
} cleared[] = {
    /* FMA, AVX, F16C */
    {1, 0, ECX, 0, 0, BIT(12) | BIT(28) | BIT(29)},
    /* AVX512 F, DQ, IFMA, PF, ER, CD, BW, VL; AVX2 */
    {7, 0, EBX,
     BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31), 0,
     BIT(5)},
    /* AVX512 VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; VAES, VPCLMULQDQ */
    {7, 0, ECX, BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14), 0, BIT(9) | BIT(10)},
    /* AVX512 4VNNIW, 4FMAPS, VP2INTERSECT; AMX BF16, TILE, INT8; AVX512 FP16 */
    {7, 0, EDX, BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25), 0, 0},
    /* AVX-VNNI, AVX512 BF16, AMX FP16, AVX-IFMA */
    {7, 1, EAX, BIT(5) | BIT(21) | BIT(23), BIT(4), 0},
    /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX COMPLEX, AVX-VNNI-INT16, AVX10 */
    {7, 1, EDX, BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19), 0, 0},
};

static int without_avx, with_vnni;

static long let_cpuid(unsigned long allowed)
{
    return syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *instruction = (const unsigned char *)registers[REG_RIP];
    (void)info;
    if (instruction[0] != 0x0F || instruction[1] != 0xA2) { /* a real fault: comes again */
        signal(signal_number, SIG_DFL);
        return;
    }
    const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
    uint32_t found[4];
    let_cpuid(1);
    __cpuid_count(leaf, subleaf, found[EAX], found[EBX], found[ECX], found[EDX]);
    let_cpuid(0);
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        if (cleared[i].leaf == leaf && (leaf != 7 || cleared[i].subleaf == subleaf))
            found[cleared[i].place] &=
                ~(cleared[i].above_v3 | (with_vnni ? 0 : cleared[i].vnni)
                  | (without_avx ? cleared[i].avx : 0));
    registers[REG_RAX] = found[EAX];
    registers[REG_RBX] = found[EBX];
    registers[REG_RCX] = found[ECX];
    registers[REG_RDX] = found[EDX];
    registers[REG_RIP] += 2;
}

#ifdef PROBE
int main(void)
{
    puts(let_cpuid(0) == 0 ? "yes" : "no");
    return 0;
}
#else
__attribute__((constructor)) static void hold(void)
{
    const char *tier = getenv("CPUID_TIER");
    struct sigaction action = {0};
    if (tier == NULL)
        return;
    without_avx = strcmp(tier, "v2") == 0;
    with_vnni = strcmp(tier, "v3vnni") == 0;
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    if (let_cpuid(0) != 0) {
        fputs("this processor cannot report fewer instruction sets than it has\n", stderr);
        _exit(77);
    }
}
#endif
