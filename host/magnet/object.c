/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/object.h"

#include "base/embed.h"

EMBED(magnet_object, NW_BPF_DIR "host/magnet/bpf/points.o");
EMBED(magnet_user_object, NW_BPF_DIR "host/magnet/bpf/user.o");
