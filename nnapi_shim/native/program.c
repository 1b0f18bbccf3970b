/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs of the CPU device: from step to step, a region on several threads where that is allowed. */
#include <stddef.h>

#include <nnapi_shim.h>

#include "float_environment.h"
#include "hybrid.h"
#include "pool.h"
#include "program.h"

static int32_t run_steps(struct nn_run *run)
{
    struct nn_shared shared = {0};
    int32_t code = 0;
    for (int64_t step = 0; step < run->count;) {
        const struct nn_step *it = &run->steps[step];
        int64_t last = step;
        if (it->join == NN_END && it->tiles == 1) {
            code = nn_run_step(run, step, 0);
            if (code > 0)
                run->stopped = step;
        } else {
            struct nn_region region = {step, 0};
            for (;; last++) {
                region.tiles += run->steps[last].tiles;
                last = nn_end_of_chain(run, last);
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

int32_t nn_run_program(struct nn_run *run, int64_t part)
{
    (void)part; /* there is one: this has the signature of a kernel */
    const unsigned rounding = nn_round_to_nearest();
    const int32_t code = run_steps(run);
    nn_round_as_before(rounding);
    return code;
}

uint64_t nnapi_shim_getProgramRunner(void)
{
    nn_read_speeds();
    return (uint64_t)(uintptr_t)nn_run_program;
}
