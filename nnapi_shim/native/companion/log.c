/* SPDX-License-Identifier: Apache-2.0 */
/* Android's log on the standard error stream. Preserves errno. */
#pragma GCC visibility push(default)
#include <android/log.h>
#pragma GCC visibility pop

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "log_line.h"

enum { STACK_CAPACITY = 1024 };

int __android_log_is_loggable(int prio, const char* tag, int default_prio) {
  (void)tag;
  return log_is_shown(prio, default_prio);
}

int __android_log_write(int prio, const char* tag, const char* text) {
  if (!log_is_shown(prio, ANDROID_LOG_VERBOSE)) return -EPERM;
  int saved_errno = errno;
  int result = log_write_lines(prio, tag, text);
  errno = saved_errno;
  return result;
}

int __android_log_vprint(int prio, const char* tag, const char* fmt, va_list ap) {
  if (!log_is_shown(prio, ANDROID_LOG_VERBOSE)) return -EPERM;
  int saved_errno = errno;
  int result = log_write_formatted(prio, tag, fmt, ap);
  errno = saved_errno;
  return result;
}

int __android_log_print(int prio, const char* tag, const char* fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int result = __android_log_vprint(prio, tag, fmt, ap);
  va_end(ap);
  return result;
}

void __android_log_assert(const char* cond, const char* tag, const char* fmt, ...) {
  if (fmt != NULL) {
    va_list ap;
    va_start(ap, fmt);
    log_write_formatted(ANDROID_LOG_FATAL, tag, fmt, ap);
    va_end(ap);
  } else {
    char text[STACK_CAPACITY];
    snprintf(text, sizeof text, "assertion failed%s%s", cond == NULL ? "" : ": ",
             cond == NULL ? "" : cond);
    log_write_lines(ANDROID_LOG_FATAL, tag, text);
  }
  abort();
}
