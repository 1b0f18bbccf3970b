/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the libpython to open if the process has none. The first of these that can be opened:
 *   NNAPI_SHIM_PYTHON, if set: a libpython, a python, or the folder of an environment;
 *   python=FILE of the location file;
 *   the Python of the environment that contains the package. The names of folders, or the compiled
 *   module of cffi, determine its version; its shared library lies below the prefix of the
 *   environment or of its base Python, or in the search path of the loader.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot.h"
#include "libpython.h"

/* Why the last existing libpython could not be used; "" if none exists. */
static char refused[PATH_MAX + 600];

static bool open_file(const char *file)
{
    const char *reason = NULL;
    if (nn_open_python(file, &reason))
        return true;
    if (strchr(file, '/') != NULL && eaccess(file, R_OK) == 0)
        snprintf(refused, sizeof refused, "%s cannot be used: %s", file, reason);
    return false;
}

/* Folders of the shared library of a Python with this prefix: Debian's and Fedora's. */
static bool open_below(const char *prefix, int minor)
{
    static const char *const folders[] = {"lib", NN_TRIPLET_FOLDER, "lib64"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char file[PATH_MAX];
        int length = snprintf(file, sizeof file, "%s/%s/libpython3.%d.so.1.0", prefix, folders[i],
                              minor);
        if (length < PATH_MAX && eaccess(file, R_OK) == 0 && open_file(file))
            return true;
    }
    return false;
}

/* Cuts the last `count` names off a path; false if it has no more than these. */
static bool cut(char *path, int count)
{
    for (; count > 0; count--) {
        char *end = strrchr(path, '/');
        if (end == NULL || end == path)
            return false;
        *end = '\0';
    }
    return true;
}

/* The prefix of the Python that an executable or a link to one belongs to. */
static bool prefix_of_executable(char prefix[PATH_MAX], const char *executable)
{
    return realpath(executable, prefix) != NULL && cut(prefix, 2);
}

/* The value of `home` in the pyvenv.cfg of a virtual environment: the folder of its python. */
static bool read_home(char home[PATH_MAX], const char *environment)
{
    char line[PATH_MAX + 64];
    FILE *file = snprintf(line, sizeof line, "%s/pyvenv.cfg", environment) < PATH_MAX
        ? fopen(line, "re") : NULL;
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, '=');
        if (value == NULL || strncmp(line, "home", 4) != 0 || strchr(" =", line[4]) == NULL)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\r\n")] = '\0';
        found = strlen(value) < PATH_MAX;
        if (found)
            strcpy(home, value);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* The Python of an environment, virtual or not. */
static bool open_environment(const char *environment, int minor)
{
    char path[PATH_MAX + 32], prefix[PATH_MAX], home[PATH_MAX];
    bool is_virtual = read_home(home, environment);
    if (!is_virtual && open_below(environment, minor))
        return true;
    /* A python that is a link points to its base Python; a copy has pyvenv.cfg. */
    snprintf(path, sizeof path, "%s/bin/python3.%d", environment, minor);
    if (prefix_of_executable(prefix, path) && open_below(prefix, minor))
        return true;
    if (!is_virtual)
        return false;
    snprintf(path, sizeof path, "%s/python3.%d", home, minor);
    if (prefix_of_executable(prefix, path) && open_below(prefix, minor))
        return true;
    if (cut(home, 1) && open_below(home, minor))
        return true;
    if (eaccess(home, X_OK) != 0)
        snprintf(refused, sizeof refused, "the virtual environment %s was made with a Python in %s,"
                 " which is not there any more; make the environment anew", environment, home);
    return false;
}

/* Splits PREFIX/lib/python3.N/site-packages; N is 0 for a folder that serves several versions. */
static bool split_folder(const char *folder, char prefix[PATH_MAX], int *minor)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    const char *name = strrchr(path, '/');
    if (name == NULL
        || (strcmp(name, "/site-packages") != 0 && strcmp(name, "/dist-packages") != 0))
        return false;
    cut(path, 1);
    name = strrchr(path, '/');
    int end = 0;
    *minor = 0;
    if (name == NULL || strncmp(name, "/python3", 8) != 0
        || (name[8] != '\0' && (sscanf(name, "/python3.%d%n", minor, &end) != 1 || name[end])))
        return false;
    snprintf(prefix, PATH_MAX, "%s", path);
    return cut(prefix, 2);
}

int nn_minor_of_folder(const char *folder)
{
    char prefix[PATH_MAX];
    int minor;
    return split_folder(folder, prefix, &minor) ? minor : 0;
}

