/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up pages of constants that have been packed (drivers/cpu/compile/packing.py). The kernel reads them
 * again from their file if they are used again.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnapi_shim.h>

/* Memory whose pages are those of a file: a shared mapping, or a mapping that nobody has written to. */
struct range {
    uintptr_t address;
    int64_t length;
};

/* Drops the whole pages of a range from the process. It has the signature of a kernel of a step, so that a
 * program drops what its earlier steps have read. Pages that are locked stay. */
static int32_t release(uintptr_t block, int64_t tile, int64_t deadline)
{
    (void)tile, (void)deadline;
    const struct range *range = (const struct range *)block;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (range->address + page - 1) & -page;
    const uintptr_t end = (range->address + (uintptr_t)range->length) & -page;
    const int error = errno;
    if (start < end)
        madvise((void *)start, end - start, MADV_DONTNEED);
    errno = error;
    return 0;
}

uint64_t nnapi_shim_getPageReleaser(void)
{
    return (uint64_t)(uintptr_t)release;
}
