/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `narrows stat ttest --paper`: Tables I and II of Kissel et al. (2012), each printed bottleneck
 * beside the two rules on the rates of Table I.
 *
 * Table II was judged on calls, and calls mislead: a receive contains the wait for the sender, a
 * write ends in memory. Table I has the rate of every stage alone, and the slowest of them limits
 * the transfer. The table has one number per stage, so the spread of windows is an assumption
 * (options), and each number is known to half of its last digit: the sound rule tests the least
 * favourable rates within the rounding.
 */
#include <math.h>
#include <string.h>

#include "cli/stat/stat_paper.h"
#include "cli/stat/stat_series.h"
#include "cli/stat/stat_sets.h"
#include "narrows/bottleneck.h"

#define ROUNDING_GBPS 0.05

/* --- stages of a transfer --- */

static const struct paper_rate *
rate_find(const char *resource, unsigned latency_ms, unsigned streams)
{
	const struct paper_rate *r;

	for (r = paper_rates; r->resource != NULL; r++)
		if (strcmp(r->resource, resource) == 0 && r->latency_ms == latency_ms &&
		    r->streams == streams)
			return r;
	return NULL;
}

/* Mean rate of CUBIC streams under random loss, RFC 9438 equation 5 with C = 0.4 and beta = 0.7. */
static double
cubic_gbps(double loss, double rtt_s, unsigned streams)
{
	double packets = pow(0.4 * 3.7 / (4 * 0.3), 0.25) * pow(rtt_s / loss, 0.75);

	return streams * packets * 9000 * 8 / rtt_s / 1e9;
}

static void
stage_add(struct paper_stages *s, const char *name, double gbps)
{
	s->name[s->n] = name;
	s->gbps[s->n++] = gbps;
}

void
paper_stages(const struct paper_transfer *t, struct paper_stages *out)
{
	double network = rate_find(t->protocol, t->latency_ms, t->streams)->network_gbps;

	if (t->loss > 0 && strcmp(t->protocol, "TCP") == 0)
		network = fmin(network, cubic_gbps(t->loss, t->latency_ms / 1e3, t->streams));
	out->n = 0;
	if (strcmp(t->resources, "disk to disk") == 0)
		stage_add(out, "disk.read", rate_find("H_B", 0, t->streams)->read_gbps);
	stage_add(out, "disk.write", rate_find("H_A", 0, t->streams)->write_gbps);
	stage_add(out, "network", network);
}

/* --- the two rules --- */

struct assumed {
	double windows, spread, alpha;
};

/* Marks the stages that the rule cannot separate from the slowest. */
static void
candidates_of(const struct paper_stages *s, const struct assumed *d, bool sound, bool *candidate)
{
	double half = sound ? ROUNDING_GBPS : 0,
	       alpha = sound && s->n == 2 ? d->alpha / 2 : d->alpha;
	size_t i, low = 0;

	for (i = 1; i < s->n; i++)
		if (s->gbps[i] < s->gbps[low])
			low = i;
	for (i = 0; i < s->n; i++) {
		struct nw_group a = { d->windows, s->gbps[low] + half, d->spread * s->gbps[low] },
				b = { d->windows, s->gbps[i] - half, d->spread * s->gbps[i] };

		candidate[i] = i == low || !(nw_ttest_welch(&a, &b).p < alpha);
	}
}

/* "disk.read or network" */
static json_t *
names_json(const struct paper_stages *s, const bool *candidate)
{
	char text[64] = "";
	size_t i;

	for (i = 0; i < s->n; i++)
		if (candidate[i]) {
			strncat(
			    text, text[0] != '\0' ? " or " : "", sizeof(text) - strlen(text) - 1);
			strncat(text, s->name[i], sizeof(text) - strlen(text) - 1);
		}
	return json_string(text);
}

static bool
is_candidate(const struct paper_stages *s, const bool *candidate, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0)
			return candidate[i];
	return false;
}

/* --- the tables --- */

static json_t *
table_1_json(void)
{
	json_t *rows = json_array(), *row;
	const struct paper_rate *r;

	for (r = paper_rates; r->resource != NULL; r++) {
		row = json_pack("{s:s,s:i,s:i}", "resource", r->resource, "streams",
		    (int)r->streams, "latency_ms", (int)r->latency_ms);
		set_defined(row, "read_gbps", r->read_gbps);
		set_defined(row, "write_gbps", r->write_gbps);
		set_defined(row, "network_gbps", r->network_gbps);
		json_array_append_new(rows, row);
	}
	return rows;
}

/* A row of Table II; counts a wrong one. */
static json_t *
transfer_json(const struct paper_transfer *t, const struct assumed *d, json_int_t *n_wrong)
{
	bool published[PAPER_STAGES_MAX], sound[PAPER_STAGES_MAX], wrong;
	struct paper_stages s;
	size_t i, n_sound = 0;
	json_t *row = json_pack("{s:s,s:s,s:i,s:i,s:f,s:s}", "resources", t->resources, "protocol",
	    t->protocol, "streams", (int)t->streams, "latency_ms", (int)t->latency_ms, "loss_pct",
	    100 * t->loss, "printed", t->printed != NULL ? t->printed : "n/a");

	if (t->printed == NULL)
		return row;
	paper_stages(t, &s);
	candidates_of(&s, d, false, published);
	candidates_of(&s, d, true, sound);
	wrong = !is_candidate(&s, sound, t->printed);
	*n_wrong += wrong;
	for (i = 0; i < s.n; i++)
		n_sound += sound[i];
	json_object_set_new(row, "published_rule", names_json(&s, published));
	json_object_set_new(row, "sound_rule", names_json(&s, sound));
	json_object_set_new(row, "print",
	    json_string(wrong     ? "wrong"
		    : n_sound > 1 ? "either"
				  : "right"));
	if (wrong && t->why != NULL)
		json_object_set_new(row, "why", json_string(t->why));
	return row;
}

int
paper_cells_run(const struct stat_args *a, json_t **out, struct stat_error *err)
{
	struct assumed d = { 60, 0.1, 0.05 };
	json_int_t n_wrong = 0;
	const struct paper_transfer *t;
	const char *const *files;
	json_t *rows;
	int rc;

	if (stat_arg_files(a, &files) > 0)
		return stat_fail(err, NW_EINVAL, "--paper takes no file");
	if ((rc = stat_arg_number(a, "alpha", 0, 1, &d.alpha, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "windows", 2, 1e6, &d.windows, err)) != NW_OK ||
	    (rc = stat_arg_number(a, "spread", 1e-6, 10, &d.spread, err)) != NW_OK)
		return rc;
	rows = json_array();
	for (t = paper_transfers; t->resources != NULL; t++)
		json_array_append_new(rows, transfer_json(t, &d, &n_wrong));
	*out = json_pack("{s:s,s:o,s:o,s:I,s:f,s:f,s:f}", "source", "Kissel et al. (2012)",
	    "table_1", table_1_json(), "table_2", rows, "wrong", n_wrong, "windows", d.windows,
	    "spread", d.spread, "alpha", d.alpha);
	return NW_OK;
}
