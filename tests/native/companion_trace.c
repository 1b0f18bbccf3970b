/* SPDX-License-Identifier: Apache-2.0 */
/* Traces what the argument names; its exit status tells whether a trace is written. */
#include <android/trace.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"

enum { THREADS = 4, SECTIONS = 200, LONG = 1000 };

static void trace_events(void) {
  ATrace_beginSection("outer");
  ATrace_beginSection("with \"quotes\", \\ and \n\t\x01");
  ATrace_endSection();
  ATrace_endSection();
  ATrace_beginAsyncSection("across threads", -7);
  ATrace_setCounter("bytes", INT64_MIN);
  ATrace_endAsyncSection("across threads", -7);
  ATrace_beginSection("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  ATrace_endSection();
  /* Latin-1, overlong, a surrogate, beyond Unicode, cut off. */
  ATrace_beginSection("\xfc \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82");
  ATrace_endSection();
  char text[LONG + 1];
  memset(text, '\x02', LONG);
  text[LONG] = '\0';
  ATrace_setCounter(text, 1);
  text[1] = '\0';
  for (int i = 0; i < LONG / 2; ++i) memcpy(text + 2 * i, "\xc3\xbc", 2);
  ATrace_setCounter(text + 1, 2);
  text[0] = 'x';
  memmove(text + 1, text + 2, LONG - 2);
  ATrace_setCounter(text, 3);
  ATrace_beginSection(NULL);
}

static void* trace_sections(void* name) {
  for (int i = 0; i < SECTIONS; ++i) {
    ATrace_beginSection(name);
    ATrace_endSection();
  }
  return NULL;
}

static void trace_from_threads(void) {
  static char names[THREADS][2];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    names[i][0] = (char)('a' + i);
    REQUIRE(pthread_create(&threads[i], NULL, trace_sections, names[i]) == 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static void* trace_for_ever(void* unused) {
  for (;;) ATrace_setCounter("more", 1);
  return unused;
}

static void trace_until_exit(void) {
  pthread_t thread;
  for (int i = 0; i < THREADS; ++i) {
    REQUIRE(pthread_create(&thread, NULL, trace_for_ever, NULL) == 0);
  }
  usleep(20000);
}

static void trace_in_child(void) {
  ATrace_beginSection("parent");
  pid_t child = fork();
  if (child == 0) {
    ATrace_beginSection("child");
    exit(ATrace_isEnabled());
  }
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  ATrace_endSection();
}

int main(int argc, char** argv) {
  REQUIRE(argc >= 2);
  errno = 4321;
  bool is_enabled = ATrace_isEnabled();
  if (strcmp(argv[1], "events") == 0) trace_events();
  REQUIRE(errno == 4321);
  if (strcmp(argv[1], "threads") == 0) trace_from_threads();
  if (strcmp(argv[1], "exit") == 0) trace_until_exit();
  if (strcmp(argv[1], "fork") == 0) trace_in_child();
  if (strcmp(argv[1], "die") == 0) {
    ATrace_beginSection("last words");
    abort();
  }
  if (strcmp(argv[1], "again") == 0) {
    REQUIRE(argc == 3);
    ATrace_beginSection("first");
    REQUIRE(system(argv[2]) == 0);
    ATrace_endSection();
  }
  return is_enabled ? 3 : 4;
}
