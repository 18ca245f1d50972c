/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches for metadata: a search begins anew with what it found, as long as that is in memory. */
#include "web/query/find.h"

#include "tests/filled.h"

enum { WINDOW = 256, METAS_MAX = 600 };

struct seen {
	size_t n;
	int64_t id[METAS_MAX];
	const struct found_layout *layouts[METAS_MAX];
};

/* A store of so many metadata, every fifth of which has no field `a`. */
static void
fill(struct store *st, int64_t from, int64_t to)
{
	static const char *const with[] = { "a", "b" }, *const without[] = { "b" };
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h" });
	for (id = from; id <= to; id++) {
		nw_batch_meta(b,
		    &(struct nw_meta_rec){ .id = id,
			.host_id = 1,
			.event_type = "x:y",
			.subject_json = "{}",
			.params_json = "{}" });
		nw_batch_layout(b,
		    &(struct nw_layout_rec){
			id, id, id % 5 == 0 ? 1 : 2, id % 5 == 0 ? without : with });
	}
	filled_commit(st, b);
}

static void
collect(struct find *f, struct seen *s)
{
	const struct found *m;
	int state;

	s->n = 0;
	while ((state = find_next(f, &m)) != FIND_END && s->n < METAS_MAX) {
		CHECK(state == FIND_ONE || state == FIND_NONE_YET);
		if (state != FIND_ONE)
			continue;
		CHECK_STR(m->host, "h");
		CHECK(m->n_layouts == 1 && find_rest(f) == 0);
		s->layouts[s->n] = m->layouts;
		s->id[s->n++] = m->series_id;
	}
}

/* All of a search, twice; whether the second time came from memory. */
static bool
is_found_again(const char *form, size_t want)
{
	static struct seen first, second;
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	struct find *f;
	struct query q;
	bool again;
	size_t i;

	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	CHECK_INT(query_parse(&q, QUERY_STATISTICS, form, why), NW_OK);
	CHECK_INT(find_new(r, &q, &f), NW_OK);
	collect(f, &first);
	CHECK_INT(first.n, want);
	CHECK(first.n == 0 || find_rest(f) == (first.n == 7 ? first.id[6] : 0));
	if ((again = find_again(f))) {
		collect(f, &second);
		CHECK_INT(second.n, first.n);
		for (i = 0; i < first.n; i++)
			CHECK(second.id[i] == first.id[i] && second.layouts[i] == first.layouts[i]);
		CHECK(first.n == 0 || find_rest(f) == (first.n == 7 ? first.id[6] : 0));
	}
	find_free(f);
	store_reader_close(r);
	return again;
}

int
main(void)
{
	struct store *st = filled_open(NULL);

	CHECK(is_found_again("step=1s", 0));
	fill(st, 1, WINDOW);
	CHECK(is_found_again("step=1s", WINDOW));
	CHECK(is_found_again("step=1s&field=a", WINDOW - WINDOW / 5));
	CHECK(is_found_again("step=1s&field=a&limit=7", 7));
	CHECK(is_found_again("step=1s&field=none", 0));
	fill(st, WINDOW + 1, WINDOW + 40);
	CHECK(!is_found_again("step=1s", WINDOW + 40));
	CHECK(is_found_again("step=1s&limit=7", 7));
	store_close(st);
	filled_remove();
	return check_done("test_find");
}
