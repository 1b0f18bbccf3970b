/* SPDX-License-Identifier: Apache-2.0 */
/* enter_sandbox(): everything is loaded, and from then on no file can be opened. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nnapi_shim.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../check.h"

#define REFUSED(number)                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),   \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void enter_sandbox(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open /* younger architectures, such as AArch64, have only what takes a folder */
        REFUSED(SYS_open), REFUSED(SYS_creat), REFUSED(SYS_access), REFUSED(SYS_readlink),
#endif
        REFUSED(SYS_openat), REFUSED(SYS_openat2), REFUSED(SYS_faccessat), REFUSED(SYS_readlinkat),
        REFUSED(SYS_execve), REFUSED(SYS_socket), REFUSED(SYS_getdents64),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    CHECK(nnapi_shim_loadEverything() == 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

#endif
