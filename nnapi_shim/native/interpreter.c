/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts Python in a program that has none, or joins the interpreter that the program runs.
 *
 * The interpreter is isolated: it reads no environment variable, installs no signal handler, and
 * leaves the locale and the standard streams of the program alone. `site` is not imported; the
 * module search path is what location.c found, behind the standard library.
 */
#include <Python.h>

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "boot.h"

static bool same_version(const char *version)
{
    static const char ours[] =
        Py_STRINGIFY(PY_MAJOR_VERSION) "." Py_STRINGIFY(PY_MINOR_VERSION) ".";
    return strncmp(version, ours, sizeof ours - 1) == 0;
}

/* Only one Python fits into a process: another one in the program has taken over the symbols that
 * this library and all extension modules refer to. */
bool nn_python_matches(void)
{
    const char *(*get_version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    const char *version = Py_GetVersion();
    if (get_version != NULL && same_version(version))
        version = get_version();
    if (same_version(version))
        return true;
    nn_fail("this program runs Python %.*s, the library was built for Python " PY_VERSION
            "; build it with the program's Python", (int)strcspn(version, " "), version);
    return false;
}

/* The file that Python's functions come from: libpython, or a program that contains it. */
static const char *python_file(void)
{
    Dl_info python;
    return dladdr((void *)&Py_GetVersion, &python) != 0 ? python.dli_fname : "";
}

/* Extension modules are not linked with libpython and expect its symbols in the global scope,
 * where they are not if the program has opened this library with RTLD_LOCAL. */
static void make_python_global(void)
{
    const char *file = python_file();
    if (strstr(file, "libpython") != NULL)
        dlopen(file, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Finds the standard library: the folder pythonX.Y that is nearest to libpython, in its folder or
 * above (Debian has libpython in /usr/lib/<architecture>). Cuts `folder` to what contains it. */
static bool find_standard_library(char folder[PATH_MAX])
{
    if (realpath(python_file(), folder) == NULL)
        return false;
    for (char *end = strrchr(folder, '/'); end != NULL; end = strrchr(folder, '/')) {
        char landmark[PATH_MAX];
        *end = '\0';
        if (snprintf(landmark, sizeof landmark, "%s/" NN_PYTHON "/os.py", folder) < PATH_MAX
            && access(landmark, R_OK) == 0)
            return true;
    }
    return false;
}

static PyStatus append_folder(PyWideStringList *list, const char *format, const char *folder)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, format, folder);
    wchar_t *wide = Py_DecodeLocale(path, NULL);
    if (wide == NULL)
        return PyStatus_NoMemory();
    PyStatus status = PyWideStringList_Append(list, wide);
    PyMem_RawFree(wide);
    return status;
}

static PyStatus configure(PyConfig *config, const struct nn_location *location, char *folder)
{
    config->buffered_stdio = 0; /* there is no finalization that would flush */
    config->site_import = 0;
    config->module_search_paths_set = 1;

    PyWideStringList *paths = &config->module_search_paths;
    PyStatus status = append_folder(paths, "%s/" NN_PYTHON, folder);
    if (!PyStatus_Exception(status))
        status = append_folder(paths, "%s/" NN_PYTHON "/lib-dynload", folder);
    for (int i = 0; i < location->count && !PyStatus_Exception(status); i++)
        status = append_folder(paths, "%s", location->folders[i]);

    /* sys.prefix and sys.executable, which otherwise depend on PATH. */
    char path[PATH_MAX + 64];
    *strrchr(folder, '/') = '\0';
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->home, folder);
    snprintf(path, sizeof path, "%s/bin/" NN_PYTHON, folder);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->executable, path);
    return status;
}

/* The built-in module _signal gives SIGINT to Python as soon as something imports it, whatever the
 * configuration says. So it is imported now and SIGINT given back. */
static bool import_signal_quietly(void)
{
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    PyObject *module = PyImport_ImportModule("_signal");
    sigaction(SIGINT, &interrupt, NULL);
    if (module == NULL)
        nn_fail_with_exception("cannot import what every Python has");
    Py_XDECREF(module);
    return module != NULL;
}

bool nn_python_start(const struct nn_location *location)
{
    char folder[PATH_MAX];
    if (!find_standard_library(folder)) {
        nn_fail("there is no folder " NN_PYTHON ", Python's standard library, at %s or above",
                python_file());
        return false;
    }
    make_python_global();

    PyPreConfig preconfig;
    PyPreConfig_InitIsolatedConfig(&preconfig);
    preconfig.utf8_mode = 1; /* file names and messages do not depend on the locale */
    PyStatus status = Py_PreInitialize(&preconfig);

    if (!PyStatus_Exception(status)) {
        PyConfig config;
        PyConfig_InitIsolatedConfig(&config);
        status = configure(&config, location, folder);
        if (!PyStatus_Exception(status))
            status = Py_InitializeFromConfig(&config);
        PyConfig_Clear(&config);
    }
    if (PyStatus_Exception(status)) {
        nn_fail("cannot start Python: %s",
                status.err_msg != NULL ? status.err_msg : "no reason given");
        return false;
    }

    bool started = import_signal_quietly();
    PyEval_SaveThread();
    return started;
}

/* At the end: what the program imports stays what it was. */
static bool append_to_sys_path(const char *name)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *folder = PyUnicode_DecodeFSDefault(name);
    int known = path != NULL && folder != NULL ? PySequence_Contains(path, folder) : -1;
    bool ok = known == 1 || (known == 0 && PyList_Append(path, folder) == 0);
    Py_XDECREF(folder);
    if (!ok)
        nn_fail_with_exception("cannot extend sys.path");
    return ok;
}

bool nn_python_join(const struct nn_location *location)
{
    char folder[PATH_MAX], modules[PATH_MAX + 64];
    make_python_global();
    for (int i = 0; i < location->count; i++)
        if (!append_to_sys_path(location->folders[i]))
            return false;
    /* A program that started Python with an empty environment may have the library without this. */
    if (!find_standard_library(folder))
        return true;
    snprintf(modules, sizeof modules, "%s/" NN_PYTHON "/lib-dynload", folder);
    return access(modules, R_OK) != 0 || append_to_sys_path(modules);
}
