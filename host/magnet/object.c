/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/object.h"

#include "base/embed.h"

EMBED(magnet_object, "host/magnet/bpf/points.o");
EMBED(magnet_user_object, "host/magnet/bpf/user.o");
