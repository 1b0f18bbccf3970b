# SPDX-License-Identifier: Apache-2.0
# The example programs, built into build/c_examples. Included from the Makefile at the top, after
# companion.mk. They are linked without an rpath: LD_LIBRARY_PATH says where the libraries are.

LIB_DIR ?= build/lib

include nnapi_shim/native/flags/flags.mk
include nnapi_shim/native/short.mk
EXAMPLE_FLAGS := $(FLAGS_TO_COMPILE) $(FLAGS_TO_LINK) -fPIE -pie

EXAMPLE_DIR := build/c_examples
EXAMPLE_WARNINGS := -Wall -Wextra -Wpedantic
EXAMPLE_NAMES := $(sort $(patsubst c_examples/%.c,%,$(wildcard c_examples/*.c)) \
	$(patsubst c_examples/%.cpp,%,$(wildcard c_examples/*.cpp)))
EXAMPLE_PROGRAMS := $(addprefix $(EXAMPLE_DIR)/,$(EXAMPLE_NAMES))

.PHONY: c_examples run-c_examples clean-c_examples
c_examples: $(EXAMPLE_PROGRAMS)

# Programs are linked again only if the libraries were not there: what they do is found at run time.
$(EXAMPLE_PROGRAMS): | $(LIB_DIR)/libneuralnetworks.so
$(EXAMPLE_DIR)/basic: | $(LIB_DIR)/libandroid.so $(LIB_DIR)/liblog.so

$(EXAMPLE_DIR)/%: c_examples/%.c c_examples/examples.mk $(wildcard $(FLAGS_DIR)/*)
	@mkdir -p $(@D)
	$(call SHORT,CC,$<)$(CC) $(EXAMPLE_FLAGS) -std=c99 -pthread -O2 $(EXAMPLE_WARNINGS) $(CFLAGS) -Iinclude -MMD -MP -MF $@.d -o $@ $< \
		-L$(LIB_DIR) -lneuralnetworks -lm $(LDFLAGS) -ldl

$(EXAMPLE_DIR)/%: c_examples/%.cpp c_examples/examples.mk $(wildcard $(FLAGS_DIR)/*)
	@mkdir -p $(@D)
	$(call SHORT,CXX,$<)$(CXX) $(EXAMPLE_FLAGS) -std=c++17 -O2 $(EXAMPLE_WARNINGS) $(CXXFLAGS) -Iinclude -Iinclude/companion \
		-MMD -MP -MF $@.d -o $@ $< -L$(LIB_DIR) -landroid -llog -lneuralnetworks $(LDFLAGS)

# Runs each program and compares what it prints with the file beside it.
run-c_examples: c_examples
	@for name in $(EXAMPLE_NAMES); do \
		LD_LIBRARY_PATH=$(LIB_DIR) $(EXAMPLE_DIR)/$$name > $(EXAMPLE_DIR)/$$name.output && \
		diff -u c_examples/$$name.expected $(EXAMPLE_DIR)/$$name.output && echo "$$name: ok" || exit 1; \
	done

clean-c_examples:
	rm -rf $(EXAMPLE_DIR)

-include $(wildcard $(EXAMPLE_DIR)/*.d)
