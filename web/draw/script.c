/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/script.h"

#include "base/embed.h"

EMBED(script_js, "web/draw/narrows.js");
