/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libpython for start-up, as a table that is filled at run time (libpython.c): one
 * library serves every CPython from 3.10 on, and can be loaded without a libpython. Functions outside
 * the stable ABI have the same signature in all these versions.
 */
#ifndef NNAPI_SHIM_LIBPYTHON_H
#define NNAPI_SHIM_LIBPYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

typedef struct _object PyObject;
typedef struct _ts PyThreadState;
typedef struct PyInitConfig PyInitConfig;
typedef int PyGILState_STATE;

typedef struct {
    int type; /* 0: no error */
    const char *function;
    const char *message;
    int exit_code;
} PyStatus;

/* F(result, name, parameters): every version has them. */
#define NN_LIBPYTHON(F) \
    F(const char *, Py_GetVersion, (void)) \
    F(int, Py_IsInitialized, (void)) \
    F(int, Py_AtExit, (void (*)(void))) \
    F(PyThreadState *, PyGILState_GetThisThreadState, (void)) \
    F(PyGILState_STATE, PyGILState_Ensure, (void)) \
    F(void, PyGILState_Release, (PyGILState_STATE)) \
    F(PyThreadState *, PyEval_SaveThread, (void)) \
    F(void, PyEval_RestoreThread, (PyThreadState *)) \
    F(void, PyOS_BeforeFork, (void)) \
    F(void, PyOS_AfterFork_Parent, (void)) \
    F(void, PyOS_AfterFork_Child, (void)) \
    F(PyObject *, PyImport_ImportModule, (const char *)) \
    F(PyObject *, PyObject_GetAttrString, (PyObject *, const char *)) \
    F(PyObject *, PyObject_CallMethod, (PyObject *, const char *, const char *, ...)) \
    F(PyObject *, PyObject_Str, (PyObject *)) \
    F(void *, PyLong_AsVoidPtr, (PyObject *)) \
    F(PyObject *, PySys_GetObject, (const char *)) \
    F(int, PySequence_Contains, (PyObject *, PyObject *)) \
    F(int, PyList_Append, (PyObject *, PyObject *)) \
    F(PyObject *, PyUnicode_DecodeFSDefault, (const char *)) \
    F(const char *, PyUnicode_AsUTF8, (PyObject *)) \
    F(PyObject *, PyErr_Occurred, (void)) \
    F(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **)) \
    F(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **)) \
    F(int, PyException_SetTraceback, (PyObject *, PyObject *)) \
    F(void, PyErr_Display, (PyObject *, PyObject *, PyObject *)) \
    F(void, PyErr_Clear, (void)) \
    F(int, PyGC_Disable, (void)) \
    F(void, Py_DecRef, (PyObject *))

/* F(result, name, name in older versions, parameters) */
#define NN_LIBPYTHON_RENAMED(F) \
    F(int, Py_IsFinalizing, _Py_IsFinalizing, (void)) \
    F(PyThreadState *, PyThreadState_GetUnchecked, _PyThreadState_UncheckedGet, (void))

/* Configuration by struct, up to 3.13, whose layouts differ (interpreter.c). */
#define NN_LIBPYTHON_STRUCTS(F) \
    F(void, PyPreConfig_InitIsolatedConfig, (void *)) \
    F(PyStatus, Py_PreInitialize, (const void *)) \
    F(void, PyConfig_InitIsolatedConfig, (void *)) \
    F(PyStatus, PyConfig_SetBytesString, (void *, wchar_t **, const char *)) \
    F(PyStatus, PyWideStringList_Append, (void *, const wchar_t *)) \
    F(wchar_t *, Py_DecodeLocale, (const char *, size_t *)) \
    F(void, PyMem_RawFree, (void *)) \
    F(PyStatus, Py_InitializeFromConfig, (const void *)) \
    F(void, PyConfig_Clear, (void *))

/* Configuration by name, from 3.14 on. */
#define NN_LIBPYTHON_NAMES(F) \
    F(PyInitConfig *, PyInitConfig_Create, (void)) \
    F(int, PyInitConfig_SetInt, (PyInitConfig *, const char *, int64_t)) \
    F(int, PyInitConfig_SetStr, (PyInitConfig *, const char *, const char *)) \
    F(int, PyInitConfig_SetStrList, (PyInitConfig *, const char *, size_t, char *const *)) \
    F(int, Py_InitializeFromInitConfig, (PyInitConfig *)) \
    F(int, PyInitConfig_GetError, (PyInitConfig *, const char **)) \
    F(void, PyInitConfig_Free, (PyInitConfig *))

enum { NN_OLDEST_PYTHON = 10, NN_FIRST_WITH_NAMES = 14 }; /* 3.10, 3.14 */

struct nn_libpython {
    int minor; /* 3.minor */
#define MEMBER(result, name, parameters) result (*name) parameters;
#define RENAMED_MEMBER(result, name, older, parameters) result (*name) parameters;
    NN_LIBPYTHON(MEMBER)
    NN_LIBPYTHON_RENAMED(RENAMED_MEMBER)
    NN_LIBPYTHON_STRUCTS(MEMBER)
    NN_LIBPYTHON_NAMES(MEMBER)
#undef MEMBER
#undef RENAMED_MEMBER
};

#pragma GCC visibility push(hidden)

extern _Atomic(const struct nn_libpython *) nn_libpython;

/* The Python of this process; NULL until one has been found. */
static inline const struct nn_libpython *nn_py(void)
{
    return atomic_load_explicit(&nn_libpython, memory_order_acquire);
}

/* Gives up a reference; NULL is ignored. */
static inline void nn_drop(PyObject *object)
{
    if (object != NULL)
        nn_py()->Py_DecRef(object);
}

/* These two run under the lock of boot.c: Py_GetVersion() writes its answer anew each time, and two
 * threads that ask at once may read half of it. */
/* Uses the Python of the process, running or not. False if there is none (*reason is NULL) or it cannot
 * be used (*reason says why). */
bool nn_take_present_python(const char **reason);
/* Opens a libpython and takes it; if false, *reason says why. */
bool nn_open_python(const char *file, const char **reason);
/* The file that Python's functions come from: libpython, or a program that contains it. */
const char *nn_python_file(void);

#pragma GCC visibility pop

#endif /* NNAPI_SHIM_LIBPYTHON_H */
