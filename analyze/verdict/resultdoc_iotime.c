/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of file operations went, as a part of the result document. */
#include "analyze/verdict/resultdoc_in.h"

#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 50 };

static json_t *
class_doc(const struct io_class *k, double ops, double time_s)
{
	json_t *o = json_object();

	put_text(o, KEY_io_class_name, k->name);
	result_set(o, KEY_io_class_by_administrator, json_boolean(k->by_administrator));
	put_real(o, KEY_io_class_ops, k->ops);
	put_real(o, KEY_io_class_share_ops, ops > 0 ? k->ops / ops : 0);
	put_real(o, KEY_io_class_time_s, k->time_s);
	put_real(o, KEY_io_class_share_time, time_s > 0 ? k->time_s / time_s : 0);
	put_real(o, KEY_io_class_lost_s, k->lost_s);
	return o;
}

static json_t *
steps_doc(const struct io_file *f)
{
	json_t *list = json_array(), *o;
	int i;

	for (i = 0; i < IO_STEPS; i++) {
		if (f->steps[i] <= 0)
			continue;
		o = json_object();
		put_text(o, KEY_io_step_kind, io_step_names[i]);
		put_real(o, KEY_io_step_steps, f->steps[i]);
		put_real(o, KEY_io_step_pause_s, f->pause_s[i]);
		json_array_append_new(list, o);
	}
	return list;
}

static const char *
stage_of(const struct io_file *f)
{
	return nw_stage_kind_name(f->far
		? (f->write ? NW_STAGE_STORAGE_WRITE : NW_STAGE_STORAGE_READ)
		: (f->write ? NW_STAGE_DISK_WRITE : NW_STAGE_DISK_READ));
}

static json_t *
file_doc(const struct evidence *e, const struct io_file *f)
{
	json_t *o = json_object(), *list = json_array();
	size_t i;

	put_text(o, KEY_io_file_host, e->hosts[f->host].name);
	put_text(o, KEY_io_file_path, f->path);
	put_text(o, KEY_io_file_stage, stage_of(f));
	put_text(o, KEY_io_file_mount, f->baseline != NULL ? f->baseline->mount : NULL);
	put_text(o, KEY_io_file_named_by, io_named_by_word(f->by));
	put_real(o, KEY_io_file_ops, f->ops);
	put_real(o, KEY_io_file_bytes, f->bytes);
	put_real(o, KEY_io_file_time_s, f->time_s);
	put_real(o, KEY_io_file_lost_s, f->lost_s);
	for (i = 0; i < f->n_classes; i++)
		json_array_append_new(list, class_doc(&f->classes[i], f->ops, f->time_s));
	result_set(o, KEY_io_file_classes, list);
	result_set(o, KEY_io_file_steps, steps_doc(f));
	return o;
}

/* Sums over the files of a stage; a class counts by its name. */
static void
sum_add(struct io_file *sum, const struct io_file *f)
{
	size_t i, k;

	sum->ops += f->ops;
	sum->time_s += f->time_s;
	sum->lost_s += f->lost_s;
	for (i = 0; i < f->n_classes; i++) {
		for (k = 0; k < sum->n_classes; k++)
			if (strcmp(sum->classes[k].name, f->classes[i].name) == 0)
				break;
		if (k == IO_CLASSES_MAX)
			continue;
		if (k == sum->n_classes) {
			sum->classes[sum->n_classes++] = f->classes[i];
			continue;
		}
		sum->classes[k].ops += f->classes[i].ops;
		sum->classes[k].time_s += f->classes[i].time_s;
		sum->classes[k].lost_s += f->classes[i].lost_s;
	}
}

static json_t *
stage_doc(const struct iotime *t, bool far, bool write)
{
	struct io_file sum = { .write = write, .far = far };
	json_t *o, *list;
	size_t i;

	for (i = 0; i < t->n_files; i++)
		if (t->files[i].write == write && t->files[i].far == far)
			sum_add(&sum, &t->files[i]);
	if (sum.ops <= 0)
		return NULL;
	o = json_object();
	list = json_array();
	put_text(o, KEY_io_stage_stage, stage_of(&sum));
	put_real(o, KEY_io_stage_ops, sum.ops);
	put_real(o, KEY_io_stage_time_s, sum.time_s);
	put_real(o, KEY_io_stage_lost_s, sum.lost_s);
	for (i = 0; i < sum.n_classes; i++)
		json_array_append_new(list, class_doc(&sum.classes[i], sum.ops, sum.time_s));
	result_set(o, KEY_io_stage_classes, list);
	return o;
}

static json_t *
line_doc(const struct nw_io_line *l)
{
	json_t *o;

	if (l->n == 0)
		return json_null();
	o = json_object();
	put_real(o, KEY_io_line_intercept_s, l->intercept_s);
	put_real(o, KEY_io_line_slope_s_per_byte, l->slope_s_per_byte);
	put_real(o, KEY_io_line_rel_err, l->rel_err);
	result_set(o, KEY_io_line_refused, json_boolean(l->refused));
	return o;
}

static void
models_add(json_t *list, const char *host, const struct baseline *b)
{
	const struct baseline_class *k;
	json_t *o;

	for (k = b->classes; k < b->classes + b->n; k++) {
		o = json_object();
		put_text(o, KEY_io_model_host, host);
		put_text(o, KEY_io_model_mount, b->mount);
		put_text(o, KEY_io_model_filesystem, b->filesystem);
		put_ns(o, KEY_io_model_measured_ns, b->measured_wall_ns);
		put_text(o, KEY_io_model_class, k->class);
		put_text(o, KEY_io_model_name, k->name);
		put_text(
		    o, KEY_io_model_named_by, k->by_administrator ? "administrator" : "baseline");
		put_text(o, KEY_io_model_stage,
		    nw_op_name(k->write ? NW_OP_DISK_WRITE : NW_OP_DISK_READ));
		put_count(o, KEY_io_model_sizes, k->n_sizes);
		put_text(o, KEY_io_model_status, nw_status_text(k->durations.status));
		put_real(o, KEY_io_model_rel_err, k->durations.rel_err);
		result_set(o, KEY_io_model_small, line_doc(&k->limit.small));
		result_set(o, KEY_io_model_large, line_doc(&k->limit.large));
		json_array_append_new(list, o);
	}
}

json_t *
resultdoc_iotime(const struct analysis *a)
{
	const struct iotime *t = &a->iotime;
	json_t *o, *files = json_array(), *stages = json_array(), *models = json_array(), *stage;
	char *sentence = iotime_sentence(t);
	size_t i, k;

	if (sentence == NULL) {
		json_decref(files);
		json_decref(stages);
		json_decref(models);
		return json_null();
	}
	for (i = 0; i < t->n_files && i < FILES_MAX; i++)
		json_array_append_new(files, file_doc(&a->evidence, &t->files[i]));
	for (i = 0; i < 4; i++)
		if ((stage = stage_doc(t, i % 2 == 1, i / 2 == 1)) != NULL)
			json_array_append_new(stages, stage);
	for (i = 0; i < t->n_hosts; i++)
		for (k = 0; k < t->baselines[i].n; k++)
			models_add(models, a->evidence.hosts[i].name, &t->baselines[i].list[k]);
	o = json_object();
	put_text(o, KEY_io_sentence, sentence);
	result_set(o, KEY_io_stages, stages);
	result_set(o, KEY_io_files, files);
	result_set(o, KEY_io_models, models);
	free(sentence);
	return o;
}
