/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what becomes of a computation whose event never signals, or signals an error: of one with
 * dependencies (`fenced`), of one without a fence (`plain`), or of a fence of the program (`own`).
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "small.h"

static ANeuralNetworksEvent* event;
static int has_ended;

/* An execution with its arguments. */
static ANeuralNetworksExecution* prepared(void) {
  ANeuralNetworksCompilation* compilation = NULL;
  ANeuralNetworksExecution* execution = NULL;
  ANeuralNetworksCompilation_create(build(), &compilation);
  ANeuralNetworksCompilation_finish(compilation);
  ANeuralNetworksExecution_create(compilation, &execution);
  ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof input);
  ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output);
  return execution;
}

static void* waits(void* unused) {
  (void)unused;
  ANeuralNetworksEvent_wait(event);
  __atomic_store_n(&has_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* What poll() says of the fence of the event. */
static const char* state(void) {
  int fd = -1;
  if (ANeuralNetworksEvent_getSyncFenceFd(event, &fd) != 0) return "no fence";
  struct pollfd poller = {fd, POLLIN, 0};
  const int count = poll(&poller, 1, 20);
  close(fd);
  return count == 0 ? "pending" : poller.revents & POLLERR ? "error" : "signalled";
}

int main(int argc, char** argv) {
  (void)run;
  const char* kind = argc > 1 ? argv[1] : "fenced";
  const int is_hanging = argc > 2;
  ANeuralNetworksExecution* execution = prepared();
  if (strcmp(kind, "own") == 0) {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "", 1) != 1) return 3;
    ANeuralNetworksEvent_createFromSyncFenceFd(ends[0], &event);
  } else if (strcmp(kind, "plain") == 0) {
    ANeuralNetworksExecution_startCompute(execution, &event);
  } else {
    ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event);
  }
  printf("%s; ", state());
  if (is_hanging) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    usleep(50000);
    printf("%s\n", __atomic_load_n(&has_ended, __ATOMIC_ACQUIRE) ? "ended" : "hangs");
    return 0;
  }
  printf("wait %d; ", ANeuralNetworksEvent_wait(event));
  uint32_t rank = 0;
  printf("rank %d; ", ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
  ANeuralNetworksEvent* after = NULL;
  ANeuralNetworksExecution* second = prepared();
  const ANeuralNetworksEvent* const dependencies[] = {event};
  printf("after %d\n",
         ANeuralNetworksExecution_startComputeWithDependencies(second, dependencies, 1, 0, &after));
  ANeuralNetworksEvent_free(after);
  ANeuralNetworksEvent_free(event);
  return 0;
}
