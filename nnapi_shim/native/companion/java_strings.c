/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings are UTF-16. Their bytes are Android's variant of UTF-8: character 0 is C0 80. The desktop
 * Java form of characters beyond 16 bits, two surrogates of three bytes each, is also accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "java.h"

enum { REPLACEMENT = 0xFFFD, BYTES_PER_UNIT = 3 };

static int is_high_surrogate(uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
static int is_low_surrogate(uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }

/* The next character of a text; an invalid byte counts as one character. */
static uint32_t next_character(const unsigned char** text) {
  const unsigned char* at = *text;
  int length = at[0] < 0x80 ? 1 : at[0] >> 5 == 0x06 ? 2 : at[0] >> 4 == 0x0E ? 3
               : at[0] >> 3 == 0x1E ? 4 : 0;
  uint32_t code = length == 1 ? at[0] : at[0] & (0x7Fu >> length);
  for (int i = 1; i < length; ++i) {
    if (at[i] >> 6 != 2) {
      length = 0;
      break;
    }
    code = code << 6 | (at[i] & 0x3Fu);
  }
  *text += length == 0 ? 1 : length;
  return length == 0 || code > 0x10FFFF ? REPLACEMENT : code;
}

static jstring new_string(JNIEnv* env, const jchar* chars, jsize length) {
  if (length < 0 || (chars == NULL && length > 0)) {
    java_abort("NewString", "there are no %d characters at %p", length, (const void*)chars);
  }
  jchar* units = java_allocate((size_t)length, sizeof *units);
  if (length > 0) memcpy(units, chars, (size_t)length * sizeof *units);
  return java_new(env, JAVA_STRING, java_class("java/lang/String"), length, units);
}

static jstring new_string_utf(JNIEnv* env, const char* bytes) {
  if (bytes == NULL) return NULL;
  jchar* units = java_allocate(strlen(bytes), sizeof *units);
  jsize length = 0;
  for (const unsigned char* text = (const unsigned char*)bytes; *text != '\0';) {
    uint32_t code = next_character(&text);
    if (code > 0xFFFF) {
      units[length++] = (jchar)(0xD7C0 + (code >> 10));
      units[length++] = (jchar)(0xDC00 + (code & 0x3FF));
    } else {
      units[length++] = (jchar)code;
    }
  }
  return java_new(env, JAVA_STRING, java_class("java/lang/String"), length, units);
}

/* Writes the bytes of characters, without a terminating zero, and returns their number. */
static size_t encode(const jchar* units, size_t count, char* bytes) {
  char* to = bytes;
  for (size_t i = 0; i < count; ++i) {
    uint32_t code = units[i];
    if (is_high_surrogate(code) && i + 1 < count && is_low_surrogate(units[i + 1])) {
      code = ((code - 0xD7C0) << 10) + (units[++i] - 0xDC00u);
      *to++ = (char)(0xF0 | code >> 18);
      *to++ = (char)(0x80 | (code >> 12 & 0x3F));
      *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    } else if (code > 0x7FF) {
      *to++ = (char)(0xE0 | code >> 12);
      *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    } else if (code > 0x7F || code == 0) {
      *to++ = (char)(0xC0 | code >> 6);
    } else {
      *to++ = (char)code;
      continue;
    }
    *to++ = (char)(0x80 | (code & 0x3F));
  }
  return (size_t)(to - bytes);
}

static char* encoded(const struct java_object* string, size_t* length) {
  char* bytes = java_allocate((size_t)string->length * BYTES_PER_UNIT + 1, 1);
  *length = encode(string->content, (size_t)string->length, bytes);
  return bytes;
}

static jsize get_string_length(JNIEnv* env, jstring string) {
  return (jsize)java_expect(string, JAVA_STRING, "GetStringLength")->length;
}

static jsize get_string_utf_length(JNIEnv* env, jstring string) {
  size_t length;
  free(encoded(java_expect(string, JAVA_STRING, "GetStringUTFLength"), &length));
  return (jsize)length;
}

static const char* get_string_utf_chars(JNIEnv* env, jstring string, jboolean* is_copy) {
  size_t length;
  if (is_copy != NULL) *is_copy = JNI_TRUE;
  return encoded(java_expect(string, JAVA_STRING, "GetStringUTFChars"), &length);
}

static void release_string_utf_chars(JNIEnv* env, jstring string, const char* bytes) {
  java_expect(string, JAVA_STRING, "ReleaseStringUTFChars");
  free((char*)bytes);
}

static const jchar* get_string_chars(JNIEnv* env, jstring string, jboolean* is_copy) {
  if (is_copy != NULL) *is_copy = JNI_FALSE;
  return java_expect(string, JAVA_STRING, "GetStringChars")->content;
}

static void release_string_chars(JNIEnv* env, jstring string, const jchar* chars) {
  if (java_expect(string, JAVA_STRING, "ReleaseStringChars")->content != chars) {
    java_abort("ReleaseStringChars", "the characters are not the string's");
  }
}

/* The characters of a range; NULL and a pending exception if it exceeds the string. */
static const jchar* part(
    JNIEnv* env, jstring string, jsize start, jsize length, const char* function) {
  const struct java_object* object = java_expect(string, JAVA_STRING, function);
  if (start >= 0 && length >= 0 && (int64_t)start + length <= object->length) {
    return (const jchar*)object->content + start;
  }
  java_throw(env, "java/lang/StringIndexOutOfBoundsException",
             "%d characters from %d on, of a string of %lld", length, start,
             (long long)object->length);
  return NULL;
}

static void get_string_region(
    JNIEnv* env, jstring string, jsize start, jsize length, jchar* chars) {
  const jchar* from = part(env, string, start, length, "GetStringRegion");
  if (from != NULL) memcpy(chars, from, (size_t)length * sizeof *chars);
}

static void get_string_utf_region(
    JNIEnv* env, jstring string, jsize start, jsize length, char* bytes) {
  const jchar* from = part(env, string, start, length, "GetStringUTFRegion");
  if (from != NULL) bytes[encode(from, (size_t)length, bytes)] = '\0';
}

void java_add_strings(struct JNINativeInterface* table) {
  table->NewString = new_string;
  table->NewStringUTF = new_string_utf;
  table->GetStringLength = get_string_length;
  table->GetStringUTFLength = get_string_utf_length;
  table->GetStringUTFChars = get_string_utf_chars;
  table->ReleaseStringUTFChars = release_string_utf_chars;
  table->GetStringChars = get_string_chars;
  table->ReleaseStringChars = release_string_chars;
  table->GetStringCritical = get_string_chars;
  table->ReleaseStringCritical = release_string_chars;
  table->GetStringRegion = get_string_region;
  table->GetStringUTFRegion = get_string_utf_region;
}
