/* SPDX-License-Identifier: Apache-2.0 */
/* CHECK: ends the program with the place and the condition when the condition does not hold. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            _exit(1);                                                           \
        }                                                                       \
    } while (0)

#endif
