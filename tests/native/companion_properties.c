/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the properties that the arguments name, after looking at all that does not depend on them. */
#include <android/api-level.h>
#include <pthread.h>
#include <string.h>
#include <sys/system_properties.h>

#include "require.h"

enum { THREADS = 4 };

static void store(void* cookie, const char* name, const char* value, uint32_t serial) {
  REQUIRE(name != NULL && serial == 0);
  *(const char**)cookie = value;
}

static void count(const prop_info* pi, void* cookie) {
  const char* value = NULL;
  __system_property_read_callback(pi, store, &value);
  REQUIRE(value != NULL);
  ++*(int*)cookie;
}

static void* find(void* unused) {
  (void)unused;
  return (void*)__system_property_find("ro.build.version.sdk");
}

/* The table is made once, whoever comes first. */
static void find_from_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    REQUIRE(pthread_create(&threads[i], NULL, find, NULL) == 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    void* found;
    pthread_join(threads[i], &found);
    REQUIRE(found != NULL && found == find(NULL));
  }
}

int main(int argc, char** argv) {
  find_from_threads();
  char value[PROP_VALUE_MAX] = "before";
  REQUIRE(__system_property_get("no.such.property", value) == 0 && value[0] == '\0');
  REQUIRE(__system_property_get(NULL, value) == 0);
  REQUIRE(__system_property_get("ro.hardware", NULL) == 0);
  REQUIRE(__system_property_find("no.such.property") == NULL);
  REQUIRE(__system_property_find(NULL) == NULL);
  int properties = 0;
  REQUIRE(__system_property_foreach(count, &properties) == 0 && properties > 5);
  REQUIRE(__ANDROID_API__ == __ANDROID_API_FUTURE__);

  if (argc == 2 && strcmp(argv[1], "set") == 0) {
    return __system_property_set("debug.mine", "1") == -1 ? 0 : 1;
  }
  printf("%d\n", android_get_device_api_level());
  for (int i = 1; i < argc; ++i) {
    const char* whole = "";
    __system_property_read_callback(__system_property_find(argv[i]), store, &whole);
    int length = __system_property_get(argv[i], value);
    REQUIRE((size_t)length == strlen(value) && strncmp(whole, value, (size_t)length) == 0);
    printf("%d %s\n", length, whole);
  }
  return EXIT_SUCCESS;
}
