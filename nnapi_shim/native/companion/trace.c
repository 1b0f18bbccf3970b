/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATrace as trace events in JSON, in the form of an array: "[", one event a line, "]". Each event
 * is one write() to a file that is opened for appending, so lines of several threads stay whole,
 * and the file can also be read after a crash: viewers do not need the last bracket.
 *
 * This file is the only writer. libneuralnetworks adds its events to the same file, on the same
 * clock, with nnapi_shim_writeTrace().
 */
#pragma GCC visibility push(default)
#include <android/trace.h>
#pragma GCC visibility pop

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "json_text.h"
#include "log_line.h"

enum { UNREAD, OFF, ON };
enum { NAME_BYTES = 256, TEXT_BYTES = NAME_BYTES * JSON_BYTES_PER_BYTE + 1 };
enum { MORE_BYTES = 64, EVENT_BYTES = TEXT_BYTES + MORE_BYTES + 128, PATH_BYTES = 4096 };

static atomic_int state = UNREAD;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int file = -1;
/* Held during a write, so that no line follows the last bracket. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/* Appends a line to the file, then changes the state to next. */
static void write_line(const char* line, size_t length, int next) {
  int saved_errno = errno;
  pthread_mutex_lock(&writing);
  if (atomic_load(&state) == ON) {
    int is_written = write(file, line, length) == (ssize_t)length;
    atomic_store(&state, is_written ? next : OFF);
    if (!is_written) {
      log_say(ANDROID_LOG_ERROR, "NNAPI_SHIM_TRACE: the trace ends here; %s", strerror(errno));
    }
  }
  pthread_mutex_unlock(&writing);
  errno = saved_errno;
}

/*
 * Writes one event. phase: the letter of the trace event format. name: may be NULL. more: further
 * members of the event's object, each after a comma.
 */
static void write_event(char phase, const char* name, const char* more) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char text[TEXT_BYTES];
  json_text(text, name == NULL ? "" : name, NAME_BYTES);
  char event[EVENT_BYTES];
  int length = snprintf(
      event, sizeof event,
      ",\n{\"ph\":\"%c\",\"name\":\"%s\",\"pid\":%d,\"tid\":%ld,\"ts\":%" PRId64 ".%03ld%s}", phase,
      text, (int)getpid(), syscall(SYS_gettid),
      (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, now.tv_nsec % 1000, more);
  write_line(event, (size_t)length, ON);
}

/* Closes the JSON array. */
static void finish(void) {
  /* A forked child, which writes nothing, may have inherited a locked lock. */
  if (atomic_load(&state) == ON) write_line("\n]\n", 3, OFF);
}

static void stop_in_child(void) { atomic_store(&state, OFF); }

/* The path of the setting, with %p in the file name replaced; 0 if it is too long. */
static int expand(char* path, const char* setting) {
  const char* slash = strrchr(setting, '/');
  const char* place = strstr(slash == NULL ? setting : slash, "%p");
  int length = place == NULL
                   ? snprintf(path, PATH_BYTES, "%s", setting)
                   : snprintf(path, PATH_BYTES, "%.*s%d%s", (int)(place - setting), setting,
                              (int)getpid(), place + 2);
  return length > 0 && length < PATH_BYTES;
}

#define BEGINNING "[\n{\"ph\":"

/* Whether a file may be truncated: it is empty, an older trace, or not a regular file. */
static bool may_be_emptied(const char* path, int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return true;
  char beginning[sizeof BEGINNING - 1];
  const int reading = open(path, O_RDONLY | O_CLOEXEC);
  if (reading < 0) return false;
  const ssize_t length = read(reading, beginning, sizeof beginning);
  close(reading);
  return length == (ssize_t)sizeof beginning && memcmp(beginning, BEGINNING, sizeof beginning) == 0;
}

static int refuse(int fd, const char** reason, const char* why) {
  *reason = why;
  if (fd >= 0) close(fd);
  return -1;
}

