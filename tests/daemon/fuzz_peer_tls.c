/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections of fuzz_peer.c, two of them over TLS. */
#define FUZZ_TLS 1
#include "tests/daemon/fuzz_peer.c"
