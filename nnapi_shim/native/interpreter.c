/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts Python in a program that has none, or joins the interpreter that the program runs.
 *
 * The interpreter is isolated: it reads no environment variable, installs no signal handler, and
 * does not change the locale and the standard streams. `site` is not imported; the module search
 * path is the standard library, then the folders that location.c found.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot.h"
#include "libpython.h"

/* The configuration of an interpreter. */
struct settings {
    char prefix[PATH_MAX];             /* sys.prefix */
    char executable[PATH_MAX + 64];    /* sys.executable, which otherwise depends on PATH */
    int count;
    char paths[NN_MAX_FOLDERS + 2][PATH_MAX + 64];
};

/* Finds the standard library: the folder python3.N that is nearest to libpython, in its folder or
 * above (Debian has libpython in /usr/lib/<architecture>). Cuts `folder` to what contains it. */
static bool find_standard_library(char folder[PATH_MAX])
{
    if (realpath(nn_python_file(), folder) == NULL)
        return false;
    for (char *end = strrchr(folder, '/'); end != NULL; end = strrchr(folder, '/')) {
        char landmark[PATH_MAX];
        *end = '\0';
        if (snprintf(landmark, sizeof landmark, "%s/python3.%d/os.py", folder, nn_py()->minor)
                < PATH_MAX
            && eaccess(landmark, R_OK) == 0)
            return true;
    }
    return false;
}

static void settle(struct settings *settings, const struct nn_location *location, char *folder)
{
    const int minor = nn_py()->minor;
    const size_t size = sizeof *settings->paths;
    snprintf(settings->paths[0], size, "%s/python3.%d", folder, minor);
    snprintf(settings->paths[1], size, "%s/python3.%d/lib-dynload", folder, minor);
    for (int i = 0; i < location->count; i++)
        snprintf(settings->paths[2 + i], size, "%s", location->folders[i]);
    settings->count = 2 + location->count;
    *strrchr(folder, '/') = '\0';
    snprintf(settings->prefix, sizeof settings->prefix, "%s", folder);
    snprintf(settings->executable, sizeof settings->executable, "%s/bin/python3.%d", folder, minor);
}

/* Where the fields that are set lie in PyConfig, which is opaque here: offsets in bytes, the same
 * in all releases of a version. tests/native/test_libpython.py compares them with the headers. */
struct layout {
    int minor;
    size_t buffered_stdio, site_import, module_search_paths_set, module_search_paths, home,
        executable;
};
static const struct layout layouts[] = {
    {10, 200, 152, 272, 280, 256, 296},
    {11, 216, 168, 296, 304, 280, 328},
    {12, 224, 176, 304, 312, 288, 336},
    {13, 224, 176, 312, 320, 296, 344},
};
enum { UTF8_MODE = 28 }; /* in PyPreConfig, in all of them */

union config {
    max_align_t alignment;
    char bytes[4096]; /* several times the required size */
};

static int *number_at(union config *config, size_t offset)
{
    return (int *)(config->bytes + offset);
}

static PyStatus append_path(void *list, const char *path)
{
    wchar_t *wide = nn_py()->Py_DecodeLocale(path, NULL);
    PyStatus status = {.type = 1, .message = "out of memory"};
    if (wide != NULL)
        status = nn_py()->PyWideStringList_Append(list, wide);
    nn_py()->PyMem_RawFree(wide);
    return status;
}

static PyStatus set_string(union config *config, size_t offset, const char *text)
{
    return nn_py()->PyConfig_SetBytesString(config, (wchar_t **)(config->bytes + offset), text);
}

static bool start_by_struct(const struct settings *settings, const char **reason)
{
    const struct nn_libpython *py = nn_py();
    static union config preconfig, config;
    const struct layout *at = layouts;
    while (at->minor != py->minor)
        at++;

    py->PyPreConfig_InitIsolatedConfig(&preconfig);
    *number_at(&preconfig, UTF8_MODE) = 1; /* file names and messages do not depend on the locale */
    PyStatus status = py->Py_PreInitialize(&preconfig);
    if (status.type == 0) {
        py->PyConfig_InitIsolatedConfig(&config);
        *number_at(&config, at->buffered_stdio) = 0; /* no finalization would flush */
        *number_at(&config, at->site_import) = 0;
        *number_at(&config, at->module_search_paths_set) = 1;
        for (int i = 0; i < settings->count && status.type == 0; i++)
            status = append_path(config.bytes + at->module_search_paths, settings->paths[i]);
        if (status.type == 0)
            status = set_string(&config, at->home, settings->prefix);
        if (status.type == 0)
            status = set_string(&config, at->executable, settings->executable);
        if (status.type == 0)
            status = py->Py_InitializeFromConfig(&config);
        py->PyConfig_Clear(&config);
    }
    *reason = status.message;
    return status.type == 0;
}

