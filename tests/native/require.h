/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a test program, saying where, if a condition does not hold. */
#ifndef NNAPI_SHIM_TESTS_REQUIRE_H
#define NNAPI_SHIM_TESTS_REQUIRE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

#endif /* NNAPI_SHIM_TESTS_REQUIRE_H */