/* The versions 3.N for which the compiled module of cffi exists, as a bit set. */
static unsigned backend_versions(const char *folder)
{
    unsigned versions = 0;
    DIR *files = opendir(folder);
    for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
        int minor;
        if (sscanf(file->d_name, "_cffi_backend.cpython-3%2d-", &minor) == 1 && minor < 32)
            versions |= 1u << minor;
    }
    if (files != NULL)
        closedir(files);
    return versions;
}

/* The Python of this name in PATH; none for a program with privileges. */
static bool open_from_path(int minor)
{
    const char *path = secure_getenv("PATH");
    for (size_t length; path != NULL && *path != '\0'; path += length + (path[length] == ':')) {
        char file[PATH_MAX], prefix[PATH_MAX];
        length = strcspn(path, ":");
        if (*path == '/'
            && snprintf(file, sizeof file, "%.*s/python3.%d", (int)length, path, minor) < PATH_MAX
            && prefix_of_executable(prefix, file) && open_below(prefix, minor))
            return true;
    }
    return false;
}

static bool open_version(const struct nn_location *location, int minor)
{
    for (int i = 0; i < location->count; i++) {
        char prefix[PATH_MAX];
        int of_folder;
        if (split_folder(location->folders[i], prefix, &of_folder)
            && (of_folder == 0 || of_folder == minor) && open_environment(prefix, minor))
            return true;
    }
    char name[64];
    snprintf(name, sizeof name, "libpython3.%d.so.1.0", minor);
    return open_file(name) || open_from_path(minor);
}

/* The Python of NNAPI_SHIM_PYTHON; packages of an environment are used, too. */
static bool open_setting(struct nn_location *location, const char *setting)
{
    char path[PATH_MAX + 16];
    struct stat status;
    if (stat(setting, &status) != 0) {
        nn_fail("NNAPI_SHIM_PYTHON is %s, which is not there", setting);
        return false;
    }
    const char *name = strrchr(setting, '/');
    bool is_library = strncmp(name != NULL ? name + 1 : setting, "libpython", 9) == 0;
    if (is_library && open_file(setting))
        return true;
    snprintf(path, sizeof path, "%s", setting);
    if (!is_library && (S_ISDIR(status.st_mode) || cut(path, 2)))
        for (int minor = 40; minor >= NN_OLDEST_PYTHON; minor--) {
            char file[PATH_MAX + 64];
            snprintf(file, sizeof file, "%s/bin/python3.%d", path, minor);
            if (eaccess(file, X_OK) == 0 && open_environment(path, minor)) {
                snprintf(file, sizeof file, "lib/python3.%d/site-packages", minor);
                nn_append_folder(location, path, file);
                return true;
            }
        }
    nn_fail("NNAPI_SHIM_PYTHON is %s: %s", setting,
            refused[0] != '\0' ? refused : "there is no shared library of a Python 3.10 or newer");
    return false;
}

/* Reports what is missing, and how to install it. */
static void fail(const struct nn_location *location, int minor)
{
    if (refused[0] != '\0')
        nn_fail("%s", refused);
    else if (minor != 0)
        nn_fail("Python 3.%d, which nnapi_shim is installed for in %s, has no shared library "
                "libpython3.%d.so.1.0 where one was looked for; if it has one elsewhere, name that "
                "Python in NNAPI_SHIM_PYTHON; else, on Debian and Ubuntu: apt install libpython3.%d; "
                "with pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install 3.%d",
                minor, location->folders[0], minor, minor, minor);
    else
        nn_fail("nothing in %s tells which Python it is installed for: there is no package cffi; "
                "install nnapi_shim again with pip, or name the Python to use in NNAPI_SHIM_PYTHON",
                location->folders[0]);
}

bool nn_find_python(struct nn_location *location)
{
    const char *reason;
    if (nn_take_present_python(&reason))
        return true;
    if (reason != NULL) {
        nn_fail("this program runs %s", reason);
        return false;
    }
    const char *setting = secure_getenv("NNAPI_SHIM_PYTHON");
    if (setting != NULL && setting[0] != '\0')
        return open_setting(location, setting);
    if (location->python[0] != '\0' && eaccess(location->python, R_OK) == 0
        && open_file(location->python))
        return true;

    /* A folder with a version in its name is preferred to one for all versions. */
    unsigned versions = 0;
    for (int i = 0; i < location->count; i++) {
        char prefix[PATH_MAX];
        int minor;
        if (split_folder(location->folders[i], prefix, &minor) && minor != 0)
            versions |= 1u << minor;
    }
    for (int i = 0; i < location->count && versions == 0; i++)
        versions |= backend_versions(location->folders[i]);
    int last = 0;
    for (int minor = 31; minor >= NN_OLDEST_PYTHON; minor--)
        if ((versions >> minor & 1) != 0) {
            if (open_version(location, minor))
                return true;
            last = minor;
        }
    fail(location, last);
    return false;
}
