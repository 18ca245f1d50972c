/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/outside_object.h"

#include "base/embed.h"

EMBED(outside_object, NW_BPF_DIR "host/outside/bpf/outside.o");
