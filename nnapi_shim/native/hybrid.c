/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speeds of processors, as the kernel knows them: the capacity of each on Arm, and on newer kernels of hybrid
 * x86 processors; else the list of the slow ones of those. Without either, all are alike.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "hybrid.h"

#ifndef NN_CAPACITY_FILE
#define NN_CAPACITY_FILE "/sys/devices/system/cpu/cpu%d/cpu_capacity"
#define NN_SLOW_FILE "/sys/devices/cpu_atom/cpus"
#endif

enum { FASTEST = 1024, SLOW = FASTEST / 2 }; /* the slow ones of x86 have vector units of half the width */

bool nn_is_hybrid;
static uint16_t speeds[CPU_SETSIZE];
static uint16_t faster[CPU_SETSIZE]; /* the number of faster processors */

static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool is_read = fgets(line, size, file) != NULL;
    fclose(file);
    return is_read;
}

static long capacity(int processor)
{
    char path[sizeof NN_CAPACITY_FILE + 16], line[32];
    snprintf(path, sizeof path, NN_CAPACITY_FILE, processor);
    return read_line(path, line, sizeof line) ? atol(line) : 0;
}

/* Sets the speed of those in a list such as `8-15,17`. */
static void set_slow(const char *list)
{
    while (*list != '\0') {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == list)
            return;
        for (long at = first; at >= 0 && at <= last && at < CPU_SETSIZE; at++)
            speeds[at] = SLOW;
        list = *end == ',' ? end + 1 : "";
    }
}

static void read_speeds(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    bool is_known = true;
    long fastest = 0, known[CPU_SETSIZE] = {0};
    for (int at = 0; at < CPU_SETSIZE && is_known; at++) {
        speeds[at] = FASTEST;
        if (!CPU_ISSET(at, &allowed))
            continue;
        known[at] = capacity(at);
        is_known = known[at] > 0;
        fastest = known[at] > fastest ? known[at] : fastest;
    }
    char list[512];
    for (int at = 0; at < CPU_SETSIZE; at++)
        speeds[at] = is_known && known[at] > 0 ? (uint16_t)(FASTEST * known[at] / fastest) : FASTEST;
    if (!is_known && read_line(NN_SLOW_FILE, list, sizeof list))
        set_slow(list);
    for (int at = 0; at < CPU_SETSIZE; at++) {
        if (!CPU_ISSET(at, &allowed))
            continue;
        for (int other = 0; other < CPU_SETSIZE; other++)
            faster[at] += CPU_ISSET(other, &allowed) && speeds[other] > speeds[at];
        nn_is_hybrid |= faster[at] > 0;
    }
}

void nn_read_speeds(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_speeds);
}

bool nn_is_too_slow(int64_t left, int64_t threads)
{
    if (!nn_is_hybrid)
        return false;
    const int own = sched_getcpu();
    if (own < 0 || own >= CPU_SETSIZE)
        return false;
    const int64_t others = faster[own] < threads ? faster[own] : threads;
    return left * speeds[own] < others * FASTEST;
}
