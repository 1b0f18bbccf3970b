/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs of the CPU device. */
#pragma once

#include "region.h"

#pragma GCC visibility push(hidden)

/* Runs a program to its end, or to a step that fails: its code. part: 0; this has the signature of a kernel. */
int32_t nn_run_program(struct nn_run *run, int64_t part);

#pragma GCC visibility pop
