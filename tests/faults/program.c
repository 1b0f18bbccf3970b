/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in which one thing fails, in a child for each: every call answers, what fails is told,
 * and once nothing fails any more the same works.
 *
 *     program DEVICE KIND START FIRST STEP COUNT FOLDER
 *
 * KIND: see faults.c. START: cold, if the child starts the library; warm, if it is started; loaded, if
 * everything is. The calls of this kind
 * that fail: FIRST, FIRST + STEP, ... COUNT of them or until there are no more (0: the last).
 * FOLDER: for compiled models, emptied each time. Prints a line for each defect, and at last
 * "calls N faults N computed N refused N defects N".
 */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <dirent.h>
#include <nnapi_shim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 16, BYTES = ROWS * ROWS * (int)sizeof(float) };

void faults_arm(const char *kind, long n);
long faults_count(void);

static const char *device_name, *folder;

static const ANeuralNetworksDevice *find_device(void)
{
    uint32_t count = 0;
    if (ANeuralNetworks_getDeviceCount(&count) != ANEURALNETWORKS_NO_ERROR)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;
        if (ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR
            && ANeuralNetworksDevice_getName(device, &name) == ANEURALNETWORKS_NO_ERROR
            && strcmp(name, device_name) == 0)
            return device;
    }
    return NULL;
}

#define TRY(call)                                                   \
    do {                                                            \
        if ((code = (call)) != ANEURALNETWORKS_NO_ERROR) goto end;  \
    } while (0)

/* out = tanh(in * weights + bias), weights in memory of a file; from the start to the end. */
static int run(void)
{
    static const uint32_t square[] = {ROWS, ROWS}, row[] = {ROWS};
    static const int32_t none = 0;
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
    static float in[ROWS * ROWS], bias[ROWS], out[ROWS * ROWS];
    const ANeuralNetworksOperandType matrix = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, square, 0, 0};
    const ANeuralNetworksOperandType vector = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, row, 0, 0};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const uint32_t inputs[] = {0, 1, 2, 3}, between = 4, last = 5;
    const ANeuralNetworksDevice *device = find_device();
    ANeuralNetworksMemory *memory = NULL;
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;
    ANeuralNetworksBurst *burst = NULL;
    int code = ANEURALNETWORKS_OP_FAILED;
    if (device == NULL)
        return code;
    const int fd = memfd_create("weights", MFD_CLOEXEC);
    float *weights = fd < 0 || ftruncate(fd, BYTES) != 0
        ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (weights == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return ANEURALNETWORKS_NO_ERROR + 1000; /* the program's own */
    }
    for (int i = 0; i < ROWS * ROWS; i++) {
        in[i] = 1;
        weights[i] = 1;
        out[i] = 7;
    }
    TRY(ANeuralNetworksMemory_createFromFd(BYTES, PROT_READ, fd, 0, &memory));
    TRY(ANeuralNetworksModel_create(&model));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_addOperand(model, &vector));
    TRY(ANeuralNetworksModel_addOperand(model, &number));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_addOperand(model, &matrix));
    TRY(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 0, BYTES));
    TRY(ANeuralNetworksModel_setOperandValue(model, 2, bias, sizeof bias));
    TRY(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof none));
    TRY(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, inputs, 1,
                                          &between));
    TRY(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU6, 1, &between, 1, &last));
    TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &last));
    TRY(ANeuralNetworksModel_finish(model));
    TRY(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    TRY(ANeuralNetworksCompilation_setCaching(compilation, folder, token));
    TRY(ANeuralNetworksCompilation_finish(compilation));
    TRY(ANeuralNetworksExecution_create(compilation, &execution));
    TRY(ANeuralNetworksExecution_setReusable(execution, true));
    TRY(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, sizeof in));
    TRY(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof out));
    TRY(ANeuralNetworksExecution_compute(execution));
    TRY(ANeuralNetworksExecution_startCompute(execution, &event));
    TRY(ANeuralNetworksEvent_wait(event));
    TRY(ANeuralNetworksBurst_create(compilation, &burst));
    TRY(ANeuralNetworksExecution_burstCompute(execution, burst));
    for (int i = 0; i < ROWS * ROWS && code == ANEURALNETWORKS_NO_ERROR; i++)
        code = out[i] == 6 ? code : -1;
