/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes Python callable from C. The generated source includes this file, because it needs what cffi
 * keeps static there. Before, it defines nn_callbacks: every `extern "Python"` function, then NULL.
 *
 * Not cffi_start_python(): before CPython 3.12 it uses PyCapsule_Type.tp_version_tag as a spin lock
 * and never returns in a program where that type has a version tag already (after `import torch`).
 * Nor cffi's embedding_init_code: when that fails, cffi answers 0 for every function, which is
 * NO_ERROR. Here, a function is called only after all of them have been attached.
 */
/* Imports the module that is compiled into this library, NN_MODULE: its ffi and lib. */
static bool nn_start_cffi(void)
{
    /* Looked for first, because cffi reports its absence in twenty lines. */
    PyObject *backend = PyImport_ImportModule("_cffi_backend");
    if (backend == NULL) {
        nn_fail_with_exception("cannot import from the package cffi, which nnapi_shim needs");
        return false;
    }
    Py_DECREF(backend);

    if (_cffi_initialize_python() != 0) {
        _cffi_call_python_org = NULL;
        nn_fail("cffi could not set up the Python module " NN_MODULE);
        return false;
    }
    __sync_synchronize();
    _cffi_call_python = (_cffi_call_python_fnptr)_cffi_call_python_org;
    return true;
}

/* nnapi_shim.abi.attach(ffi, lib) */
static bool nn_call_attach(void)
{
    PyObject *module = PyImport_ImportModule(NN_MODULE);
    PyObject *abi = module != NULL ? PyImport_ImportModule("nnapi_shim.abi") : NULL;
    PyObject *ffi = abi != NULL ? PyObject_GetAttrString(module, "ffi") : NULL;
    PyObject *lib = ffi != NULL ? PyObject_GetAttrString(module, "lib") : NULL;
    PyObject *done = lib != NULL ? PyObject_CallMethod(abi, "attach", "OO", ffi, lib) : NULL;
    bool ok = done != NULL;
    if (!ok)
        nn_fail_with_exception("cannot start the Python package nnapi_shim");
    Py_XDECREF(done);
    Py_XDECREF(lib);
    Py_XDECREF(ffi);
    Py_XDECREF(abi);
    Py_XDECREF(module);
    return ok;
}

bool nn_attach(void)
{
    if (!nn_start_cffi() || !nn_call_attach())
        return false;
    for (const struct nn_callback *callback = nn_callbacks; callback->name != NULL; callback++)
        if (callback->entry->reserved1 == NULL) { /* set by def_extern() */
            nn_fail("the Python package nnapi_shim has no function for %s; "
                    "library and package are of different versions", callback->name);
            return false;
        }
    return true;
}
