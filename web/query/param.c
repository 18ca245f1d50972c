/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/param.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
take_number(const struct param *p, int64_t *out, const char *text)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && *out >= p->min && (p->max == 0 || *out <= p->max);
}

static bool
take_text(const struct param *p, char *out, const char *text)
{
	size_t len = strlen(text);

	if (p->max > 0 && len > (size_t)p->max)
		return false;
	memcpy(out, text, len + 1);
	return true;
}

static bool
take_word(const struct param *p, unsigned *out, const char *text)
{
	unsigned i;

	for (i = 0; p->words[i] != NULL; i++)
		if (strcmp(p->words[i], text) == 0) {
			*out = i;
			return true;
		}
	return false;
}

bool
param_take(const struct param *p, void *query, const char *text)
{
	void *out = (char *)query + p->at;

	if (p->take != NULL)
		return p->take(out, text);
	switch (p->type) {
	case PARAM_TEXT: return take_text(p, out, text);
	case PARAM_NUMBER: return take_number(p, out, text);
	case PARAM_WORD: return take_word(p, out, text);
	}
	return false;
}

const struct param *
param_find(const struct param *list, const char *name, unsigned kind)
{
	for (; list->name != NULL; list++)
		if ((strcmp(list->name, name) == 0 ||
			(list->also != NULL && strcmp(list->also, name) == 0)) &&
		    param_is_of(list, kind))
			return list;
	return NULL;
}
