/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of native/workers.c and pool.c alone, with programs of its own: every tile runs once, chained tiles on one
 * thread, the lowest failure is told, children of forks go on, runs go alone where nobody helps.
 * argv[1]: what; argv[2]: rounds; of `hybrid`, argv[3] to [5]: a fast and a slow processor, their speeds' ratio.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nnapi_shim.h>

#include "clock.h"
#include "contention.h"
#include "hybrid.h"
#include "program.h"
#include "require.h"
#include "slot.h"

enum { STEPS = 12, TILES = 300, CALLERS = 4, THREADS = 5, LATE = ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT };

void nn_warn(const char *line) /* of native/message.c */
{
    fputs(line, stderr);
}

struct block {
    int64_t value, failing; /* tiles from `failing` on fail, with a code that depends on them */
    const struct block *before; /* it is chained to */
    int64_t found[TILES];   /* plain memory: the pool has to order it */
    pthread_t threads[TILES];
};

static int32_t kernel(uintptr_t address, int64_t tile, int64_t deadline)
{
    struct block *block = (struct block *)address;
    (void)deadline;
    if (tile >= block->failing)
        return 1 + (int32_t)(tile % 7);
    block->threads[tile] = pthread_self();
    if (block->before != NULL)
        REQUIRE(pthread_equal(block->before->threads[tile], pthread_self()));
    block->found[tile] += block->value + tile + (block->before == NULL ? 0 : block->before->found[tile]);
    for (volatile int busy = 0; busy < 200; busy++)
        ;
    return 0;
}

struct program {
    struct nn_step steps[STEPS];
    struct block blocks[STEPS];
    struct nn_run run;
};

static void make(struct program *program, unsigned *dice)
{
    memset(program, 0, sizeof *program);
    int64_t join = NN_END;
    for (int at = 0; at < STEPS; at++) {
        struct nn_step *step = &program->steps[at];
        struct block *block = &program->blocks[at];
        const bool is_chained = join == NN_CHAIN;
        step->kernel = kernel;
        step->block = (uintptr_t)block;
        step->tiles = is_chained ? step[-1].tiles : rand_r(dice) % TILES;
        join = step->join = at == STEPS - 1 ? NN_END : rand_r(dice) % 3;
        block->value = rand_r(dice) % 100;
        block->failing = TILES;
        block->before = is_chained ? block - 1 : NULL;
    }
    program->run = (struct nn_run){program->steps, STEPS, 0, 0, THREADS, rand_r(dice) % NN_RANKS};
}

static void check_sums(const struct program *program, int64_t times)
{
    for (int at = 0; at < STEPS; at++) {
        int64_t base = 0;
        int64_t sum = 0; /* after `times` runs of a chain that adds what stands before it */
        for (int64_t tile = 0; tile < program->steps[at].tiles; tile++) {
            const struct block *block = &program->blocks[at];
            base = block->value + tile;
            if (block->before == NULL)
                sum = times * base;
            else if (times == 1)
                sum = base + block->before->found[tile];
            else
                continue;
            REQUIRE(block->found[tile] == sum);
        }
    }
}

static void *compute(void *seed)
{
    unsigned dice = (unsigned)(uintptr_t)seed;
    struct program *program = malloc(sizeof *program);
    for (int rounds = (int)(dice >> 8); rounds > 0; rounds--) {
        make(program, &dice);
        REQUIRE(nn_run_program(&program->run, 0) == 0);
        check_sums(program, 1);
        REQUIRE(nn_run_program(&program->run, 0) == 0);
        check_sums(program, 2);
    }
    free(program);
    return NULL;
}

static void run_parallel(int rounds)
{
    pthread_t threads[CALLERS];
    for (unsigned at = 0; at < CALLERS; at++)
        REQUIRE(pthread_create(&threads[at], NULL, compute, (void *)(uintptr_t)(at + ((unsigned)rounds << 8))) == 0);
    for (int at = 0; at < CALLERS; at++)
        REQUIRE(pthread_join(threads[at], NULL) == 0);
}

