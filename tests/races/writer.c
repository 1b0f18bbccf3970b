/* A thread that writes to memory in turn what is allowed there and what is not, word by word, until
   it is told to stop. */

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct target {
    uint8_t *memory;
    const uint8_t *legal, *wild;
    size_t length;
};

static struct target targets[64];
static size_t count;
static atomic_int stopped;
static atomic_ulong rounds;
static pthread_t thread;

static void write_all(const struct target *target, const uint8_t *source) {
    size_t at = 0;
    for (; at + 4 <= target->length; at += 4) {
        uint32_t word;
        memcpy(&word, source + at, 4);
        __atomic_store_n((uint32_t *)(target->memory + at), word, __ATOMIC_RELAXED);
    }
    for (; at < target->length; at++)
        __atomic_store_n(target->memory + at, source[at], __ATOMIC_RELAXED);
}

static void *race(void *unused) {
    while (!atomic_load(&stopped)) {
        for (size_t i = 0; i < count; i++) {
            write_all(&targets[i], targets[i].wild);
            write_all(&targets[i], targets[i].legal);
        }
        atomic_fetch_add(&rounds, 1);
        /* Now and then the legal contents stay for a while, so that executions get through. */
        if (atomic_load(&rounds) % 8 == 0)
            for (volatile int pause = 0; pause < 400; pause++) {
            }
    }
    return unused;
}

/* Returns 0, or the error of pthread_create. */
int race_begin(const struct target *given, size_t number) {
    if (number > sizeof targets / sizeof *targets) return -1;
    memcpy(targets, given, number * sizeof *given);
    count = number;
    atomic_store(&stopped, 0);
    atomic_store(&rounds, 0);
    return pthread_create(&thread, NULL, race, NULL);
}

/* Returns how often everything was written. */
unsigned long race_end(void) {
    atomic_store(&stopped, 1);
    pthread_join(thread, NULL);
    return atomic_load(&rounds);
}
