/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a statistic has no value. A result carries a status instead of a NaN that travels. */
#ifndef NARROWS_STATUS_H
#define NARROWS_STATUS_H

enum nw_status {
	NW_STATUS_OK = 0,
	NW_STATUS_INSUFFICIENT,      /* fewer values than the formula needs */
	NW_STATUS_DEGENERATE,        /* no variation where the formula divides by the variation */
	NW_STATUS_CONSTANT_RESPONSE, /* SSyy = 0: nothing to explain */
	NW_STATUS_UNDERDETERMINED,   /* more terms than rows */
	NW_STATUS_UNDEFINED,         /* the input is not finite, or not where the formula lives */
	NW_STATUS_REFUSED            /* the model contradicts its data */
};

/* The word printed in results. Static text. */
static inline const char *
nw_status_text(enum nw_status status)
{
	switch (status) {
	case NW_STATUS_OK: return "ok";
	case NW_STATUS_INSUFFICIENT: return "insufficient";
	case NW_STATUS_DEGENERATE: return "degenerate";
	case NW_STATUS_CONSTANT_RESPONSE: return "constant_response";
	case NW_STATUS_UNDERDETERMINED: return "underdetermined";
	case NW_STATUS_UNDEFINED: return "undefined";
	case NW_STATUS_REFUSED: return "refused";
	}
	return "undefined";
}

#endif
