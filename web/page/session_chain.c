/* SPDX-License-Identifier: BSD-3-Clause */
/* The chain of waits: sentence, picture, and tables of programs and waits; steps of loops. */
#include <string.h>

#include "narrows/chain.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/chain_draw.h"
#include "web/page/html_table.h"
#include "web/page/page.h"

TABLE_TEXT(column_name, KEY_chain_node_name)
TABLE_TEXT(column_host, KEY_chain_node_host)
/* clang-format off */
#define SHARES(X) X(held, "Held the bytes") X(waited, "Waited for others") X(cpu, "Computed") \
	X(read, "Read files") X(write, "Wrote files") X(far, "Waited outside") \
	X(step, "In steps") X(paused, "Paused") X(starved, "No processor") \
	X(inside, "Not known")
#define COLUMN(use, title) TABLE_NUMBER(column_##use, KEY_chain_node_##use##_share, fmt_share)
#define ROW(use, title) { KEY_chain_node_##use##_share, { title, column_##use, true } },
/* clang-format on */
SHARES(COLUMN)

/* Whether any program has a share worth a column: zeros would make the table too wide. */
static bool
is_used(const json_t *nodes, enum result_key key)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) if (result_number(node, key) >= 0.005) return true;
	return false;
}

static void
write_nodes(struct html *h, const json_t *nodes)
{
	static const struct {
		enum result_key key;
		struct table_column column;
	} all[] = { SHARES(ROW) };
	struct table_column columns[2 + sizeof(all) / sizeof(all[0])] = {
		{ "Program", column_name, false }, { "Host", column_host, false }
	};
	size_t n = 2, i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (is_used(nodes, all[i].key))
			columns[n++] = all[i].column;
	table_write(h, nodes, columns, n);
}

/* The node waited for, or the user of the processors. */
static const char *
whom_words(const json_t *nodes, const json_t *edge)
{
	return json_is_integer(result_get(edge, KEY_chain_edge_holder))
	    ? result_text(
		  result_at(nodes, result_number(edge, KEY_chain_edge_holder)), KEY_chain_node_name)
	    : result_text(edge, KEY_chain_edge_used_by);
}

static void
write_edges(struct html *h, const json_t *nodes, const json_t *edges)
{
	static const struct table_column columns[] = {
		{ "Who waited", NULL, false },
		{ "For whom", NULL, false },
		{ "For what", NULL, false },
		{ "Share of its time", NULL, true },
	};
	const struct nw_chain_words *want;
	const char *words[3];
	const json_t *edge;
	size_t i, k;

	table_open(h, columns, 4);
	json_array_foreach(edges, i, edge)
	{
		const double share = result_number(edge, KEY_chain_edge_share);

		words[0] = result_text(result_at(nodes, result_number(edge, KEY_chain_edge_waiter)),
		    KEY_chain_node_name);
		words[1] = whom_words(nodes, edge);
		words[2] = result_text(edge, KEY_chain_edge_waits_for);
		if ((want = nw_chain_want_of(words[2])) != NULL)
			words[2] = want->words;
		html_raw(h, "<tr>");
		for (k = 0; k < 3; k++) {
			table_cell_open(h, &columns[k]);
			table_text(h, words[k]);
			table_cell_close(h);
		}
		table_cell_open(h, &columns[3]);
		table_value(h, share, fmt_share(share));
		table_cell_close(h);
		html_raw(h, "</tr>");
	}
	table_close(h);
}

static void
write_picture(struct html *h, const json_t *chain)
{
	const json_t *nodes = result_list(chain, KEY_chain_nodes),
		     *edges = result_list(chain, KEY_chain_edges), *item;
	double limit = result_number(chain, KEY_chain_limit);
	struct chain_box box[CHAIN_NODES_MAX] = { 0 };
	struct chain_line line[CHAIN_EDGES_MAX] = { 0 };
	const char *what;
	double waiter, holder, share;
	size_t i, n = 0, n_lines = 0;

	json_array_foreach(nodes, i, item)
	{
		const char *name = result_text(item, KEY_chain_node_name);

		if (n == CHAIN_NODES_MAX)
			break;
		box[n++] = (struct chain_box){ .name = name != NULL ? name : "",
			.held = result_number(item, KEY_chain_node_held_share),
			.waited = result_number(item, KEY_chain_node_waited_share),
			.limit = limit == (double)i };
	}
	json_array_foreach(edges, i, item)
	{
		waiter = result_number(item, KEY_chain_edge_waiter);
		holder = result_number(item, KEY_chain_edge_holder);
		share = result_number(item, KEY_chain_edge_share);
		what = result_text(item, KEY_chain_edge_waits_for);
		if (!(waiter >= 0 && waiter < (double)n))
			continue;
		if (what != NULL && strcmp(what, nw_chain_wants[NW_CHAIN_WANT_PROCESSOR].word) == 0)
			box[(size_t)waiter].queued = share;
		if (n_lines == CHAIN_EDGES_MAX || !(holder >= 0 && holder < (double)n))
			continue;
		line[n_lines++] = (struct chain_line){ .waiter = (size_t)waiter,
			.holder = (size_t)holder,
			.room = what != NULL && what[0] == 'r',
			.share = share,
			.bytes = result_number(item, KEY_chain_edge_bytes) };
	}
	html_raw(h,
	    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Chain of "
	    "programs\">");
	chain_draw(h, box, n, line, n_lines);
	html_raw(h, "</div>");
}

void
session_chain(struct html *h, const json_t *doc)
{
	const json_t *chain = result_get(doc, KEY_result_chain);

	if (result_text(chain, KEY_chain_sentence) == NULL)
		return;
	html_raw(h, "<p id=\"chain-words\">");
	html_text(h, result_text(chain, KEY_chain_sentence));
	html_raw(h, "</p>");
	write_picture(h, chain);
	html_raw(h,
	    "<p class=\"note\">Bytes go from left to right. A line leads from the program that "
	    "waited to the program that it waited for; its width is the share of the waiting "
	    "program's time.</p>");
	write_nodes(h, result_list(chain, KEY_chain_nodes));
	write_edges(h, result_list(chain, KEY_chain_nodes), result_list(chain, KEY_chain_edges));
}

/* --- steps --- */

TABLE_TEXT(column_program, KEY_steps_program)
TABLE_TEXT(column_steps_host, KEY_steps_host)
TABLE_NUMBER(column_n, KEY_steps_n, fmt_ratio)
TABLE_NUMBER(column_mean, KEY_steps_mean_s, fmt_duration)
TABLE_NUMBER(column_between, KEY_steps_between_share, fmt_share)
TABLE_NUMBER(column_steps_waited, KEY_steps_waited_share, fmt_share)
TABLE_NUMBER(column_steps_read, KEY_steps_read_share, fmt_share)

void
session_steps(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Program", column_program, false },
		{ "Host", column_steps_host, false },
		{ "Steps", column_n, true },
		{ "Mean step", column_mean, true },
		{ "Between steps", column_between, true },
		{ "Waited for programs", column_steps_waited, true },
		{ "Read files", column_steps_read, true },
	};
	const json_t *steps = result_list(doc, KEY_result_steps), *loop;
	size_t i;

	json_array_foreach(steps, i, loop)
	{
		html_raw(h, "<p>");
		html_text(h, result_text(loop, KEY_steps_sentence));
		html_raw(h, "</p>");
	}
	table_write(h, steps, columns, sizeof(columns) / sizeof(columns[0]));
}
