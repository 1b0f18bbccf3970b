/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System properties: names with values that say what a device is. Here they are settings, read from
 * the environment at the first call: NNAPI_SHIM_PROPERTIES ("name=value,name=value", a comma within
 * a value written twice) and NNAPI_SHIM_ANDROID_API, which ro.build.version.sdk and
 * ro.build.version.release follow where the first does not name them. A few others have defaults.
 *
 * On Android these functions are in the C library, which every program links. Here libandroid and
 * liblog both offer them; they may be mixed.
 */
#ifndef NNAPI_SHIM_SYS_SYSTEM_PROPERTIES_H
#define NNAPI_SHIM_SYS_SYSTEM_PROPERTIES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Length that names once were limited to, with the zero at the end. Longer ones are allowed. */
#define PROP_NAME_MAX 32
/** Room for a value of __system_property_get(), with the zero at the end. */
#define PROP_VALUE_MAX 92

/** A property; it lives as long as the process. */
typedef struct prop_info prop_info;

/**
 * Stores a property's value, of which what does not fit into PROP_VALUE_MAX bytes is cut off; ""
 * if there is no such property. Returns the length of what is stored.
 */
int __system_property_get(const char* name, char* value);

/** Finds a property; NULL if there is none of this name. */
const prop_info* __system_property_find(const char* name);

/**
 * Calls a function with a property's name, its whole value and its serial number, which is always 0
 * because properties never change here.
 */
void __system_property_read_callback(
    const prop_info* pi,
    void (*callback)(void* cookie, const char* name, const char* value, uint32_t serial),
    void* cookie);

/** Calls a function with every property. Returns 0. */
int __system_property_foreach(void (*callback)(const prop_info* pi, void* cookie), void* cookie);

/** Would change a property, which no ordinary program may. Returns -1, and one line says so. */
int __system_property_set(const char* name, const char* value);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_SYS_SYSTEM_PROPERTIES_H */