/* Opens and truncates the file. Returns its descriptor, or -1 and the reason. */
static int open_trace(const char* setting, const char** reason) {
  char path[PATH_BYTES];
  if (!expand(path, setting)) return refuse(-1, reason, strerror(ENAMETOOLONG));
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return refuse(fd, reason, strerror(errno));
  if (fd <= STDERR_FILENO) { /* the program closed it; its messages would go into the trace */
    const int low = fd;
    fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(low);
    if (fd < 0) return refuse(fd, reason, strerror(errno));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return refuse(
        fd, reason, "another process writes to it (%p in a name is the process's number)");
  }
  if (!may_be_emptied(path, fd)) {
    return refuse(fd, reason, "there is a file that is no trace; it is kept");
  }
  /* Fails for files that cannot be truncated, such as a pipe. */
  if (ftruncate(fd, 0) != 0) errno = 0;
  return fd;
}

/* Starts the trace of the setting. Returns the new state. */
static int begin(void) {
  /* secure: a program with raised privileges must not write where its user may not. */
  const char* setting = secure_getenv("NNAPI_SHIM_TRACE");
  if (setting == NULL || setting[0] == '\0') return OFF;
  const char* reason = NULL;
  file = open_trace(setting, &reason);
  char program[TEXT_BYTES];
  json_text(program, program_invocation_short_name, NAME_BYTES);
  char first[EVENT_BYTES];
  int length = snprintf(
      first, sizeof first,
      BEGINNING "\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}",
      (int)getpid(), program);
  if (file >= 0 && write(file, first, (size_t)length) != length) reason = strerror(errno);
  if (reason != NULL) {
    log_say(ANDROID_LOG_ERROR, "NNAPI_SHIM_TRACE is '%s', which is not used; %s", setting, reason);
    return OFF;
  }
  pthread_atfork(NULL, NULL, stop_in_child);
  atexit(finish);
  return ON;
}

static void start(void) {
  int saved_errno = errno;
  atomic_store(&state, begin());
  errno = saved_errno;
}

static bool start_and_tell(int now) {
  if (now == UNREAD) pthread_once(&once, start);
  return atomic_load(&state) == ON;
}

/* Without a trace, a call costs one load and one branch. */
static inline bool is_enabled(void) {
  int now = atomic_load_explicit(&state, memory_order_relaxed);
  return __builtin_expect(now != OFF, 0) && start_and_tell(now);
}

bool ATrace_isEnabled(void) { return is_enabled(); }

/*
 * For libneuralnetworks: appends formatted events, each after a comma and a line end. Returns
 * whether a trace is being written.
 */
__attribute__((visibility("default"))) int nnapi_shim_writeTrace(const char* events, size_t length);
int nnapi_shim_writeTrace(const char* events, size_t length) {
  if (!is_enabled()) return 0;
  if (length != 0) write_line(events, length, ON);
  return atomic_load(&state) == ON;
}

void ATrace_beginSection(const char* sectionName) {
  if (is_enabled()) write_event('B', sectionName, "");
}

void ATrace_endSection(void) {
  if (is_enabled()) write_event('E', NULL, "");
}

static void write_async(char phase, const char* name, int32_t cookie) {
  char more[MORE_BYTES];
  snprintf(more, sizeof more, ",\"cat\":\"async\",\"id\":%" PRId32, cookie);
  write_event(phase, name, more);
}

void ATrace_beginAsyncSection(const char* sectionName, int32_t cookie) {
  if (is_enabled()) write_async('b', sectionName, cookie);
}

void ATrace_endAsyncSection(const char* sectionName, int32_t cookie) {
  if (is_enabled()) write_async('e', sectionName, cookie);
}

void ATrace_setCounter(const char* counterName, int64_t counterValue) {
  if (!is_enabled()) return;
  char more[MORE_BYTES];
  snprintf(more, sizeof more, ",\"args\":{\"value\":%" PRId64 "}", counterValue);
  write_event('C', counterName, more);
}
