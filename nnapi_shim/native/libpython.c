/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a table with the functions of a libpython, of the process or of a file. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpython.h"

_Atomic(const struct nn_libpython *) nn_libpython = NULL;

static char problem[512]; /* why the last libpython cannot be used */

/* 3.minor from "3.11.2 (main, ...)"; 0 for an unsupported version. */
static int minor_version(const char *version)
{
    int minor = 0;
    const char *why = NULL;
    if (sscanf(version, "3.%d.", &minor) != 1 || minor < NN_OLDEST_PYTHON)
        why = "3.10 or newer is needed";
    else if (strstr(version, "free-threading") != NULL)
        why = "a build of it that has the GIL is needed";
    if (why == NULL)
        return minor;
    snprintf(problem, sizeof problem, "Python %.*s; %s", (int)strcspn(version, " "), version, why);
    return 0;
}

/* Fills the table from an open library, or RTLD_DEFAULT. */
static bool fill(struct nn_libpython *table, void *library)
{
    const char *missing = NULL;
#define TAKE(result, name, parameters) TAKE_RENAMED(result, name, name, parameters)
#define TAKE_RENAMED(result, name, older, parameters) \
    table->name = (result(*) parameters)dlsym(library, #name); \
    if (table->name == NULL) \
        table->name = (result(*) parameters)dlsym(library, #older); \
    if (table->name == NULL) \
        missing = #name;

    table->Py_GetVersion = (const char *(*)(void))dlsym(library, "Py_GetVersion");
    if (table->Py_GetVersion == NULL) {
        snprintf(problem, sizeof problem, "it has no Py_GetVersion");
        return false;
    }
    table->minor = minor_version(table->Py_GetVersion());
    if (table->minor == 0)
        return false;
    NN_LIBPYTHON(TAKE)
    NN_LIBPYTHON_RENAMED(TAKE_RENAMED)
    if (table->minor < NN_FIRST_WITH_NAMES) {
        NN_LIBPYTHON_STRUCTS(TAKE)
    } else {
        NN_LIBPYTHON_NAMES(TAKE)
    }
    if (missing != NULL)
        snprintf(problem, sizeof problem, "Python 3.%d without %s", table->minor, missing);
    return missing == NULL;
}

static bool take(void *library)
{
    static struct nn_libpython table;
    if (!fill(&table, library))
        return false;
    atomic_store(&nn_libpython, &table);
    return true;
}

/* Finds a libpython that the program has opened with RTLD_LOCAL. */
static int is_libpython(struct dl_phdr_info *object, size_t size, void *name)
{
    (void)size;
    const char *file = strrchr(object->dlpi_name, '/');
    file = file != NULL ? file + 1 : object->dlpi_name;
    if (strncmp(file, "libpython3.", 11) != 0)
        return 0;
    *(char **)name = strdup(object->dlpi_name);
    return 1;
}

bool nn_take_present_python(const char **reason)
{
    *reason = NULL;
    if (nn_py() != NULL)
        return true;
    if (dlsym(RTLD_DEFAULT, "Py_GetVersion") != NULL) {
        if (take(RTLD_DEFAULT))
            return true;
        *reason = problem;
        return false;
    }
    char *name = NULL;
    if (dl_iterate_phdr(is_libpython, &name) == 0 || name == NULL)
        return false;
    /* Global from now on: extension modules are not linked with libpython. */
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    bool taken = library != NULL && take(library);
    if (library != NULL && !taken)
        *reason = problem;
    free(name);
    return taken;
}

/* Whether an ELF file is for another architecture than this library, which glibc reports as a file
 * that is not there. */
static bool is_foreign(const char *file)
{
    Dl_info own;
    ElfW(Ehdr) header;
    const int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    const bool is_read = read(descriptor, &header, sizeof header) == sizeof header;
    close(descriptor);
    return is_read && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0
           && dladdr((void *)is_foreign, &own) != 0
           && header.e_machine != ((const ElfW(Ehdr) *)own.dli_fbase)->e_machine;
}

bool nn_open_python(const char *file, const char **reason)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        const char *error = dlerror();
        snprintf(problem, sizeof problem, "%s",
                 is_foreign(file) ? "it is for another architecture" : error);
    } else if (take(library)) {
        return true;
    } else {
        dlclose(library);
    }
    *reason = problem;
    return false;
}

const char *nn_python_file(void)
{
    Dl_info python;
    const struct nn_libpython *py = nn_py();
    return py != NULL && dladdr((void *)py->Py_GetVersion, &python) != 0 ? python.dli_fname : "";
}
