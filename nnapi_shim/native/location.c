/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the library, and its Python package.
 *
 * libneuralnetworks.location lies beside the library. Its lines are key=value:
 *   path=FOLDER    a folder for Python's module search path, relative to the library; the first
 *                  one holds the package nnapi_shim, the others what the package imports
 *   python=FILE    the libpython to use, relative to the library or not; without it, find_python.c
 *                  finds the Python of the environment that contains the package
 *   origin=FOLDER  where the library was built; the paths are tried from there, too, so that
 *                  library and location file can be copied to a folder for libraries
 *   build=DIGEST   unused here: build_ffi.py uses it to decide about a rebuild
 * A tree that is moved as a whole keeps working, as the folder of the library is tried first. trust.c
 * checks all files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot.h"
#include "libpython.h"

static const char location_file[] = "libneuralnetworks.location";
static const char how_to_mend[] =
    "build or install it again, or set NNAPI_SHIM_HOME to the folder that holds nnapi_shim";

/* This library and its folder, symbolic links resolved. Resolved when the library is loaded, as a
 * relative path is invalid after a chdir(). */
static char library_file[PATH_MAX], library_folder[PATH_MAX];

__attribute__((constructor)) static void remember_library_folder(void)
{
    Dl_info library;
    if (dladdr(library_folder, &library) == 0
        || realpath(library.dli_fname, library_folder) == NULL) {
        library_folder[0] = '\0';
        return;
    }
    strcpy(library_file, library_folder);
    *strrchr(library_folder, '/') = '\0';
}

/* Joins two paths; false when the result is too long. */
static bool join(char *path, const char *folder, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool holds_package(const char *folder)
{
    char file[PATH_MAX];
    return join(file, folder, "nnapi_shim/__init__.py") && eaccess(file, R_OK) == 0;
}

static bool is_trusted_package(const char *folder)
{
    char package[PATH_MAX], file[PATH_MAX];
    return join(package, folder, "nnapi_shim") && join(file, package, "__init__.py")
        && nn_trusts(folder, library_file) && nn_trusts(package, library_file)
        && nn_trusts(file, library_file);
}

void nn_append_folder(struct nn_location *location, const char *base, const char *relative)
{
    char path[PATH_MAX];
    if (location->count == NN_MAX_FOLDERS || !join(path, base, relative))
        return;
    char *folder = location->folders[location->count];
    if (realpath(path, folder) == NULL || !nn_trusts(folder, library_file))
        return;
    for (int i = 0; i < location->count; i++)
        if (strcmp(location->folders[i], folder) == 0)
            return;
    location->count++;
}

/* The contents of the location file. */
struct record {
    int count;
    char paths[NN_MAX_FOLDERS][PATH_MAX];
    char origin[PATH_MAX];
    char python[PATH_MAX];
    int error; /* errno, if it could not be read */
};

static void read_record(const char *name, struct record *record)
{
    errno = 0;
    FILE *file = nn_trusts(name, library_file) ? fopen(name, "re") : NULL;
    if (file == NULL) {
        record->error = errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0;
        return;
    }
    char line[PATH_MAX + 16];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *value = strchr(line, '=');
        if (value == NULL || strlen(value) >= PATH_MAX)
            continue;
        *value++ = '\0';
        if (strcmp(line, "path") == 0 && record->count < NN_MAX_FOLDERS)
            strcpy(record->paths[record->count++], value);
        else if (strcmp(line, "origin") == 0)
            strcpy(record->origin, value);
        else if (strcmp(line, "python") == 0)
            strcpy(record->python, value);
    }
    fclose(file);
}

/* Whether the extension module of the same build exists and is trusted. It is not loaded for this, as
 * loading runs its code. */
static bool is_other_half(const char *name)
{
    enum { KEPT = sizeof NN_BUILD - 1 }; /* the digest may span two parts */
    char part[KEPT + 4096] = "";
    struct stat status;
    bool found = false;
    FILE *file = eaccess(name, R_OK) == 0 && nn_trusts(name, library_file) ? fopen(name, "re") : NULL;
    if (file == NULL)
        return false;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)) {
        size_t size;
        setvbuf(file, NULL, _IONBF, 0);
        while (!found && (size = fread(part + KEPT, 1, sizeof part - KEPT, file)) > 0) {
            found = memmem(part, KEPT + size, NN_BUILD, sizeof NN_BUILD) != NULL;
            memmove(part, part + size, KEPT);
        }
    }
    fclose(file);
    return found;
}

