# SPDX-License-Identifier: Apache-2.0
# The files beside this one as arguments of a compiler, for make; README.md says what is in them.

ARCH ?= $(shell uname -m)
FLAGS_DIR := nnapi_shim/native/flags
flags_of = $(addprefix @,$(wildcard $(foreach kind,$(1),$(FLAGS_DIR)/$(kind) $(FLAGS_DIR)/$(kind)-$(ARCH))))

FLAGS_TO_COMPILE := $(call flags_of,compile)
FLAGS_TO_LINK := $(call flags_of,link)
FLAGS_TO_LINK_LIBRARY := $(call flags_of,link library)
