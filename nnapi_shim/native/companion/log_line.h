/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of Android's log on the standard error stream. liblog uses it, and so do the other libraries
 * for their own messages.
 */
#ifndef NNAPI_SHIM_LOG_LINE_H
#define NNAPI_SHIM_LOG_LINE_H

#include <android/log.h>

/* Whether a message is shown; default_prio is the lowest that is if the environment names none. */
int log_is_shown(int prio, int default_prio);

/* Writes every line of a text after the tag. Returns 1 or a negative errno. */
int log_write_lines(int prio, const char* tag, const char* text);

/* Formats a text of any length and writes it as log_write_lines(). */
int log_write_formatted(int prio, const char* tag, const char* fmt, va_list ap)
    NNAPI_SHIM_LOG_PRINTF(3, 0);

/* Says something of the library's own, if its priority is shown; ANDROID_LOG_FATAL always is. */
void log_say(int prio, const char* fmt, ...) NNAPI_SHIM_LOG_PRINTF(2, 3);

#endif /* NNAPI_SHIM_LOG_LINE_H */
