/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on stacks of the program's making, argv[2] KiB of them. argv[1]: the device, argv[3]:
 *
 *     given    a thread whose stack is memory of the program's
 *     context  a coroutine, of the first thread and of another
 *     forked   a child that a thread with such a stack forks before it has called anything
 *
 * Prints whether it "computed" or was "refused" for want of stack.
 */
#include <nnapi_shim.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../check.h"
#include "add.h"
#include "remaining_stack.h"

static const char *device;
static size_t size;

static void use(void)
{
    const int code = add(device);
    if (code != ANEURALNETWORKS_NO_ERROR) {
        CHECK(code == ANEURALNETWORKS_OP_FAILED);
        CHECK(strstr(nnapi_shim_getLastError(), "stack") != NULL);
    }
    puts(code == ANEURALNETWORKS_NO_ERROR ? "computed" : "refused");
    fflush(stdout);
}

static void *use_in_thread(void *unused)
{
    with_remaining_stack(size, use);
    return unused;
}

/* Below it are pages that nobody may touch. */
static void *make_stack(void)
{
    const size_t guard = 1 << 16, all = allowed_stack(size);
    char *memory = mmap(NULL, guard + all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + guard, all, PROT_READ | PROT_WRITE) == 0);
    return memory + guard;
}

static void *use_in_context(void *unused)
{
    ucontext_t here, there;
    CHECK(getcontext(&there) == 0);
    there.uc_stack.ss_sp = make_stack();
    there.uc_stack.ss_size = allowed_stack(size);
    there.uc_link = &here;
    makecontext(&there, use, 0);
    CHECK(swapcontext(&here, &there) == 0);
    return unused;
}

static void *fork_and_use(void *unused)
{
    const pid_t child = fork();
    if (child == 0) {
        with_remaining_stack(size, use);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return unused;
}

static void run_on_given(void *(*run)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, make_stack(), allowed_stack(size)) == 0);
    CHECK(pthread_create(&thread, &attributes, run, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    CHECK(argc == 4);
    device = argv[1];
    size = (size_t)atoi(argv[2]) << 10;
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    if (strcmp(argv[3], "given") == 0)
        run_on_given(use_in_thread);
    if (strcmp(argv[3], "forked") == 0)
        run_on_given(fork_and_use);
    if (strcmp(argv[3], "context") == 0) {
        use_in_context(NULL);
        CHECK(pthread_create(&thread, NULL, use_in_context, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(add(device) == ANEURALNETWORKS_NO_ERROR);
    return 0;
}
