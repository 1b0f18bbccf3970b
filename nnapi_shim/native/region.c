/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the tiles of a region on the calling thread. */
#include "region.h"

int32_t nn_run_tile(const struct nn_run *run, const struct nn_region *region, int64_t tile, int64_t *step)
{
    int64_t first = region->first, last = nn_end_of_chain(run, first);
    while (tile >= run->steps[first].tiles) {
        tile -= run->steps[first].tiles;
        first = last + 1;
        last = nn_end_of_chain(run, first);
    }
    for (int64_t at = first; at <= last; at++) {
        const int32_t code = nn_run_step(run, at, tile);
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
