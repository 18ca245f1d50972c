/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers recorded cases: for every case.json below CASES_DIR whose kind is known,
 * OUT_DIR/<kind>__<name>.json in the shape of its expected answer. A case is its id, kind,
 * parameters and the names of its inputs; what to do depends on the kind, the parameters and what
 * the inputs look like, never on the id. Unknown kinds are named on stderr. usage: stat-cases
 * CASES_DIR OUT_DIR Exit status 1 if a case of a known kind could not be answered.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/stat/stat_kinds.h"

static unsigned n_answered, n_failed, n_unknown;

static int
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	int bad;

	if (f == NULL)
		return NW_EIO;
	bad = fputs(text, f) < 0;
	bad |= fclose(f) != 0;
	return bad ? NW_EIO : NW_OK;
}

/* "kind/name" as "kind__name.json" */
static char *
answer_path(const char *out_dir, const char *id)
{
	size_t room = strlen(out_dir) + 2 * strlen(id) + 8, n;
	char *path = malloc(room);

	if (path == NULL)
		return NULL;
	n = (size_t)snprintf(path, room, "%s/", out_dir);
	for (; *id != '\0'; id++)
		n += (size_t)snprintf(path + n, room - n, *id == '/' ? "__" : "%c", *id);
	snprintf(path + n, room - n, ".json");
	return path;
}

static int
answer(const struct stat_case *c, const struct stat_kind *k, const char *out_dir,
    struct stat_error *err)
{
	json_t *doc = NULL;
	char *text = NULL, *path = NULL;
	int rc;

	if ((rc = k->run_case(c, &doc, err)) != NW_OK)
		goto out;
	text = stat_out_text(doc, true);
	path = answer_path(out_dir, c->id);
	rc = text == NULL || path == NULL ? NW_ENOMEM : write_text(path, text);
	if (rc != NW_OK)
		stat_fail(err, rc, "%s: %s", path != NULL ? path : out_dir, nw_strerror(rc));
out:
	json_decref(doc);
	free(text);
	free(path);
	return rc;
}

/* The kind by its word in case.json; NULL if no kind has such a word. */
static const struct stat_kind *
kind_find(const char *word)
{
	const struct stat_kind *k;

	for (k = stat_kinds; k->name != NULL || k->case_kind != NULL; k++)
		if (k->case_kind != NULL && strcmp(k->case_kind, word) == 0)
			return k;
	return NULL;
}

static void
run_case(const char *dir, const char *path, const char *out_dir)
{
	struct stat_error err = { "" };
	json_error_t why;
	json_t *root = json_load_file(path, 0, &why);
	const char *id = json_string_value(json_object_get(root, "id"));
	const char *kind = json_string_value(json_object_get(root, "kind"));
	json_t *none = json_object(), *params = json_object_get(root, "params"),
	       *inputs = json_object_get(root, "inputs");
	const struct stat_kind *k = kind != NULL ? kind_find(kind) : NULL;
	struct stat_case c = { id, dir, json_is_object(params) ? params : none,
		json_is_object(inputs) ? inputs : none };

	if (id == NULL || kind == NULL) {
		fprintf(stderr, "%s: %s\n", path, root == NULL ? why.text : "no id or kind");
		n_failed++;
	} else if (k == NULL || k->run_case == NULL) {
		fprintf(stderr, "%s: unknown kind \"%s\"\n", id, kind);
		n_unknown++;
	} else if (answer(&c, k, out_dir, &err) != NW_OK) {
		fprintf(stderr, "%s: %s\n", id, err.text[0] != '\0' ? err.text : "failed");
		n_failed++;
	} else {
		n_answered++;
	}
	json_decref(none);
	json_decref(root);
}

static void
walk(const char *dir, const char *out_dir)
{
	struct dirent **entries;
	struct stat st;
	char *path;
	int i, n = scandir(dir, &entries, NULL, alphasort);

	if (n < 0) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		n_failed++;
		return;
	}
	for (i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (name[0] != '.' && asprintf(&path, "%s/%s", dir, name) >= 0) {
			if (strcmp(name, "case.json") == 0)
				run_case(dir, path, out_dir);
			else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
				walk(path, out_dir);
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
}

int
main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: stat-cases CASES_DIR OUT_DIR\n");
		return 2;
	}
	if (mkdir(argv[2], 0777) != 0 && errno != EEXIST) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 2;
	}
	walk(argv[1], argv[2]);
	printf("%u answered, %u failed, %u of unknown kind\n", n_answered, n_failed, n_unknown);
	return n_failed != 0;
}
