/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What headers for Android write behind declarations to say since or up to which API level they
 * hold. Here every declaration holds always, so all of it is empty.
 */
#ifndef NNAPI_SHIM_ANDROID_VERSIONING_H
#define NNAPI_SHIM_ANDROID_VERSIONING_H

/* A program may have defined them away itself. */
#ifndef __INTRODUCED_IN
#define __INTRODUCED_IN(api_level)
#endif
#ifndef __DEPRECATED_IN
#define __DEPRECATED_IN(...)
#endif
#ifndef __REMOVED_IN
#define __REMOVED_IN(...)
#endif
#ifndef __INTRODUCED_IN_32
#define __INTRODUCED_IN_32(api_level)
#endif
#ifndef __INTRODUCED_IN_64
#define __INTRODUCED_IN_64(api_level)
#endif

#endif /* NNAPI_SHIM_ANDROID_VERSIONING_H */
