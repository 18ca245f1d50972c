/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of a host that the lists of metrics worth keeping name. */
#include "web/answer/hosts.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"

enum { LISTS_MAX = 20 };

struct lists {
	json_t *list;
	const char *host;
};

/* "sender", or NULL: the list does not name the host. */
static const char *
role_of(const json_t *list, const char *host)
{
	const json_t *hosts = result_list(list, KEY_keeplist_hosts), *o;
	const char *name, *role;
	size_t i;

	json_array_foreach(hosts, i, o)
	{
		name = result_text(o, KEY_keep_host_name);
		role = result_text(o, KEY_keep_host_role);
		if (name != NULL && role != NULL && strcmp(name, host) == 0)
			return role;
	}
	return NULL;
}

/* Metrics of a list whose name begins with the role of the host. A new reference, or NULL. */
static json_t *
metrics_of(const json_t *list, const char *role)
{
	json_t *all = json_array(), *o;
	const json_t *metrics = result_list(list, KEY_keeplist_metrics);
	const size_t len = strlen(role);
	const char *name;
	size_t i;

	json_array_foreach(metrics, i, o)
	{
		name = result_text(o, KEY_keep_metric_name);
		if (name != NULL && strncmp(name, role, len) == 0 && name[len] == ':')
			json_array_append(all, o);
	}
	return all;
}

static int
on_list(void *arg, const struct nw_keeplist_rec *rec)
{
	struct lists *l = arg;
	json_t *list = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL, *o;
	const char *role = role_of(list, l->host);

	if (role != NULL) {
		o = json_object();
		result_put_text(o, KEY_host_kept_route, result_text(list, KEY_keeplist_route));
		result_put_text(o, KEY_host_kept_program, result_text(list, KEY_keeplist_program));
		result_put_text(o, KEY_host_kept_role, role);
		result_set(o, KEY_host_kept_metrics, metrics_of(list, role));
		json_array_append_new(l->list, o);
	}
	json_decref(list);
	return json_array_size(l->list) == LISTS_MAX;
}

int
host_kept_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out)
{
	struct lists l = { .list = json_array(), .host = host->name };
	int rc = store_keeplists(r, on_list, &l);

	*out = l.list;
	if (rc < 0) {
		json_decref(l.list);
		*out = NULL;
	}
	return rc;
}
