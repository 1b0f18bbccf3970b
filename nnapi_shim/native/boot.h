/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C files of libneuralnetworks.so share. Nothing here is exported.
 *
 *   boot.c         starts everything, once, at the first real call
 *   location.c     where the library and the Python package are
 *   interpreter.c  starts Python, or joins the one that the program runs
 *   attach.c       makes Python callable from C (included by the generated source)
 *   message.c      what went wrong: on stderr and for nnapi_shim_getLastError()
 *   values.c       the API functions that return a plain value
 */
#ifndef NNAPI_SHIM_BOOT_H
#define NNAPI_SHIM_BOOT_H

#include <limits.h>
#include <stdbool.h>

/* "python3.11": how a Python's folders of modules are called. */
#define NN_PYTHON "python" Py_STRINGIFY(PY_MAJOR_VERSION) "." Py_STRINGIFY(PY_MINOR_VERSION)

#pragma GCC visibility push(hidden)

/* True when the API's Python functions can be called from this thread. Starts them if need be. */
bool nn_up(void);

/* Folders for Python's module search path, the one that holds the package nnapi_shim first. */
enum { NN_MAX_FOLDERS = 8 };
struct nn_location {
    int count;
    char folders[NN_MAX_FOLDERS][PATH_MAX];
};

/* The functions below run once, under the lock of boot.c. Those that return bool say false when
 * they failed, and have then called nn_fail() with the reason. */
bool nn_locate(struct nn_location *location);

bool nn_python_matches(void);
bool nn_python_start(const struct nn_location *location);  /* leaves the GIL released */
bool nn_python_join(const struct nn_location *location);   /* needs the GIL */

bool nn_attach(void); /* needs the GIL */
struct nn_callback {
    const char *name;
    const struct _cffi_externpy_s *entry;
};

/* Keeps the reason why the library cannot work, and prints it. */
void nn_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, followed by the Python exception that is set, which it clears. Needs the GIL. */
void nn_fail_with_exception(const char *what);
/* Makes that reason the last error of the calling thread. */
void nn_repeat_failure(void);

/* Sets the last error of the calling thread, UTF-8, "" for NULL. Python calls it through cffi. */
void nnapi_shim_storeError(const char *message);

#pragma GCC visibility pop

#endif /* NNAPI_SHIM_BOOT_H */
