/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System properties from settings. The first call builds the table, which is never freed: a
 * prop_info stays valid. It contains the whole property, so it works in every library that contains
 * this file.
 */
#pragma GCC visibility push(default)
#include <android/api-level.h>
#include <sys/system_properties.h>
#pragma GCC visibility pop

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_line.h"

enum { LOWEST_API = 1, HIGHEST_API = 10000, RELEASE_CAPACITY = 12 };

struct prop_info {
  const char* name;
  const char* value;
};

static const char sdk[] = "ro.build.version.sdk";
/* nnapi_shim/settings.py has the same default. */
static const char default_api[] = "34";

/* The properties that most programs read. */
static const prop_info defaults[] = {
    {"ro.build.version.codename", "REL"},
    {"ro.hardware", "nnapi_shim"},
    {"ro.product.brand", "nnapi_shim"},
    {"ro.product.cpu.abi", "x86_64"},
    {"ro.product.cpu.abilist", "x86_64"},
    {"ro.product.device", "nnapi_shim"},
    {"ro.product.manufacturer", "nnapi_shim"},
    {"ro.product.model", "nnapi_shim"},
    {"ro.product.name", "nnapi_shim"},
};
enum { DEFAULTS = sizeof defaults / sizeof defaults[0], COMPUTED = 2 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static prop_info* properties;
static size_t property_count;

/* A level in the text, or -1. */
static int parse_api(const char* text) {
  char* end;
  long level = strtol(text, &end, 10);
  int is_level = end != text && *end == '\0' && level >= LOWEST_API && level <= HIGHEST_API;
  return is_level ? (int)level : -1;
}

static prop_info* find(const char* name) {
  for (size_t i = 0; i < property_count; ++i) {
    if (strcmp(properties[i].name, name) == 0) return &properties[i];
  }
  return NULL;
}

/* Removes the first entry of a text, up to a comma; ",," is a comma within the entry. */
static char* next_entry(char** text) {
  char* entry = *text;
  char* to = entry;
  char* from = entry;
  for (; *from != '\0' && (*from != ',' || from[1] == ','); ++from) {
    if (*from == ',') ++from;
    *to++ = *from;
  }
  *text = *from == '\0' ? NULL : from + 1;
  *to = '\0';
  return entry;
}

/* Adds the properties of NNAPI_SHIM_PROPERTIES; the last value of a name applies. */
static void add_chosen(char* text) {
  while (text != NULL) {
    char* name = next_entry(&text);
    char* equals = strchr(name, '=');
    if (equals == NULL || equals == name) {
      if (name[0] != '\0') {
        log_say(ANDROID_LOG_ERROR,
                "NNAPI_SHIM_PROPERTIES has '%s', which is not used; allowed is name=value", name);
      }
      continue;
    }
    *equals = '\0';
    prop_info* known = find(name);
    if (known == NULL) known = &properties[property_count++];
    *known = (prop_info){name, equals + 1};
  }
}

static void add_default(const char* name, const char* value) {
  if (find(name) == NULL) properties[property_count++] = (prop_info){name, value};
}

/* The API level of the phone that NNAPI_SHIM_PROFILE names, as text; the default without one.
 * libneuralnetworks.so knows it, which most programs have loaded already. */
static const char* profile_api(void) {
  static char text[RELEASE_CAPACITY];
  const char* profile = secure_getenv("NNAPI_SHIM_PROFILE");
  if (profile == NULL || profile[0] == '\0') return default_api;
  void* library = dlopen("libneuralnetworks.so", RTLD_NOW | RTLD_LOCAL);
  int32_t (*get_level)(void) = NULL;
  if (library != NULL) *(void**)&get_level = dlsym(library, "nnapi_shim_getAndroidApiLevel");
  int32_t level = get_level == NULL ? 0 : get_level();
  if (get_level == NULL) {
    log_say(ANDROID_LOG_ERROR, "NNAPI_SHIM_PROFILE: the API level stays %s; %s", default_api,
            dlerror());
  }
  if (level <= 0) return default_api;
  snprintf(text, sizeof text, "%d", (int)level);
  return text;
}

static const char* chosen_api(void) {
  const char* api = secure_getenv("NNAPI_SHIM_ANDROID_API");
  if (api == NULL || api[0] == '\0') return profile_api();
  if (parse_api(api) > 0) return api;
  log_say(ANDROID_LOG_ERROR,
          "NNAPI_SHIM_ANDROID_API is '%s', which is not used; allowed are %d to %d", api,
          LOWEST_API, HIGHEST_API);
  return default_api;
}

/* The Android version name of an API level, such as "12"; "" before 5.0. */
static const char* release_of(int api) {
  static const char* const since_5_0[] = {
      "5.0", "5.1", "6.0", "7.0", "7.1", "8.0.0", "8.1.0", "9", "10", "11", "12", "12",
  };
  enum { API_OF_5_0 = 21, API_OF_13 = 33 };
  static char newer[RELEASE_CAPACITY];
  if (api < API_OF_5_0) return "";
  if (api < API_OF_13) return since_5_0[api - API_OF_5_0];
  snprintf(newer, sizeof newer, "%d", api - API_OF_13 + 13);
  return newer;
}

static void make_table(void) {
  const char* setting = secure_getenv("NNAPI_SHIM_PROPERTIES");
  char* chosen = strdup(setting == NULL ? "" : setting);
  char* api = strdup(chosen_api());
  size_t capacity = DEFAULTS + COMPUTED + 1;
  for (const char* c = chosen; c != NULL && *c != '\0'; ++c) capacity += *c == ',';
  properties = calloc(capacity, sizeof *properties);
  if (chosen == NULL || api == NULL || properties == NULL) {
    log_say(ANDROID_LOG_ERROR, "there are no system properties; memory has run out");
    return;
  }
  add_chosen(chosen);
  add_default(sdk, api);
  add_default("ro.build.version.release", release_of(parse_api(find(sdk)->value)));
  for (size_t i = 0; i < DEFAULTS; ++i) add_default(defaults[i].name, defaults[i].value);
}

const prop_info* __system_property_find(const char* name) {
  pthread_once(&once, make_table);
  return name == NULL ? NULL : find(name);
}

int __system_property_get(const char* name, char* value) {
  if (value == NULL) return 0;
  const prop_info* property = __system_property_find(name);
  return snprintf(value, PROP_VALUE_MAX, "%.*s", PROP_VALUE_MAX - 1,
                  property == NULL ? "" : property->value);
}

void __system_property_read_callback(
    const prop_info* pi,
    void (*callback)(void* cookie, const char* name, const char* value, uint32_t serial),
    void* cookie) {
  if (pi != NULL) callback(cookie, pi->name, pi->value, 0);
}

int __system_property_foreach(void (*callback)(const prop_info* pi, void* cookie), void* cookie) {
  pthread_once(&once, make_table);
  for (size_t i = 0; i < property_count; ++i) callback(&properties[i], cookie);
  return 0;
}

int __system_property_set(const char* name, const char* value) {
  log_say(ANDROID_LOG_WARN,
          "__system_property_set: %s does not become '%s'; properties are settings "
          "(NNAPI_SHIM_PROPERTIES)",
          name == NULL ? "(null)" : name, value == NULL ? "" : value);
  return -1;
}

int android_get_device_api_level(void) {
  const prop_info* property = __system_property_find(sdk);
  return property == NULL ? -1 : parse_api(property->value);
}
