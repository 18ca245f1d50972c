/* SPDX-License-Identifier: BSD-3-Clause */
/* The latest connections of a host's collectors, with losses. */
#include "web/answer/hosts.h"

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"

static json_t *
count_of(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	json_t *o = json_object();

	result_put_iso_ms(o, KEY_host_link_opened, x->opened_wall_ns);
	result_put_iso_ms(o, KEY_host_link_closed, x->closed_wall_ns);
	result_put_text(o, KEY_host_link_end_reason, x->end_reason);
	result_put_text(o, KEY_host_link_software, x->software);
	result_set(o, KEY_host_link_session,
	    x->session_id != 0 ? json_integer(x->session_id) : json_null());
	result_set(o, KEY_host_link_samples, count_of(x->samples));
	result_set(o, KEY_host_link_dropped, count_of(x->dropped));
	result_set(o, KEY_host_link_rejected, count_of(x->rejected));
	return json_array_append_new(arg, o) == 0 ? 0 : NW_ENOMEM;
}

int
host_link_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out)
{
	json_t *list = json_array();
	int rc = store_xsp_of_host(r, host->id, HOST_LINKS_MAX, on_xsp, list);

	*out = list;
	if (rc < 0) {
		json_decref(list);
		*out = NULL;
	}
	return rc;
}
