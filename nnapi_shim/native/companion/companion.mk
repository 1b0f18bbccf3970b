# SPDX-License-Identifier: Apache-2.0
# libandroid.so, libnativewindow.so and liblog.so, which programs for Android link beside
# libneuralnetworks.so. Included from the Makefile at the top; needs nothing but a C compiler.

LIB_DIR ?= build/lib

include nnapi_shim/native/flags/flags.mk
include nnapi_shim/native/short.mk

COMPANION_SOURCE_DIR := nnapi_shim/native/companion
COMPANION_OBJECT_DIR := build/companion
COMPANION_CFLAGS = $(FLAGS_TO_COMPILE) '-ffile-prefix-map=$(CURDIR)=.' -std=c11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iinclude -Iinclude/companion
# What they give out, such as properties, and a trace that is being written, outlive a dlclose().
COMPANION_LDFLAGS = -shared -pthread $(FLAGS_TO_LINK_LIBRARY) -Wl,-z,defs -Wl,-z,nodelete

COMPANION_LIBRARIES := $(addprefix $(LIB_DIR)/,libandroid.so libnativewindow.so liblog.so)

.PHONY: companion clean-companion
companion: $(COMPANION_LIBRARIES)

# On Android, system properties are in the C library: here they are in both libraries of which nearly
# every program links one.
$(LIB_DIR)/libandroid.so: $(addprefix $(COMPANION_OBJECT_DIR)/,shared_memory.o hardware_buffer.o asset_manager.o \
	asset_manager_jni.o java_machine.o java_missing.o java_references.o java_objects.o java_strings.o \
	java_arrays.o java_exceptions.o system_properties.o trace.o json_text.o log_line.o)
$(LIB_DIR)/libnativewindow.so: $(COMPANION_OBJECT_DIR)/hardware_buffer.o
$(LIB_DIR)/liblog.so: $(addprefix $(COMPANION_OBJECT_DIR)/,log.o log_line.o system_properties.o)

# Linked under another name first: a program that runs keeps the library it has mapped.
$(COMPANION_LIBRARIES):
	@mkdir -p $(@D)
	$(call SHORT,LINK,$@)$(CC) $(COMPANION_LDFLAGS) -Wl,-soname,$(@F) -o $@.new $^ $(LDFLAGS) -ldl
	@mv $@.new $@

$(COMPANION_OBJECT_DIR)/%.o: $(COMPANION_SOURCE_DIR)/%.c $(COMPANION_SOURCE_DIR)/companion.mk \
		$(wildcard $(FLAGS_DIR)/*)
	@mkdir -p $(@D)
	$(call SHORT,CC,$<)$(CC) $(COMPANION_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

clean-companion:
	rm -rf $(COMPANION_OBJECT_DIR) $(COMPANION_LIBRARIES)

-include $(wildcard $(COMPANION_OBJECT_DIR)/*.d)
