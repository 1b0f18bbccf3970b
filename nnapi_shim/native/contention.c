/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether other programs have the processors that workers would run on.
 *
 * A worker wakes within some microseconds, and helps with the next region. Where one region after the
 * other goes without help for longer, it waits for a processor: to wake it is in vain, and when its turn
 * comes, it takes time that belongs to others, or keeps its caller waiting for a tile. Then all runs
 * go alone for a while, and for twice as long where it is the same behind that.
 */
#include <stdatomic.h>

#include "clock.h"
#include "contention.h"

static const int64_t PAUSE_NS = 300000;     /* a caller's, in which workers may have gone to sleep */
static const int64_t UNHELPED_NS = 1000000; /* that say something */
static const int64_t SHORTEST_NS = 4000000, LONGEST_NS = 1000000000;

static _Atomic int64_t alone_until; /* 0: runs are helped */
static _Atomic int64_t alone_for;   /* how long it was, the last time */
static _Atomic int64_t told;        /* when it began */

bool nn_is_crowded(void)
{
    int64_t until = atomic_load_explicit(&alone_until, memory_order_relaxed);
    if (until == 0)
        return false;
    if (nn_now() < until)
        return true;
    atomic_compare_exchange_strong(&alone_until, &until, 0);
    return false;
}

static void go_alone(int64_t now)
{
    const int64_t before = atomic_load(&alone_for);
    const bool is_soon = now - atomic_exchange(&told, now) < 4 * before;
    int64_t wanted = is_soon ? 2 * before : SHORTEST_NS;
    if (wanted > LONGEST_NS)
        wanted = LONGEST_NS;
    atomic_store(&alone_for, wanted);
    atomic_store(&alone_until, now + wanted);
}

void nn_region_begins(struct nn_seen *seen)
{
    if (seen->since != 0 && nn_now() - seen->last > PAUSE_NS)
        seen->since = 0;
}

void nn_region_ended(struct nn_seen *seen, bool is_helped)
{
    if (is_helped) {
        seen->since = 0;
        return;
    }
    const int64_t now = seen->last = nn_now();
    if (seen->since == 0)
        seen->since = now;
    else if (now - seen->since > UNHELPED_NS) {
        seen->since = 0;
        go_alone(now);
    }
}
