/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracing: what a program says of the time that its parts take. Here it goes into the file that the
 * environment variable NNAPI_SHIM_TRACE names, as trace events in JSON, which Perfetto and Chrome
 * show; without it nothing happens. The variable is read at the first call.
 *
 * Of a name, the first 256 bytes are written. A child made by fork() writes nothing.
 */
#ifndef NNAPI_SHIM_ANDROID_TRACE_H
#define NNAPI_SHIM_ANDROID_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Tells whether a trace is written: whether it is worth while to put a name together. */
bool ATrace_isEnabled(void);

/** Begins a section of the calling thread, within those that it has begun before. */
void ATrace_beginSection(const char* sectionName);

/** Ends the section that the calling thread began last. */
void ATrace_endSection(void);

/** Begins a section that may end on another thread; name and cookie together tell which it is. */
void ATrace_beginAsyncSection(const char* sectionName, int32_t cookie);

/** Ends the section of this name and cookie. */
void ATrace_endAsyncSection(const char* sectionName, int32_t cookie);

/** Says what value a counter has from now on. */
void ATrace_setCounter(const char* counterName, int64_t counterValue);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_TRACE_H */
