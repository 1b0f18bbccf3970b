/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C files of libneuralnetworks.so share. Nothing here is exported.
 *
 *   boot.c         starts everything, once, at the first real call
 *   location.c     where the library and the Python package are
 *   trust.c        whose files and folders are taken
 *   find_python.c  which libpython that package needs, if the process has none
 *   libpython.c    the functions of libpython that are used here, as a table
 *   interpreter.c  starts Python, or joins the one that the program runs
 *   program.c      runs programs of the CPU device
 *   region.c       runs tiles of the steps of a program, on the calling thread
 *   pool.c         shares a region between the calling thread and workers
 *   workers.c      the threads that help
 *   slot.c         the regions that are shared, and which of their tiles are taken
 *   contention.c   whether other programs have the processors
 *   native_task.c  a thread that packs constants while Python goes on
 *   fast_path.c    runs what is bound once more, without Python
 *   attach.c       loads the half that cffi made, and takes its functions
 *   message.c      what went wrong: on stderr and for nnapi_shim_getLastError()
 *   values.c       the API functions that return a plain value
 *   processor.c    what the processor can do
 *
 * The exported functions (build_ffi.py writes them) call what stands in nn_calls.
 */
#ifndef NNAPI_SHIM_BOOT_H
#define NNAPI_SHIM_BOOT_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Begins a call of the API: true when its Python functions can be called from this thread. Starts
 * them if need be. The thread cannot be cancelled until nn_leave(): it would keep Python's lock. */
bool nn_enter(int *cancel_state);

static inline void nn_leave(int cancel_state)
{
    pthread_setcancelstate(cancel_state, NULL);
}

static inline int nn_leave_with(int code, int cancel_state)
{
    nn_leave(cancel_state);
    return code;
}

enum { NN_MAX_FOLDERS = 8 };
struct nn_location {
    int count;
    char folders[NN_MAX_FOLDERS][PATH_MAX]; /* the one that holds the package nnapi_shim first */
    char python[PATH_MAX];                  /* libpython that the build chose; "" for none */
    char callbacks[PATH_MAX];               /* the half that cffi made */
};

/* The functions below run once, under the lock of boot.c. Those that return bool say false when
 * they failed, and have then called nn_fail() with the reason. */
bool nn_locate(struct nn_location *location);
bool nn_find_python(struct nn_location *location);
int nn_minor_of_folder(const char *folder); /* N of .../lib/python3.N/site-packages; else 0 */
bool nn_python_start(const struct nn_location *location);  /* leaves the GIL released */
bool nn_python_join(const struct nn_location *location);   /* needs the GIL */
/* Needs the GIL. is_ours: whether nn_python_start() made the interpreter. */
bool nn_attach(const struct nn_location *location, bool is_ours);
/* Whether this thread holds the GIL; false before Python is started. */
bool nn_holds_python(void);

/* ANeuralNetworksExecution_compute and _burstCompute after nn_enter(). */
int nn_compute(uintptr_t execution);
int nn_burst_compute(uintptr_t execution, uintptr_t burst);

/* The functions of fast_path.c for Python; abi/fast_path.py has the same order. */
struct nn_fast_path {
    int (*publish)(uintptr_t handle, uintptr_t function, uintptr_t block, uintptr_t family);
    int (*reclaim)(uintptr_t handle);
    int (*release)(uintptr_t handle);
    int (*is_running)(uintptr_t handle);
};
extern const struct nn_fast_path nn_fast_path;

bool nn_is_importing(void); /* whether another thread imports a module; needs the GIL */

/* Appends base/relative for Python's search path, if that folder exists and is not there yet. */
void nn_append_folder(struct nn_location *location, const char *base, const char *relative);

/* Whether a file or folder is one whose code may run; says why not. library: the path of this one. */
bool nn_trusts(const char *path, const char *library);

/* Writes a line to stderr, in one write: not where the program has none, and without a signal where
 * nobody reads it. */
void nn_print(const char *line, size_t length);

/* Keeps the reason why the library cannot work, and prints it. */
void nn_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Refuses one call: the last error of the calling thread, and a line. Takes little stack. */
void nn_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a warning, where these are shown. */
void nn_warn(const char *line);
/* As nn_fail(), followed by the Python exception that is set, which it clears. Needs the GIL. */
void nn_fail_with_exception(const char *what);
/* Makes that reason the last error of the calling thread. */
void nn_repeat_failure(void);

/* Sets the last error of the calling thread, UTF-8, "" for NULL. */
void nnapi_shim_storeError(const char *message);

#pragma GCC visibility pop

#endif /* NNAPI_SHIM_BOOT_H */
