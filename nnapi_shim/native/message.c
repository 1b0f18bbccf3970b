/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: the last error of each thread, and the failure of start-up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nnapi_shim.h>

#include "boot.h"
#include "libpython.h"
#include "quiet_write.h"

static __thread char last_error[4096];
static char failure[2048];

/* Whether the program had a stderr when it loaded the library. */
static bool had_stderr;

__attribute__((constructor)) static void look_for_stderr(void)
{
    had_stderr = fcntl(STDERR_FILENO, F_GETFD) != -1;
}

/* Whether descriptor 2 is for messages: in a program without a stderr it may be any file that was
 * opened later, with weights or results in it. */
static bool has_stderr(void)
{
    struct stat file;
    if (had_stderr)
        return true;
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    return flags != -1 && fstat(STDERR_FILENO, &file) == 0
        && (!S_ISREG(file.st_mode) || (flags & O_APPEND) != 0);
}

void nn_print(const char *line, size_t length)
{
    if (!has_stderr())
        return;
    const int saved = errno;
    (void)!quiet_write(STDERR_FILENO, line, length); /* errors of stderr are ignored */
    errno = saved;
}

/* Whether NNAPI_SHIM_LOG contains a word. */
static bool log_has(const char *word)
{
    const char *set = secure_getenv("NNAPI_SHIM_LOG");
    return set != NULL && strstr(set, word) != NULL;
}

/* Copies text; if it is too long, cuts it between two UTF-8 characters. */
static void copy(char *to, size_t size, const char *text)
{
    size_t length = strnlen(text, size);
    if (length == size)
        for (length--; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80; length--)
            ;
    memmove(to, text, length);
    to[length] = '\0';
}

const char *nnapi_shim_getLastError(void)
{
    return last_error;
}

/* Called for every refusal after its message: for breakpoints. Not inlined, so that the symbol exists. */
__attribute__((noinline)) void nnapi_shim_storeError(const char *message)
{
    const char *set = secure_getenv("NNAPI_SHIM_BREAK");
    copy(last_error, sizeof last_error, message != NULL ? message : "");
    if (set != NULL && strcmp(set, "1") == 0)
        raise(SIGTRAP);
}

void nn_repeat_failure(void)
{
    nnapi_shim_storeError(failure);
}

/* The number of bytes of the UTF-8 character at the start of a text. 0 where there is none, or one
 * that ends a line, moves the cursor or turns text around: U+0080 to U+009F, U+2028 to U+202E, U+2066
 * to U+2069. */
static int plain_length(const unsigned char *text)
{
    static const unsigned lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
    unsigned code = text[0] & (0x7Fu >> length);
    for (int i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    const bool is_none = code < lowest[length] || code >> 11 == 0x1B || code > 0x10FFFF;
    const bool is_control = code < 0xA0 || (code >= 0x2028 && code <= 0x202E)
        || (code >= 0x2066 && code <= 0x2069);
    return is_none || is_control ? 0 : length;
}

/* Text, with what could end a line or a string written in another way, byte by byte. */
static char *escape(char *to, const char *from, bool for_json)
{
    while (*from != '\0') {
        const unsigned char byte = (unsigned char)*from;
        const int plain = byte < 0x80 ? byte >= 0x20 && byte != 0x7F
                                      : plain_length((const unsigned char *)from);
        if (plain == 0)
            to += sprintf(to, for_json ? "\\u%04x" : "\\x%02x", byte);
        else if (for_json && (byte == '"' || byte == '\\'))
            to += sprintf(to, "\\%c", byte);
        else
            to = mempcpy(to, from, (size_t)plain);
        from += plain == 0 ? 1 : plain;
    }
    return to;
}

/* As the lines of other refusals and warnings. text: no longer than a failure. */
static void print_line(const char *text, const char *json_start)
{
    const bool json = log_has("json");
    char line[6 * sizeof failure + 128];
    char *end = stpcpy(line, json ? json_start : "libneuralnetworks: ");
    end = stpcpy(escape(end, text, json), json ? "\"}\n" : "\n");
    nn_print(line, (size_t)(end - line));
}

void nn_warn(const char *text)
{
    char line[sizeof failure];
    copy(line, sizeof line, text);
    if (!log_has("silent") && !log_has("error"))
        print_line(line, "{\"level\": \"warning\", \"message\": \"");
}

void nn_refuse(const char *format, ...)
{
    char text[256], line[sizeof text + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!log_has("silent")) {
        const int length = snprintf(line, sizeof line,
                                    log_has("json") ? "{\"level\": \"error\", \"message\": \"%s\"}\n"
                                                    : "libneuralnetworks: %s\n", text);
        nn_print(line, (size_t)length);
    }
    nnapi_shim_storeError(text);
}

void nn_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    if (!log_has("silent"))
        print_line(failure, "{\"level\": \"error\", \"code\": \"OP_FAILED\", "
                            "\"rule\": \"library.start\", \"message\": \"");
}

/* The text of str(object), or of an attribute of it; "" if there is none. */
static const char *text_of(char *to, size_t size, PyObject *object, const char *attribute)
{
    const struct nn_libpython *py = nn_py();
    PyObject *text = attribute != NULL ? py->PyObject_GetAttrString(object, attribute)
                                       : py->PyObject_Str(object);
    const char *utf8 = text != NULL ? py->PyUnicode_AsUTF8(text) : NULL;
    copy(to, size, utf8 != NULL ? utf8 : "");
    nn_drop(text);
    py->PyErr_Clear();
    return to;
}

void nn_fail_with_exception(const char *what)
{
    const struct nn_libpython *py = nn_py();
    PyObject *type, *value, *traceback;
    py->PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL) { /* the object is missing, as sys.path may be */
        nn_fail("%s", what);
        return;
    }
    py->PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        py->PyException_SetTraceback(value, traceback);

    char line[1024], name[256];
    text_of(name, sizeof name, type, "__name__");
    text_of(line, sizeof line, value, NULL);
    for (char *at = line; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';

    bool details = log_has("debug") && !log_has("json");
    if (details) /* not PyErr_Print(), which ends the program when it meets a SystemExit */
        py->PyErr_Display(type, value, traceback);
    nn_fail("%s: %s: %s%s", what, name, line,
            details ? "" : "; NNAPI_SHIM_LOG=debug shows the traceback");
    nn_drop(type);
    nn_drop(value);
    nn_drop(traceback);
}
