/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/announce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/utf8.h"
#include "narrows/xmalloc.h"

enum { NAME_BYTES = 40, NAMES_MAX = 4096, LINE_BYTES = 128, ID_MAX = 65535 };

struct scitag {
	long experiment, activity; /* activity -1: the experiment itself */
	char name[NAME_BYTES];
};

struct nw_scitags {
	struct scitag *tag;
	size_t n;
};

static bool
number_take(char **p, long *out)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	*out = strtol(*p, &end, 10);
	*p = end;
	return *out <= ID_MAX;
}

/* Reads a line without its comment. Returns false for a line in another form. */
static bool
line_read(char *line, struct scitag *out, bool *is_empty)
{
	char *p = line + strspn(line, " \t"), *end = p + strlen(p);

	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = '\0';
	*is_empty = *p == '\0';
	if (*is_empty)
		return true;
	out->activity = -1;
	if (!number_take(&p, &out->experiment))
		return false;
	if (*p == '.') {
		p++;
		if (!number_take(&p, &out->activity))
			return false;
	}
	if (*p != ' ' && *p != '\t')
		return false;
	p += strspn(p, " \t");
	if (*p == '\0' || strlen(p) >= sizeof(out->name) || !utf8_whole(p))
		return false;
	strcpy(out->name, p);
	return true;
}

int
nw_scitags_read(const char *text, struct nw_scitags **out, unsigned *line, const char **why)
{
	struct nw_scitags *names = xcalloc(1, sizeof(*names));
	char one[LINE_BYTES];
	struct scitag tag;
	size_t len;
	bool is_empty;

	for (*line = 1; *text != '\0'; (*line)++) {
		len = strcspn(text, "\n");
		snprintf(one, sizeof(one), "%.*s", (int)strcspn(text, "#\n"), text);
		*why = "write EXPERIMENT NAME or EXPERIMENT.ACTIVITY NAME";
		if (len >= sizeof(one) || !line_read(one, &tag, &is_empty))
			break;
		*why = "more than 4096 names";
		if (!is_empty && names->n == NAMES_MAX)
			break;
		if (!is_empty) {
			names->tag = xreallocarray(names->tag, names->n + 1, sizeof(*names->tag));
			names->tag[names->n++] = tag;
		}
		text += len + (text[len] == '\n');
	}
	if (*text == '\0') {
		*out = names;
		return NW_OK;
	}
	nw_scitags_free(names);
	return NW_EINVAL;
}

void
nw_scitags_free(struct nw_scitags *names)
{
	if (names == NULL)
		return;
	free(names->tag);
	free(names);
}

static const char *
name_find(const struct nw_scitags *names, int64_t experiment, int64_t activity)
{
	size_t i;

	for (i = 0; names != NULL && i < names->n; i++)
		if (names->tag[i].experiment == experiment && names->tag[i].activity == activity)
			return names->tag[i].name;
	return NULL;
}

void
nw_scitags_label(const struct nw_scitags *names, int64_t experiment, int64_t activity,
    char out[NW_SCITAGS_LABEL_BYTES])
{
	const char *name = name_find(names, experiment, -1);
	size_t n = 0;

	out[0] = '\0';
	if (experiment < 0)
		return;
	if (name != NULL)
		n = (size_t)snprintf(out, NW_SCITAGS_LABEL_BYTES, "%s", name);
	else
		n = (size_t)snprintf(
		    out, NW_SCITAGS_LABEL_BYTES, "experiment %" PRId64, experiment);
	if (activity < 0)
		return;
	if ((name = name_find(names, experiment, activity)) != NULL)
		snprintf(out + n, NW_SCITAGS_LABEL_BYTES - n, "/%s", name);
	else
		snprintf(out + n, NW_SCITAGS_LABEL_BYTES - n, "/activity %" PRId64, activity);
}