/* Whatever the threads: the step, the code and the number that one thread finds. */
static void fail(int rounds)
{
    unsigned dice = 1;
    struct program *program = malloc(sizeof *program);
    for (; rounds > 0; rounds--) {
        make(program, &dice);
        for (int at = 0; at < STEPS; at++)
            if (rand_r(&dice) % 3 == 0)
                program->blocks[at].failing = rand_r(&dice) % TILES;
        program->run.threads = 1;
        const int32_t code = nn_run_program(&program->run, 0);
        const int64_t stopped = program->run.stopped;
        program->run.threads = THREADS;
        program->run.stopped = 0;
        REQUIRE(nn_run_program(&program->run, 0) == code);
        REQUIRE(program->run.stopped == stopped);
        program->run.deadline = 1;
        const int32_t late = nn_run_program(&program->run, 0);
        REQUIRE(late == LATE || (late == 0 && code == 0));
    }
    free(program);
}

/* Children have threads of their own, whenever they are made. */
static void fork_often(int rounds)
{
    for (; rounds > 0; rounds--) {
        run_parallel(1);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(300);
            run_parallel(2);
            fail(2);
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
}

/* Region after region without help; but not with pauses between them, nor where some are helped. */
static void go_unhelped(void)
{
    struct nn_contention seen = {0};
    for (int at = 0; at < 5; at++) {
        nn_region_begins(&seen);
        nn_region_ended(&seen, false);
        usleep(1000);
        nn_region_begins(&seen);
        nn_region_ended(&seen, true);
    }
    for (int at = 0; at < 5; at++) {
        nn_region_begins(&seen);
        nn_region_ended(&seen, false);
        usleep(1000);
    }
    REQUIRE(!nn_is_oversubscribed());
    seen = (struct nn_contention){0};
    for (const int64_t began = nn_now(); nn_now() - began < 50000000 && !nn_is_oversubscribed();) {
        nn_region_begins(&seen);
        nn_region_ended(&seen, false);
    }
    REQUIRE(nn_is_oversubscribed());
    while (nn_is_oversubscribed()) /* ends */
        usleep(1000);
}

static void run_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

static bool can_take(bool is_caller, int64_t units, int64_t threads)
{
    struct nn_slot *slot = &nn_slots[0];
    int64_t first, count;
    atomic_store(&slot->threads, threads);
    atomic_store(&slot->tickets, (uint64_t)units << NN_UNIT_BITS);
    const bool is_taken = nn_take(slot, is_caller, &first, &count);
    REQUIRE(is_taken == (nn_units_left(atomic_load(&slot->tickets)) < units));
    atomic_store(&slot->tickets, 0);
    return is_taken;
}

/* The fast processor is `ratio` times as fast: a worker on the slow one takes a unit only if the fast
 * one needs as long for all that are left; the caller takes all. */
static void leave_to_faster(int rounds, int fast, int slow, int ratio)
{
    REQUIRE(nnapi_shim_getProgramRunner() != 0); /* reads the speeds */
    REQUIRE(nn_is_hybrid);
    run_on(slow);
    for (int64_t units = 1; units < 10; units++) {
        REQUIRE(can_take(false, units, 2) == (units >= ratio));
        REQUIRE(can_take(true, units, 2));
    }
    run_on(fast);
    REQUIRE(can_take(false, 1, 2));
    run_parallel(rounds);
    run_on(slow);
    run_parallel(rounds); /* callers on the slow one */
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3 || argc == 6);
    const int rounds = atoi(argv[2]);
    if (strcmp(argv[1], "beside") == 0)
        run_parallel(rounds);
    else if (strcmp(argv[1], "fail") == 0)
        fail(rounds);
    else if (strcmp(argv[1], "forks") == 0)
        fork_often(rounds);
    else if (strcmp(argv[1], "unhelped") == 0)
        go_unhelped();
    else
        leave_to_faster(rounds, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    return 0;
}
