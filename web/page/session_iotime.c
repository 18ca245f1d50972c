/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of file operations went: classes by stage, and the files that lost most. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/html_table.h"

enum { STEPS_MAX = 8 };

TABLE_TEXT(column_class, KEY_io_class_name)
TABLE_NUMBER(column_share_ops, KEY_io_class_share_ops, fmt_share)
TABLE_NUMBER(column_class_time, KEY_io_class_time_s, fmt_duration)
TABLE_NUMBER(column_class_lost, KEY_io_class_lost_s, fmt_duration)

static void
write_stage(struct html *h, const json_t *stage)
{
	static const struct table_column columns[] = {
		{ "Class", column_class, false },
		{ "Operations", column_share_ops, true },
		{ "Time", column_class_time, true },
		{ "Lost", column_class_lost, true },
	};
	const char *name = result_text(stage, KEY_io_stage_stage);

	html_raw(h, "<h3>");
	html_text(h, result_stage_words(name != NULL ? name : "unnamed"));
	html_raw(h, "</h3>");
	table_write(h, result_list(stage, KEY_io_stage_classes), columns,
	    sizeof(columns) / sizeof(columns[0]));
}

TABLE_TEXT(column_path, KEY_io_file_path)
TABLE_TEXT(column_named_by, KEY_io_file_named_by)
TABLE_NUMBER(column_time, KEY_io_file_time_s, fmt_duration)
TABLE_NUMBER(column_lost, KEY_io_file_lost_s, fmt_duration)

static void
column_stage(struct html *h, const json_t *row)
{
	const char *stage = result_text(row, KEY_io_file_stage);

	table_text(h, stage != NULL ? result_stage_words(stage) : NULL);
}

/* "98 % forward, 2 % random" */
static void
column_steps(struct html *h, const json_t *row)
{
	const json_t *list = result_list(row, KEY_io_file_steps), *step;
	const char *between = "";
	double sum = 0;
	size_t i;

	for (i = 0; i < json_array_size(list) && i < STEPS_MAX; i++)
		sum += result_number(json_array_get(list, i), KEY_io_step_steps);
	for (i = 0; sum > 0 && i < json_array_size(list) && i < STEPS_MAX; i++) {
		step = json_array_get(list, i);
		if (!(result_number(step, KEY_io_step_steps) / sum >= 0.005) ||
		    result_text(step, KEY_io_step_kind) == NULL)
			continue;
		html_text(h, between);
		html_text(h, fmt_share(result_number(step, KEY_io_step_steps) / sum).s);
		html_raw(h, " ");
		html_text(h, result_text(step, KEY_io_step_kind));
		between = ", ";
	}
}

void
session_iotime(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "File", column_path, false },
		{ "Stage", column_stage, false },
		{ "Time", column_time, true },
		{ "Lost", column_lost, true },
		{ "Classes from", column_named_by, false },
		{ "Steps", column_steps, false },
	};
	const json_t *io = result_get(doc, KEY_result_io), *stages;
	size_t i;

	if (result_text(io, KEY_io_sentence) == NULL)
		return;
	html_raw(h, "<p>");
	html_text(h, result_text(io, KEY_io_sentence));
	html_raw(h, "</p>");
	stages = result_list(io, KEY_io_stages);
	for (i = 0; i < json_array_size(stages) && i < 2; i++)
		write_stage(h, json_array_get(stages, i));
	html_raw(h, "<h3>Files</h3>");
	table_write(
	    h, result_list(io, KEY_io_files), columns, sizeof(columns) / sizeof(columns[0]));
}
