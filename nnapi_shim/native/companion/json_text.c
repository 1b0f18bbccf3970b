/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number of bytes of the UTF-8 character at the start of a text; 0 if there is none. */
static size_t character_length(const unsigned char* text) {
  static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (text[0] < 0x80) return 1;
  size_t length = text[0] >> 5 == 0x06 ? 2 : text[0] >> 4 == 0x0E ? 3 : text[0] >> 3 == 0x1E ? 4 : 0;
  uint32_t code = text[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (text[i] >> 6 != 2) return 0;
    code = code << 6 | (text[i] & 0x3Fu);
  }
  int is_surrogate = code >> 11 == 0x1B;
  return code < lowest[length] || is_surrogate || code > 0x10FFFF ? 0 : length;
}

void json_text(char* to, const char* text, size_t limit) {
  const unsigned char* from = (const unsigned char*)text;
  while (*from != '\0') {
    size_t length = character_length(from);
    size_t taken = length == 0 ? 1 : length;
    if (taken > limit) break;
    limit -= taken;
    if (length == 0 || *from < 0x20) {
      to += sprintf(to, "\\u%04x", *from);
    } else {
      if (*from == '"' || *from == '\\') *to++ = '\\';
      memcpy(to, from, length);
      to += length;
    }
    from += taken;
  }
  *to = '\0';
}
