/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is assembled in memory and written with one write() under the lock of the stream. The
 * lock also excludes fprintf(stderr) of the program, and survives fork().
 */
#include "../quiet_write.h"
#include "log_line.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { STACK_CAPACITY = 1024, UNREAD = -2, UNSET = -1 };

static const char letters[] = "??VDIWEFS";

static const char* const words[] = {
    "unknown", "default", "verbose", "debug", "info", "warn", "error", "fatal", "silent",
};

/* The priority that a setting names, or UNSET. */
static int parse_priority(const char* text) {
  if (text == NULL || text[0] == '\0') return UNSET;
  for (int priority = ANDROID_LOG_UNKNOWN; priority <= ANDROID_LOG_SILENT; ++priority) {
    const char letter[] = {letters[priority], '\0'};
    const char digit[] = {(char)('0' + priority), '\0'};
    if (strcasecmp(text, letter) == 0 || strcmp(text, digit) == 0) return priority;
    if (strcasecmp(text, words[priority]) == 0) return priority;
  }
  return UNSET;
}

/* The lowest priority shown according to the environment, which is read once, or UNSET. */
static int lowest_priority(void) {
  static atomic_int cached = UNREAD;
  int lowest = atomic_load_explicit(&cached, memory_order_relaxed);
  if (lowest == UNREAD) {
    lowest = parse_priority(secure_getenv("NNAPI_SHIM_LOG_PRIORITY"));
    atomic_store_explicit(&cached, lowest, memory_order_relaxed);
  }
  return lowest;
}

int log_is_shown(int prio, int default_prio) {
  int lowest = lowest_priority();
  if (lowest == UNSET) lowest = default_prio;
  if (lowest >= ANDROID_LOG_SILENT) return 0;
  if (prio < ANDROID_LOG_VERBOSE || prio > ANDROID_LOG_SILENT) prio = ANDROID_LOG_INFO;
  return prio >= lowest;
}

static int write_all(const char* bytes, size_t length) {
  while (length > 0) {
    ssize_t written = quiet_write(STDERR_FILENO, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
      poll(&room, 1, -1);
      continue;
    }
    if (written < 0) return -errno;
    bytes += written;
    length -= (size_t)written;
  }
  return 1;
}

int log_write_lines(int prio, const char* tag, const char* text) {
  if (tag == NULL) tag = program_invocation_short_name;
  if (text == NULL) text = "(null)";
  int is_known = prio >= ANDROID_LOG_VERBOSE && prio <= ANDROID_LOG_SILENT;
  const char letter = is_known ? letters[prio] : '?';

  size_t text_length = strlen(text);
  if (text_length > 0 && text[text_length - 1] == '\n') --text_length;
  size_t lines = 1;
  for (size_t i = 0; i < text_length; ++i) lines += text[i] == '\n';
  size_t tag_length = strlen(tag);
  size_t capacity = text_length + lines * (tag_length + sizeof "P/: \n");

  char on_stack[STACK_CAPACITY];
  char* message = capacity <= sizeof on_stack ? on_stack : malloc(capacity);
  if (message == NULL) return -ENOMEM;
  char* end = message;
  const char* line = text;
  for (size_t i = 0; i < lines; ++i) {
    size_t left = (size_t)(text + text_length - line);
    const char* stop = memchr(line, '\n', left);
    size_t length = stop == NULL ? left : (size_t)(stop - line);
    *end++ = letter;
    *end++ = '/';
    end = mempcpy(end, tag, tag_length);
    *end++ = ':';
    *end++ = ' ';
    end = mempcpy(end, line, length);
    *end++ = '\n';
    line += length + 1;
  }

  flockfile(stderr);
  int result = write_all(message, (size_t)(end - message));
  funlockfile(stderr);
  if (message != on_stack) free(message);
  return result;
}

int log_write_formatted(int prio, const char* tag, const char* fmt, va_list ap) {
  if (fmt == NULL) return log_write_lines(prio, tag, NULL);
  char on_stack[STACK_CAPACITY];
  va_list again;
  va_copy(again, ap);
  int length = vsnprintf(on_stack, sizeof on_stack, fmt, ap);
  int result;
  if (length < 0) {
    result = -EINVAL;
  } else if ((size_t)length < sizeof on_stack) {
    result = log_write_lines(prio, tag, on_stack);
  } else {
    char* text = malloc((size_t)length + 1);
    if (text != NULL) vsnprintf(text, (size_t)length + 1, fmt, again);
    /* A truncated message is better than none. */
    result = log_write_lines(prio, tag, text != NULL ? text : on_stack);
    free(text);
  }
  va_end(again);
  return result;
}

void log_say(int prio, const char* fmt, ...) {
  if (prio < ANDROID_LOG_FATAL && !log_is_shown(prio, ANDROID_LOG_VERBOSE)) return;
  int saved_errno = errno;
  va_list ap;
  va_start(ap, fmt);
  log_write_formatted(prio, "nnapi_shim", fmt, ap);
  va_end(ap);
  errno = saved_errno;
}
