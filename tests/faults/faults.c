/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: one call of a kind fails, as if the system had run out of it.
 *
 *     faults_arm(kind, n)  from now on calls of this kind are counted, and the n-th one fails
 *                          (0: none does)
 *     faults_count()       how many there were, and counting ends
 *
 * Kinds: memory (malloc, calloc, realloc, mmap), thread (pthread_create), descriptor (what gives a
 * new one), write (what changes files).
 *
 * The loader's own memory is left out: it ends the process in places where it gets none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { NONE, MEMORY, THREAD, DESCRIPTOR, WRITE };

static atomic_int armed;
static atomic_long calls, failing;

void faults_arm(const char *kind, long n)
{
    static const char *const names[] = {"", "memory", "thread", "descriptor", "write"};
    atomic_store(&calls, 0);
    atomic_store(&failing, n);
    for (int i = MEMORY; i <= WRITE; i++)
        if (strcmp(kind, names[i]) == 0)
            atomic_store(&armed, i);
}

long faults_count(void)
{
    atomic_store(&armed, NONE);
    return atomic_load(&calls);
}

static int fails(int kind, int error)
{
    if (atomic_load_explicit(&armed, memory_order_relaxed) != kind
        || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&failing))
        return 0;
    errno = error;
    return 1;
}

static uintptr_t loader_start, loader_end;

__attribute__((constructor)) static void find_loader(void)
{
    const uintptr_t start = getauxval(AT_BASE);
    const ElfW(Ehdr) *head = (const void *)start;
    const ElfW(Phdr) *part = (const void *)(start + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && start + part[i].p_vaddr + part[i].p_memsz > loader_end)
            loader_end = start + part[i].p_vaddr + part[i].p_memsz;
    loader_start = start;
}

static int memory_fails(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    return (at < loader_start || at >= loader_end) && fails(MEMORY, ENOMEM);
}

/* The C library's own functions; looked up once, as dlsym() may allocate. */
#define NEXT(name) ((__typeof__(&name))find(#name, &(static_##name)))
static void *find(const char *name, void *_Atomic *kept)
{
    void *found = atomic_load(kept);
    if (found == NULL)
        atomic_store(kept, found = dlsym(RTLD_NEXT, name));
    return found;
}
#define LOOKED_UP(name) static void *_Atomic static_##name

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

void *mmap(void *address, size_t length, int protect, int flags, int fd, off_t offset)
{
    if (memory_fails(__builtin_return_address(0)))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, length, protect, flags, fd, offset);
}

LOOKED_UP(pthread_create);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    return fails(THREAD, EAGAIN) ? EAGAIN
                                 : NEXT(pthread_create)(thread, attributes, run, argument);
}

static int open_at(int folder, const char *path, int flags, va_list arguments)
{
    const bool makes_file = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    const int mode = makes_file ? va_arg(arguments, int) : 0; /* else there is none */
    return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...)                            \
    {                                                                     \
        va_list arguments;                                                \
        va_start(arguments, flags);                                       \
        const int fd = open_at(AT_FDCWD, path, flags, arguments);         \
        va_end(arguments);                                                \
        return fd;                                                        \
    }
#define OPENAT(name)                                                      \
    int name(int folder, const char *path, int flags, ...)                \
    {                                                                     \
        va_list arguments;                                                \
        va_start(arguments, flags);                                       \
        const int fd = open_at(folder, path, flags, arguments);           \
        va_end(arguments);                                                \
        return fd;                                                        \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                       \
    LOOKED_UP(name);                                                      \
    FILE *name(const char *path, const char *mode)                        \
    {                                                                     \
        return fails(DESCRIPTOR, EMFILE) ? NULL : NEXT(name)(path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)

int dup(int fd)
{
    return fails(DESCRIPTOR, EMFILE) ? -1 : (int)syscall(SYS_dup, fd);
}

#define FCNTL(name)                                                                   \
    int name(int fd, int command, ...)                                                \
    {                                                                                 \
        va_list arguments;                                                            \
        va_start(arguments, command);                                                 \
        void *argument = va_arg(arguments, void *);                                   \
        va_end(arguments);                                                            \
        if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && fails(DESCRIPTOR, EMFILE)) \
            return -1;                                                                \
        return (int)syscall(SYS_fcntl, fd, command, argument);                        \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

ssize_t write(int fd, const void *bytes, size_t count)
{
    return fails(WRITE, ENOSPC) ? -1 : syscall(SYS_write, fd, bytes, count);
}

int fsync(int fd)
{
    return fails(WRITE, EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int ftruncate64(int fd, off_t length)
{
    return fails(WRITE, ENOSPC) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

int renameat(int from, const char *old, int to, const char *fresh)
{
    return fails(WRITE, EIO) ? -1 : (int)syscall(SYS_renameat, from, old, to, fresh);
}

int rename(const char *old, const char *fresh)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, fresh);
}

int linkat(int from, const char *old, int to, const char *fresh, int flags)
{
    return fails(WRITE, EIO) ? -1 : (int)syscall(SYS_linkat, from, old, to, fresh, flags);
}

int posix_fallocate64(int fd, off_t offset, off_t length)
{
    if (fails(WRITE, ENOSPC))
        return ENOSPC;
    return syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    return posix_fallocate64(fd, offset, length);
}
