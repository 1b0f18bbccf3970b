# SPDX-License-Identifier: Apache-2.0
# $(call SHORT,CC,file) before a command prints a short line in place of the command; V=1 prints the command.

SHORT = $(if $(V),,@printf '  %-5s %s\n' $1 $2; )