static bool start_by_names(const struct settings *settings, const char **reason)
{
    const struct nn_libpython *py = nn_py();
    static char message[512];
    char *paths[NN_MAX_FOLDERS + 2];
    for (int i = 0; i < settings->count; i++)
        paths[i] = (char *)settings->paths[i];

    PyInitConfig *config = py->PyInitConfig_Create(); /* isolated */
    if (config == NULL)
        return false;
    bool started = py->PyInitConfig_SetInt(config, "utf8_mode", 1) == 0
        && py->PyInitConfig_SetInt(config, "buffered_stdio", 0) == 0
        && py->PyInitConfig_SetInt(config, "site_import", 0) == 0
        && py->PyInitConfig_SetStrList(config, "module_search_paths", (size_t)settings->count, paths)
            == 0
        && py->PyInitConfig_SetStr(config, "home", settings->prefix) == 0
        && py->PyInitConfig_SetStr(config, "executable", settings->executable) == 0
        && py->Py_InitializeFromInitConfig(config) == 0;
    const char *error = NULL;
    if (!started && py->PyInitConfig_GetError(config, &error) == 1 && error != NULL) {
        snprintf(message, sizeof message, "%s", error);
        *reason = message;
    }
    py->PyInitConfig_Free(config);
    return started;
}

/* Importing the built-in module _signal installs a SIGINT handler, regardless of the configuration.
 * So it is imported now, and the handler of SIGINT is restored. */
static bool import_signal_quietly(void)
{
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    PyObject *module = nn_py()->PyImport_ImportModule("_signal");
    sigaction(SIGINT, &interrupt, NULL);
    if (module == NULL)
        nn_fail_with_exception("cannot import what every Python has");
    nn_drop(module);
    return module != NULL;
}

/* Python crashes if memory is short during its start, so free memory is checked before. */
enum { ROOM_TO_START = 32 << 20 };

static bool has_room(void)
{
    void *room = mmap(NULL, ROOM_TO_START, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, ROOM_TO_START) == 0;
}

bool nn_python_start(const struct nn_location *location)
{
    static struct settings settings;
    char folder[PATH_MAX];
    const char *reason = NULL;
    const int minor = nn_py()->minor;
    if (!find_standard_library(folder)) {
        nn_fail("there is no folder python3.%d, Python's standard library, at %s or above; on Debian "
                "and Ubuntu: apt install libpython3.%d-stdlib", minor, nn_python_file(), minor);
        return false;
    }
    if (!has_room()) {
        nn_fail("cannot start Python: out of memory; it takes %d MiB", ROOM_TO_START >> 20);
        return false;
    }
    settle(&settings, location, folder);
    if (!(minor < NN_FIRST_WITH_NAMES ? start_by_struct(&settings, &reason)
                                      : start_by_names(&settings, &reason))) {
        nn_fail("cannot start Python: %s", reason != NULL ? reason : "no reason given");
        return false;
    }
    nn_py()->PyGC_Disable(); /* until the package is imported (abi.attach): there is nothing to collect */
    bool started = import_signal_quietly();
    nn_py()->PyEval_SaveThread();
    return started;
}

/* Appended at the end, so that imports of the program are unchanged. */
static bool append_to_sys_path(const char *name)
{
    const struct nn_libpython *py = nn_py();
    PyObject *path = py->PySys_GetObject("path");
    PyObject *folder = py->PyUnicode_DecodeFSDefault(name);
    int known = path != NULL && folder != NULL ? py->PySequence_Contains(path, folder) : -1;
    bool ok = known == 1 || (known == 0 && py->PyList_Append(path, folder) == 0);
    nn_drop(folder);
    if (!ok)
        nn_fail_with_exception("cannot extend sys.path");
    return ok;
}

/* Whether a folder holds packages of another version, whose compiled modules would not load. */
static bool is_of_another_version(const char *folder)
{
    const int minor = nn_minor_of_folder(folder);
    return minor != 0 && minor != nn_py()->minor;
}

/* Imports nnapi_shim from a folder from which the program must not import other modules. */
static bool import_from(const char *folder)
{
    const struct nn_libpython *py = nn_py();
    if (!append_to_sys_path(folder))
        return false;
    PyObject *package = py->PyImport_ImportModule("nnapi_shim");
    PyObject *path = package != NULL ? py->PySys_GetObject("path") : NULL;
    PyObject *last = path != NULL ? py->PyObject_CallMethod(path, "pop", NULL) : NULL;
    if (last == NULL)
        nn_fail_with_exception("cannot import the Python package nnapi_shim");
    nn_drop(last);
    nn_drop(package);
    return last != NULL;
}

bool nn_python_join(const struct nn_location *location)
{
    char folder[PATH_MAX], modules[PATH_MAX + 64];
    if (is_of_another_version(location->folders[0]) && !import_from(location->folders[0]))
        return false;
    for (int i = 0; i < location->count; i++)
        if (!is_of_another_version(location->folders[i])
            && !append_to_sys_path(location->folders[i]))
            return false;
    /* A program that started Python with an empty environment may have the library without this. */
    if (!find_standard_library(folder))
        return true;
    snprintf(modules, sizeof modules, "%s/python3.%d/lib-dynload", folder, nn_py()->minor);
    return eaccess(modules, R_OK) != 0 || append_to_sys_path(modules);
}
