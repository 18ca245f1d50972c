/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "analyze/verdict/usual/changed.h"
#include "narrows/xmalloc.h"

struct difference *
changed_add(struct changed *c, enum difference_kind kind)
{
	c->difference = xreallocarray(c->difference, c->n + 1, sizeof(*c->difference));
	c->difference[c->n] =
	    (struct difference){ .kind = kind, .before = NAN, .after = NAN, .p = NAN, .q = NAN };
	return &c->difference[c->n++];
}
