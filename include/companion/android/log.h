/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging: messages with a priority and a tag, here to the standard error stream as lines of the
 * form "I/tag: text". A message is written in one piece, also with several threads. The environment
 * variable NNAPI_SHIM_LOG_PRIORITY names the lowest priority that is shown (a letter of VDIWEFS, a
 * word such as "warn", or a number); without it, all are.
 */
#ifndef NNAPI_SHIM_ANDROID_LOG_H
#define NNAPI_SHIM_ANDROID_LOG_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NNAPI_SHIM_LOG_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#define NNAPI_SHIM_LOG_NORETURN __attribute__((__noreturn__))
#else
#define NNAPI_SHIM_LOG_PRINTF(format, first)
#define NNAPI_SHIM_LOG_NORETURN
#endif

/** Priorities, lowest first. */
typedef enum android_LogPriority {
  /** Not to be used by programs; shown as "?" and filtered as INFO. */
  ANDROID_LOG_UNKNOWN = 0,
  /** As ANDROID_LOG_UNKNOWN. */
  ANDROID_LOG_DEFAULT = 1,
  /** Every detail. */
  ANDROID_LOG_VERBOSE = 2,
  /** For the developer. */
  ANDROID_LOG_DEBUG = 3,
  /** What normally happens. */
  ANDROID_LOG_INFO = 4,
  /** Something odd that does no harm. */
  ANDROID_LOG_WARN = 5,
  /** Something failed. */
  ANDROID_LOG_ERROR = 6,
  /** The program cannot go on. */
  ANDROID_LOG_FATAL = 7,
  /** As a setting: show nothing. */
  ANDROID_LOG_SILENT = 8
} android_LogPriority;

/**
 * Logs a text. A tag of NULL is the program's name; a text of several lines gets the tag on each.
 * Returns 1 if it was written, -EPERM if its priority is not shown, else another negative errno.
 */
int __android_log_write(int prio, const char* tag, const char* text);

/** Logs a text formatted as by printf(), of any length. Returns as __android_log_write(). */
int __android_log_print(int prio, const char* tag, const char* fmt, ...)
    NNAPI_SHIM_LOG_PRINTF(3, 4);

/** As __android_log_print(), with a list of arguments. */
int __android_log_vprint(int prio, const char* tag, const char* fmt, va_list ap)
    NNAPI_SHIM_LOG_PRINTF(3, 0);

/**
 * Logs with ANDROID_LOG_FATAL, whatever is shown otherwise, and aborts the program. Without a
 * format (NULL) the text names the condition cond, which may be NULL, too.
 */
void __android_log_assert(const char* cond, const char* tag, const char* fmt, ...)
    NNAPI_SHIM_LOG_NORETURN NNAPI_SHIM_LOG_PRINTF(3, 4);

/**
 * Tells whether a message would be shown: 1 or 0. default_prio is the lowest priority shown if the
 * environment names none.
 */
int __android_log_is_loggable(int prio, const char* tag, int default_prio);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_LOG_H */