end:
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    munmap(weights, BYTES);
    close(fd);
    return code;
}

enum outcome { COMPUTED, REFUSED, WRONG, SILENT, LASTING, BEYOND };
static const char *const outcomes[] = {
    "computed", "refused", "a wrong result with NO_ERROR", "a failure without a message",
    "it still fails when nothing is amiss", "no such call",
};

/* So that the model is compiled and kept each time. */
static void empty_folder(void)
{
    DIR *files = opendir(folder);
    for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;)
        unlinkat(dirfd(files), file->d_name, 0);
    if (files != NULL)
        closedir(files);
}

static int attempt(const char *kind, long n, int starts)
{
    alarm(300);
    empty_folder();
    faults_arm(kind, n);
    const int code = run();
    const long calls = faults_count();
    if (code < 0)
        return WRONG;
    if (code != ANEURALNETWORKS_NO_ERROR && code < 1000 && nnapi_shim_getLastError()[0] == '\0')
        return SILENT;
    /* A library that could not start stays down, and says why; so does numpy, which cannot be imported
     * twice. */
    if (!starts && run() != ANEURALNETWORKS_NO_ERROR)
        return strstr(nnapi_shim_getLastError(), "numpy") != NULL ? REFUSED : LASTING;
    return calls < n ? BEYOND : code == ANEURALNETWORKS_NO_ERROR ? COMPUTED : REFUSED;
}

static long count_calls(const char *kind)
{
    int pipe_ends[2];
    long calls = -1;
    if (pipe(pipe_ends) != 0)
        exit(2);
    const pid_t child = fork();
    if (child == 0) {
        empty_folder();
        faults_arm(kind, 0);
        const int code = run();
        const long count = faults_count();
        if (code != ANEURALNETWORKS_NO_ERROR || write(pipe_ends[1], &count, sizeof count) < 0)
            _exit(2);
        _exit(0);
    }
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &calls, sizeof calls) != sizeof calls) {
        fprintf(stderr, "it does not work without faults: %s\n", nnapi_shim_getLastError());
        exit(2);
    }
    close(pipe_ends[0]);
    waitpid(child, NULL, 0);
    return calls;
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    device_name = argv[1];
    folder = argv[7];
    const int starts = strcmp(argv[3], "cold") == 0;
    const long first = atol(argv[4]), step = atol(argv[5]), most = atol(argv[6]);
    if (!starts && find_device() == NULL)
        return 2;
    if (strcmp(argv[3], "loaded") == 0 && nnapi_shim_loadEverything() != ANEURALNETWORKS_NO_ERROR)
        return 2;
    const long calls = count_calls(argv[2]);
    long tried = 0, found[BEYOND + 1] = {0}, defects = 0;
    for (long n = first; n <= calls && (most == 0 || tried < most); n += step, tried++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(attempt(argv[2], n, starts));
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 2;
        const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (outcome >= 0 && outcome <= BEYOND)
            found[outcome]++;
        if (outcome == COMPUTED || outcome == REFUSED || outcome == BEYOND)
            continue;
        defects++;
        if (WIFSIGNALED(status))
            printf("%s %s, %s call %ld: signal %d\n", device_name, argv[3], argv[2], n,
                   WTERMSIG(status));
        else
            printf("%s %s, %s call %ld: %s (%d)\n", device_name, argv[3], argv[2], n,
                   outcome <= BEYOND ? outcomes[outcome] : "the program was ended", outcome);
    }
    printf("calls %ld faults %ld computed %ld refused %ld defects %ld\n", calls, tried,
           found[COMPUTED], found[REFUSED], defects);
    return 0;
}
