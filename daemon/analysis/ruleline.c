/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/analysis/ruleline.h"

#include <stdio.h>
#include <string.h>

#include "daemon/analysis/behaviour.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/quantity.h"

static const char why_form[] =
    "write CONDITION EVENT-TYPE INTERVAL; CONDITION: open, slow, changed, untold or steady";

int
ruleline_parse(const char *text, struct ruleline *out, const char **next, const char **why)
{
	size_t len = strcspn(text, "\n");
	char line[600], *word[4], *rest = line;
	size_t n = 0;

	*next = text + len + (text[len] == '\n');
	*why = why_form;
	if (len >= sizeof(line))
		return NW_EINVAL;
	memcpy(line, text, len);
	line[len] = '\0';
	while (n < 4 && (word[n] = strsep(&rest, " \t")) != NULL)
		n += word[n][0] != '\0';
	if (n != 3 || (out->when = behaviour_parse(word[0])) == 0)
		return NW_EINVAL;
	if (strlen(word[1]) >= sizeof(out->event_type) || !nw_type_begins(word[1], NW_TYPE_HOST)) {
		*why = "the event type of a rule begins with " NW_TYPE_HOST;
		return NW_EINVAL;
	}
	snprintf(out->event_type, sizeof(out->event_type), "%s", word[1]);
	if (quantity_duration(word[2], &out->interval_ns, why) < 0)
		return NW_EINVAL;
	*why = "a rule's interval is from 10ms to 1h, without a blank";
	return out->interval_ns >= NW_ORDER_COLLECTION_MIN_NS &&
		out->interval_ns <= NW_ORDER_PERIOD_MAX_NS
	    ? NW_OK
	    : NW_EINVAL;
}
