/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oversubscription: whether other programs have the processors that workers would run on.
 *
 * A worker wakes within some microseconds, and helps with the next region. If several regions in a row
 * get no help for longer than UNHELPED_NS, the workers wait for a processor. Waking them is useless then:
 * a worker that gets its turn late takes time from others, or keeps its caller waiting for a tile. So all
 * runs stay on their calling thread for a while, with exponential back-off up to LONGEST_NS.
 */
#include <stdatomic.h>

#include "clock.h"
#include "contention.h"

static const int64_t PAUSE_NS = 300000;     /* between regions: workers may have gone to sleep */
static const int64_t UNHELPED_NS = 1000000; /* without help: the processors are taken */
static const int64_t SHORTEST_NS = 4000000, LONGEST_NS = 1000000000;

static _Atomic int64_t alone_until; /* 0: runs are helped */
static _Atomic int64_t alone_for;   /* length of the last such time, ns */
static _Atomic int64_t alone_since; /* when it began */

bool nn_is_oversubscribed(void)
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
    const bool is_soon = now - atomic_exchange(&alone_since, now) < 4 * before;
    int64_t duration = is_soon ? 2 * before : SHORTEST_NS;
    if (duration > LONGEST_NS)
        duration = LONGEST_NS;
    atomic_store(&alone_for, duration);
    atomic_store(&alone_until, now + duration);
}

void nn_region_begins(struct nn_contention *seen)
{
    if (seen->since != 0 && nn_now() - seen->last > PAUSE_NS)
        seen->since = 0;
}

void nn_region_ended(struct nn_contention *seen, bool is_helped)
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
