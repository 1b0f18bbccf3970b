/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that run out of threads or of memory go on: every call answers. argv[1]: the device.
 *
 *     scarcity DEVICE threads           no thread can be made once the library has started
 *     scarcity DEVICE memory STEP MOST  trials with STEP, 2 STEP, ... MOST MiB of addresses left;
 *     scarcity DEVICE start STEP MOST   the same before the library starts
 *
 * Prints what came of the trials.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nnapi_shim.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../check.h"
#include "add.h"

enum { ROWS = 64 };

/* out = in * weights + bias, on ROWS x ROWS numbers: what numpy has a library for. */
static int multiply(const char *name)
{
    static const uint32_t square[] = {ROWS, ROWS}, row[] = {ROWS};
    static const int32_t none = 0;
    static float in[ROWS * ROWS], weights[ROWS * ROWS], bias[ROWS], out[ROWS * ROWS];
    const ANeuralNetworksOperandType matrix = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, square, 0, 0};
    const ANeuralNetworksOperandType vector = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, row, 0, 0};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const uint32_t inputs[] = {0, 1, 2, 3}, ends[] = {0, 4};
    const ANeuralNetworksDevice *device = find_device(name);
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    int code = ANEURALNETWORKS_OP_FAILED;
    for (int i = 0; i < ROWS * ROWS; i++)
        in[i] = weights[i] = 1;
#define TRY(call) if ((code = (call)) != ANEURALNETWORKS_NO_ERROR) goto end
    if (device == NULL)
        return code;
    TRY(ANeuralNetworksModel_create(&model));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_addOperand(model, &vector));
    TRY(ANeuralNetworksModel_addOperand(model, &number));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_setOperandValue(model, 1, weights, sizeof weights));
    TRY(ANeuralNetworksModel_setOperandValue(model, 2, bias, sizeof bias));
    TRY(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof none));
    TRY(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, inputs, 1,
                                          &ends[1]));
    TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[1]));
    TRY(ANeuralNetworksModel_finish(model));
    TRY(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    TRY(ANeuralNetworksCompilation_finish(compilation));
    TRY(ANeuralNetworksExecution_create(compilation, &execution));
    TRY(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, sizeof in));
    TRY(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof out));
    ANeuralNetworksEvent *event = NULL;
    TRY(ANeuralNetworksExecution_startCompute(execution, &event));
    code = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    for (int i = 0; i < ROWS * ROWS && code == ANEURALNETWORKS_NO_ERROR; i++)
        code = out[i] == ROWS ? code : -1;
end:
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return code;
}

static void refuse_threads(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

/* Leaves this many MiB of addresses. */
static void leave(size_t mebibytes)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    const rlim_t most = pages * (size_t)sysconf(_SC_PAGESIZE) + (mebibytes << 20);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY}) == 0);
}

/* A trial's exit code: 0, it computed; 1, a call failed with a message; else a defect. */
static int attempt(const char *device)
{
    const int code = multiply(device);
    if (code == ANEURALNETWORKS_NO_ERROR)
        return 0;
    if (code < 0)
        return 2;
    if (nnapi_shim_getLastError()[0] == '\0')
        return 3;
    setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    return 1;
}

int main(int argc, char **argv)
{
    int computed = 0, refused = 0;
    setvbuf(stdout, NULL, _IONBF, 0); /* children have nothing of it to write */
    CHECK(argc >= 3);
    const char *device = argv[1];
    if (strcmp(argv[2], "threads") == 0) {
        CHECK(find_device(device) != NULL);
        refuse_threads();
        CHECK(multiply(device) == ANEURALNETWORKS_NO_ERROR);
        return 0;
    }
    CHECK(argc == 5);
    const int starts = strcmp(argv[2], "start") == 0;
    for (int left = atoi(argv[3]); left <= atoi(argv[4]); left += atoi(argv[3])) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(300);
            CHECK(starts || find_device(device) != NULL);
            leave((size_t)left);
            const int result = attempt(device);
            /* With room again, it works, unless it could not even start. */
            if (result == 1 && !starts)
                _exit(attempt(device) == 0 ? 1 : 4);
            _exit(result);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            printf("%d MiB: %s %d\n", left, WIFEXITED(status) ? "exit" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        else if (WEXITSTATUS(status) == 0)
            computed++;
        else
            refused++;
    }
    printf("%s\n", computed > 0 && refused > 0 ? "some of each" : "all the same");
    return 0;
}
