/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the extension module that cffi generated, and stores the addresses of its functions, one for
 * each exported function that Python implements.
 *
 * An extension module instead of the embedding mode of cffi: one library serves every version of Python,
 * and after a failed start-up cffi returns 0 from every function, which is NO_ERROR. Here, functions are
 * called only after all of them are attached.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "boot.h"
#include "calls.h"
#include "libpython.h"

struct nn_calls nn_calls;

/* Whether the package has the version of the library: another may come first on the path. */
static bool is_of_this_version(void)
{
    const struct nn_libpython *py = nn_py();
    PyObject *package = py->PyImport_ImportModule("nnapi_shim");
    PyObject *text = package != NULL ? py->PyObject_GetAttrString(package, "__version__") : NULL;
    PyObject *file = text != NULL ? py->PyObject_GetAttrString(package, "__file__") : NULL;
    const char *version = file != NULL ? py->PyUnicode_AsUTF8(text) : NULL;
    const char *where = version != NULL ? py->PyUnicode_AsUTF8(file) : NULL;
    const bool same = where != NULL && strcmp(version, NN_VERSION) == 0;
    if (where == NULL)
        nn_fail_with_exception("cannot import the Python package nnapi_shim");
    else if (!same)
        nn_fail("the library is version " NN_VERSION " and the Python package %s version %s; "
                "install one of them again, or remove the one that is too many", where, version);
    nn_drop(package);
    nn_drop(text);
    nn_drop(file);
    return same;
}

static PyObject *process; /* the module */

/* Imports the module; nnapi_shim.process.begin() comes before all that is imported later. */
static bool import_process(bool is_ours)
{
    const struct nn_libpython *py = nn_py();
    process = py->PyImport_ImportModule("nnapi_shim.process");
    bool done = process != NULL;
    if (done && is_ours) {
        PyObject *none = py->PyObject_CallMethod(process, "begin", NULL);
        done = none != NULL;
        nn_drop(none);
    }
    if (!done)
        nn_fail_with_exception("cannot start the Python package nnapi_shim");
    return done;
}

/* nnapi_shim.abi.attach(file, store_error, print, fast_path, levels, is_privileged): the
 * address of the table of functions of the module. */
static const struct nn_calls *call_attach(const char *callbacks)
{
    const struct nn_libpython *py = nn_py();
    void (*store_error)(const char *) = nnapi_shim_storeError;
    void (*print)(const char *, size_t) = nn_print;
    PyObject *abi = py->PyImport_ImportModule("nnapi_shim.abi");
    PyObject *table = abi == NULL ? NULL : py->PyObject_CallMethod(
        abi, "attach", "sKKKKi", callbacks, (unsigned long long)(uintptr_t)store_error,
        (unsigned long long)(uintptr_t)print, (unsigned long long)(uintptr_t)&nn_fast_path,
        (unsigned long long)(uintptr_t)&nn_levels, getauxval(AT_SECURE) != 0);
    const struct nn_calls *calls = table != NULL ? py->PyLong_AsVoidPtr(table) : NULL;
    if (calls == NULL)
        nn_fail_with_exception("cannot start the Python package nnapi_shim");
    nn_drop(table);
    nn_drop(abi);
    return calls;
}

bool nn_is_importing(void)
{
    const struct nn_libpython *py = nn_py();
    PyObject *answer = process != NULL ? py->PyObject_CallMethod(process, "is_importing", NULL) : NULL;
    const bool is_importing = answer != NULL && py->PyLong_AsVoidPtr(answer) != NULL;
    if (answer == NULL)
        py->PyErr_Clear();
    nn_drop(answer);
    return is_importing;
}

bool nn_attach(const struct nn_location *location, bool is_ours)
{
    const struct nn_libpython *py = nn_py();
    /* Checked first, as the error message of cffi has twenty lines. */
    PyObject *backend = py->PyImport_ImportModule("_cffi_backend");
    if (backend == NULL) {
        char what[PATH_MAX + 256];
        snprintf(what, sizeof what, "cannot import from the package cffi, which has to be there for "
                 "Python 3.%d, which runs this program (%s); with it: pip install cffi numpy",
                 py->minor, nn_python_file());
        nn_fail_with_exception(what);
        return false;
    }
    py->Py_DecRef(backend);

    if (!is_of_this_version() || !import_process(is_ours))
        return false;
    const struct nn_calls *calls = call_attach(location->callbacks);
    if (calls == NULL)
        return false;
    if (strcmp(calls->build, NN_BUILD) != 0) {
        nn_fail("%s is not of the same build as the library; build or install both again",
                location->callbacks);
        return false;
    }
    const char *missing = calls->missing();
    if (missing != NULL) {
        nn_fail("the Python package nnapi_shim has no function for %s; library and package are of "
                "different versions", missing);
        return false;
    }
    nn_calls = *calls;
    return true;
}
