/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs of the CPU device: from step to step, a region on several threads where that is allowed. */
#include <stddef.h>

#include <nnapi_shim.h>

#include "program.h"

static bool is_late(int64_t deadline)
{
    return deadline != 0 && nn_now() >= deadline;
}

static int32_t call(const struct nn_run *run, int64_t step, int64_t tile)
{
    const struct nn_step *it = &run->steps[step];
    if (is_late(run->deadline))
        return ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT;
    return it->kernel(it->block, tile, run->deadline);
}

/* The last of the steps that are chained to one; a run of some steps of a region ends with them. */
static int64_t end_of_chain(const struct nn_run *run, int64_t step)
{
    while (step + 1 < run->count && run->steps[step].join == NN_CHAIN)
        step++;
    return step;
}

int32_t nn_run_tile(const struct nn_run *run, const struct nn_region *region, int64_t tile, int64_t *step)
{
    int64_t first = region->first, last = end_of_chain(run, first);
    while (tile >= run->steps[first].tiles) {
        tile -= run->steps[first].tiles;
        first = last + 1;
        last = end_of_chain(run, first);
    }
    for (int64_t at = first; at <= last; at++) {
        const int32_t code = call(run, at, tile);
        if (code != 0) {
            *step = at;
            return code;
        }
    }
    return 0;
}

int32_t nn_run_alone(struct nn_run *run, const struct nn_region *region)
{
    for (int64_t tile = 0; tile < region->tiles; tile++) {
        const int32_t code = nn_run_tile(run, region, tile, &run->stopped);
        if (code != 0)
            return code;
    }
    return 0;
}

int32_t nn_run_program(struct nn_run *run, int64_t part)
{
    (void)part; /* there is one: this has the signature of a kernel */
    struct nn_shared shared = {0};
    int32_t code = 0;
    for (int64_t step = 0; step < run->count;) {
        const struct nn_step *it = &run->steps[step];
        int64_t last = step;
        if (it->join == NN_END && it->tiles == 1) {
            code = call(run, step, 0);
            if (code > 0)
                run->stopped = step;
        } else {
            struct nn_region region = {step, 0};
            for (;; last++) {
                region.tiles += run->steps[last].tiles;
                last = end_of_chain(run, last);
                if (last + 1 >= run->count || run->steps[last].join == NN_END)
                    break;
            }
            const bool is_shared = run->threads > 1 && region.tiles > 1 && it->jump == 0;
            code = is_shared ? nn_share(run, &region, &shared) : nn_run_alone(run, &region);
        }
        if (code > 0)
            break;
        step = code < 0 ? step + it->jump : last + 1;
        code = 0;
    }
    nn_end_sharing(&shared);
    return code;
}

uint64_t nnapi_shim_getProgramRunner(void)
{
    return (uint64_t)(uintptr_t)nn_run_program;
}
