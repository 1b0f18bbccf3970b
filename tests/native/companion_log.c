/* SPDX-License-Identifier: Apache-2.0 */
/* Writes log messages: what the argument names. */
#include <android/log.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "require.h"

enum { THREADS = 4, LINES = 500, LONG = 5000 };

static int vprint(int prio, const char* tag, const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  int result = __android_log_vprint(prio, tag, fmt, arguments);
  va_end(arguments);
  return result;
}

static void write_formats(void) {
  errno = 4321;
  REQUIRE(__android_log_print(ANDROID_LOG_INFO, "tag", "%d and %s", 7, "seven") == 1);
  REQUIRE(errno == 4321);
  REQUIRE(__android_log_write(ANDROID_LOG_WARN, "tag", "100%s is no format") == 1);
  REQUIRE(vprint(ANDROID_LOG_ERROR, "tag", "list of %d", 1) == 1);
  __android_log_write(ANDROID_LOG_VERBOSE, "tag", "ends with a newline\n");
  __android_log_write(ANDROID_LOG_DEBUG, "tag", "two\nlines");
  __android_log_write(ANDROID_LOG_FATAL, "tag", "");
  __android_log_write(ANDROID_LOG_DEFAULT, "", "no tag");
  __android_log_write(99, "tag", "no priority");
  __android_log_write(ANDROID_LOG_INFO, NULL, NULL);
  char text[LONG + 1];
  memset(text, 'x', LONG);
  text[LONG] = '\0';
  __android_log_print(ANDROID_LOG_INFO, "long", "%s", text);
}

static void write_priorities(void) {
  for (int prio = ANDROID_LOG_UNKNOWN; prio <= ANDROID_LOG_FATAL; ++prio) {
    int result = __android_log_print(prio, "tag", "%d", prio);
    int is_loggable = __android_log_is_loggable(prio, "tag", ANDROID_LOG_VERBOSE);
    REQUIRE(result == (is_loggable ? 1 : -EPERM));
  }
}

static void print_defaults(void) {
  printf("%d", __android_log_is_loggable(ANDROID_LOG_DEBUG, "tag", ANDROID_LOG_DEBUG));
  printf("%d", __android_log_is_loggable(ANDROID_LOG_DEBUG, "tag", ANDROID_LOG_INFO));
  printf("%d", __android_log_is_loggable(ANDROID_LOG_ERROR, NULL, ANDROID_LOG_INFO));
  printf("%d\n", __android_log_is_loggable(ANDROID_LOG_FATAL, "tag", ANDROID_LOG_SILENT));
}

static void* write_many(void* number) {
  char tag[] = "thread 0";
  tag[7] = (char)('0' + (intptr_t)number);
  char text[200];
  memset(text, tag[7], sizeof text - 1);
  text[sizeof text - 1] = '\0';
  for (int i = 0; i < LINES; ++i) __android_log_print(ANDROID_LOG_INFO, tag, "%d %s", i, text);
  return NULL;
}

static void write_from_threads(void) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, write_many, (void*)i) == 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  if (strcmp(argv[1], "formats") == 0) write_formats();
  if (strcmp(argv[1], "priorities") == 0) write_priorities();
  if (strcmp(argv[1], "defaults") == 0) print_defaults();
  if (strcmp(argv[1], "threads") == 0) write_from_threads();
  if (strcmp(argv[1], "assert") == 0) __android_log_assert("1 == 2", "tag", "because of %d", 3);
  if (strcmp(argv[1], "condition") == 0) __android_log_assert("1 == 2", "tag", NULL);
  if (strcmp(argv[1], "nothing") == 0) __android_log_assert(NULL, "tag", NULL);
  if (strcmp(argv[1], "closed") == 0) {
    close(STDERR_FILENO);
    return __android_log_write(ANDROID_LOG_INFO, "tag", "lost") == -EBADF ? 0 : 1;
  }
  return EXIT_SUCCESS;
}