static const char other_half[] = "nnapi_shim_callbacks.abi3.so";

/* Whether a folder has the package with the extension module of this build. */
static bool is_of_this_build(const char *folder)
{
    char file[PATH_MAX], libraries[PATH_MAX];
    return (join(libraries, folder, "nnapi_shim/lib") && join(file, libraries, other_half)
            && is_other_half(file))
        || (join(libraries, folder, "build/lib") && join(file, libraries, other_half)
            && is_other_half(file));
}

/* The folder from which the recorded paths lead to the package; NULL if there is none. A library in
 * another folder than at build time uses these paths relative to its folder only if the extension module
 * there is of the same build: then the whole tree was moved. */
static const char *base_of(const struct record *record)
{
    const char *bases[] = {library_folder, record->origin};
    const bool may_be_elsewhere =
        record->origin[0] != '\0' && strcmp(record->origin, library_folder) != 0;
    for (int i = 0; i < 2 && record->count > 0; i++) {
        char folder[PATH_MAX], real[PATH_MAX];
        if (bases[i][0] != '\0' && join(folder, bases[i], record->paths[0])
            && realpath(folder, real) != NULL && holds_package(real)
            && (i == 1 || !may_be_elsewhere || is_of_this_build(real)) && is_trusted_package(real))
            return bases[i];
    }
    return NULL;
}

/* Reports why the location file cannot be used. */
static void fail(const char *file, const struct record *record)
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (record->error != 0) {
        nn_fail("%s cannot be read: %s", file, strerror(record->error));
        return;
    }
    if (record->count == 0) {
        nn_fail("%s does not say where the Python package nnapi_shim is, or cannot be read; %s",
                file, how_to_mend);
        return;
    }
    const char *where = record->paths[0];
    if (join(path, library_folder, where))
        where = realpath(path, folder) != NULL ? folder : path;
    nn_fail("there is no Python package nnapi_shim in %s, where %s says it is; %s", where, file,
            how_to_mend);
}

/* The packages of the virtual environment of a checkout. */
static void append_environment(struct nn_location *location, const char *home)
{
    for (int minor = NN_OLDEST_PYTHON; minor < 32; minor++) {
        char folder[64];
        snprintf(folder, sizeof folder, ".venv/lib/python3.%d/site-packages", minor);
        nn_append_folder(location, home, folder);
    }
}

/* The extension module: beside the library, at the origin of the library, or in the package. */
static bool find_other_half(struct nn_location *location, const struct record *record)
{
    char in_package[PATH_MAX], in_checkout[PATH_MAX], other[PATH_MAX] = "";
    const char *folders[] = {library_folder, record->origin, in_package, in_checkout};
    if (!join(in_package, location->folders[0], "nnapi_shim/lib"))
        in_package[0] = '\0';
    if (!join(in_checkout, location->folders[0], "build/lib"))
        in_checkout[0] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (folders[i][0] == '\0' || !join(location->callbacks, folders[i], other_half))
            continue;
        if (is_other_half(location->callbacks))
            return true;
        if (other[0] == '\0' && eaccess(location->callbacks, R_OK) == 0)
            strcpy(other, location->callbacks);
    }
    if (other[0] != '\0')
        nn_fail("%s is not of the same build as the library; build or install both again", other);
    else
        nn_fail("%s is not in the library's folder, %s; build or install it again", other_half,
                library_folder);
    return false;
}

bool nn_locate(struct nn_location *location)
{
    /* A program with raised privileges ignores the paths of its user. */
    const char *home = secure_getenv("NNAPI_SHIM_HOME");
    if (home != NULL && home[0] != '\0') {
        if (!holds_package(home)) {
            nn_fail("NNAPI_SHIM_HOME is %s, but there is no Python package nnapi_shim in it", home);
            return false;
        }
        nn_append_folder(location, home, ".");
        append_environment(location, home);
    }

    static struct record record;
    char file[PATH_MAX];
    if (join(file, library_folder, location_file))
        read_record(file, &record);
    const char *base = base_of(&record);
    for (int i = 0; base != NULL && i < record.count; i++)
        nn_append_folder(location, base, record.paths[i]);

    if (location->count == 0) {
        fail(file, &record);
        return false;
    }
    if (record.python[0] == '/')
        strcpy(location->python, record.python);
    else if (record.python[0] != '\0' && base != NULL
             && !(join(location->python, base, record.python)
                  && nn_trusts(location->python, library_file)))
        location->python[0] = '\0';
    return find_other_half(location, &record);
}
