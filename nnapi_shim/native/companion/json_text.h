/* SPDX-License-Identifier: Apache-2.0 */
/* Text for the inside of a string in JSON. */
#ifndef NNAPI_SHIM_JSON_TEXT_H
#define NNAPI_SHIM_JSON_TEXT_H

#include <stddef.h>

/* What one byte becomes at most: "\u0000". */
enum { JSON_BYTES_PER_BYTE = 6 };

/*
 * Writes at most `limit` bytes of a text, escaped for a JSON string, and a zero. No
 * character is cut in two; bytes that are no UTF-8 become the characters of Latin-1.
 */
void json_text(char* to, const char* text, size_t limit);

#endif /* NNAPI_SHIM_JSON_TEXT_H */
