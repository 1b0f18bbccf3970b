/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which code may run. Other users must not have write access to the file or folder, nor to the
 * folders above it, unless these have the sticky bit. The folders of the library itself are trusted.
 * Groups are trusted: /usr/local of Debian belongs to a group.
 *
 * Files in the folder of the library, or directly below a folder with the sticky bit, such as /tmp, must
 * belong to root, to the owner of the library or to the effective user, as anybody can recreate a removed
 * folder in /tmp. In a program with raised privileges this applies to all files, and the effective user
 * may be anybody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot.h"

/* The path of the last message; each path is reported once. */
static char reported[PATH_MAX];

static bool pass_over(const char *path, const char *reason, unsigned number, bool octal)
{
    char line[PATH_MAX + 256];
    if (strcmp(reported, path) != 0) {
        snprintf(reported, sizeof reported, "%s", path);
        snprintf(line, sizeof line, octal ? "%s is passed over: %s (mode %04o)"
                                          : "%s is passed over: %s %u", path, reason, number);
        nn_warn(line);
    }
    return false;
}

static bool is_ours(const struct stat *status, const char *library)
{
    struct stat own;
    return status->st_uid == 0 || (status->st_uid == geteuid() && getauxval(AT_SECURE) == 0)
        || (stat(library, &own) == 0 && status->st_uid == own.st_uid);
}

/* Whether a path is a folder or within it. */
static bool lies_in(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0
        && (path[length] == '/' || path[length] == '\0' || length == 1);
}

bool nn_trusts(const char *path, const char *library)
{
    char folder[PATH_MAX];
    const char *end = strrchr(library, '/');
    snprintf(folder, sizeof folder, "%.*s", end != NULL ? (int)(end - library) : 0, library);
    const bool owner_counts = getauxval(AT_SECURE) != 0 || lies_in(path, folder);
    char real[PATH_MAX];
    struct stat status;
    if (realpath(path, real) == NULL || stat(real, &status) != 0)
        return false;
    if (owner_counts && !is_ours(&status, library))
        return pass_over(real, "it belongs to user", status.st_uid, false);
    if ((status.st_mode & S_IWOTH) != 0)
        return pass_over(real, "others can write to it", status.st_mode & 07777, true);
    for (char *end = strrchr(real, '/'); end != NULL && end != real; end = strrchr(real, '/')) {
        const struct stat below = status;
        *end = '\0';
        if (stat(real, &status) != 0)
            return false;
        const bool all_write = (status.st_mode & S_IWOTH) != 0;
        if (all_write && (status.st_mode & S_ISVTX) != 0 && !is_ours(&below, library)) {
            *end = '/';
            return pass_over(real, "it belongs to user", below.st_uid, false);
        }
        if (lies_in(library, real))
            return true;
        if (owner_counts && !is_ours(&status, library))
            return pass_over(real, "it belongs to user", status.st_uid, false);
        if (all_write && (status.st_mode & S_ISVTX) == 0)
            return pass_over(real, "others can write to it", status.st_mode & 07777, true);
    }
    return true;
}
