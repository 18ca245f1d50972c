/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a few objects as lines: which ids make an object, the order of points, new lines of an
 * object, flushed lines, servers, and events of hosts alone. */
#include "web/lifelines/lineset.h"

#include "tests/check.h"
#include "tests/lifelog.h"
#include "web/lifelines/keys.h"

enum { ATTRS = 3, EVENTS = 12, POINTS = 4, LINES = 4 };
#define NEVER -1

/* The time is milliseconds; attributes are "block=1" for an id and "-server=a" for another one. */
struct event {
	int t_ms;
	const char *host, *name, *attr[ATTRS];
};

static char path[] = "/tmp/nw-lineset-XXXXXX";

static void
event_put(struct lifelog *l, const struct event *e)
{
	struct nw_attr attrs[ATTRS];
	char key[ATTRS][16];
	struct nw_event out = { .t_wall_ns = 1000000000 + e->t_ms * INT64_C(1000000),
		.host = e->host,
		.name = e->name,
		.attrs = attrs };
	const char *text;
	size_t len;

	for (; out.n_attrs < ATTRS && e->attr[out.n_attrs] != NULL; out.n_attrs++) {
		text = e->attr[out.n_attrs];
		text += *text == '-';
		len = strcspn(text, "=");
		snprintf(key[out.n_attrs], sizeof(key[0]), "%.*s", (int)len, text);
		attrs[out.n_attrs] = (struct nw_attr){ .key = key[out.n_attrs],
			.type = NW_ATTR_TEXT,
			.is_id = *e->attr[out.n_attrs] != '-',
			.v.text = text + len + 1 };
	}
	CHECK_INT(lifelog_put(l, &out), NW_OK);
}

static struct lineset *
load(const struct event *events, const struct lineset_opts *o)
{
	const struct lineset_opts none = { .path = NULL };
	struct lineset *s = NULL;
	struct store_reader *r;
	struct lifelog l;
	char why[STORE_WHY_BYTES], name[64];
	const char *const end[] = { "", "-wal", "-shm", "-lock" };
	size_t i;

	CHECK_INT(lifelog_begin(&l, path), NW_OK);
	for (i = 0; i < EVENTS && events[i].name != NULL; i++)
		event_put(&l, &events[i]);
	lifelog_end(&l);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(lineset_load(r, 1, o != NULL ? o : &none, &s), NW_OK);
	store_reader_close(r);
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", path, end[i]);
		unlink(name);
	}
	return s;
}

struct want {
	const char *what, *keys, *points, *lane_key;
	enum lineset_path path_source;
	struct {
		const char *label, *lane;
		int t_ms[POINTS];
		enum lineset_state state;
	} line[LINES];
	size_t n_side, n_repeats;
	const char *memory;      /* by line: m for an object from memory */
	const char *side_server; /* of the first event of a host */
};

static void
check_set(const struct lineset *s, const struct want *w)
{
	char text[256] = "";
	size_t i, p, len;

	for (i = 0, len = 0; i < s->n_keys; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", s->keys[i]);
	CHECK_STR(text, w->keys);
	text[0] = '\0';
	for (i = 0, len = 0; i < s->lines.n_points; i++)
		len += (size_t)snprintf(
		    text + len, sizeof(text) - len, "%s ", lineset_point(s, (unsigned)i));
	CHECK_STR(text, w->points);
	CHECK_INT(s->n_side, w->n_side);
	if (w->side_server != NULL)
		CHECK_STR(s->side_servers.text[s->side[0].server], w->side_server);
	else if (s->n_side > 0)
		CHECK_INT(s->side[0].server, NW_LINE_ANY);
	CHECK_INT(s->n_repeats, w->n_repeats);
	for (i = 0; i < LINES && w->line[i].label != NULL && i < s->lines.n; i++) {
		CHECK_STR(s->label[i], w->line[i].label);
		CHECK_STR(s->lanes.text[s->lane[i]], w->line[i].lane);
		CHECK_INT(s->state[i], w->line[i].state);
		CHECK_INT(
		    (s->flags[i] & LINESET_MEMORY) != 0, w->memory != NULL && w->memory[i] == 'm');
		for (p = 0; p < s->lines.n_points; p++)
			CHECK_INT(s->t[i * s->lines.n_points + p],
			    w->line[i].t_ms[p] == NEVER
				? NW_LINE_NEVER
				: 1000000000 + w->line[i].t_ms[p] * INT64_C(1000000));
	}
	CHECK_INT(s->lines.n, i);
	CHECK(i == LINES || w->line[i].label == NULL);
	if (s->lines.n > 0) {
		CHECK_STR(s->lane_key, w->lane_key);
		CHECK_INT(s->path_source, w->path_source);
	}
}

static const struct {
	struct event event[EVENTS];
	struct lineset_opts o;
	struct want want;
} cases[] = {
	{ { { 0, "a", "send", { "block=1", "job=7" } }, { 1, "b", "read", { "block=1", "job=7" } },
	      { 2, "a", "send", { "block=2", "job=7" } },
	      { 5, "b", "read", { "block=2", "job=7" } }, { 6, "a", "tick", { NULL } } },
	    { NULL },
	    { .what = "the ids that all points share make an object",
		.keys = "block job ",
		.points = "send read ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1 7", "a", { 0, 1 }, LINESET_FINISHED },
		    { "2 7", "a", { 2, 5 }, LINESET_FINISHED } },
		.n_side = 1 } },
	{ { { 0, "a", "send", { "block=1", "try=1" } }, { 1, "a", "read", { "block=1", "try=1" } },
	      { 2, "a", "send", { "block=2" } }, { 3, "a", "read", { "block=2", "try=1" } } },
	    { NULL },
	    { .what = "an id that a point lacks is no part of the object",
		.keys = "block ",
		.points = "send read ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "2", "a", { 2, 3 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "x", { "-file=f", "-n=1" } }, { 1, "a", "y", { "-file=f", "-n=1" } },
	      { 2, "a", "x", { "-file=f", "-n=2" } }, { 3, "a", "y", { "-file=f", "-n=2" } } },
	    { NULL },
	    { .what = "without ids, the attribute with the most values is the id",
		.keys = "n ",
		.points = "x y ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "2", "a", { 2, 3 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "x", { "-file=1", "-n=1" } }, { 1, "a", "y", { "-file=1", "-n=1" } },
	      { 2, "a", "x", { "-file=2", "-n=2" } }, { 3, "a", "y", { "-file=2", "-n=2" } } },
	    { NULL },
	    { .what = "of two attributes with as many values, the first one is the id",
		.keys = "file ",
		.points = "x y ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "2", "a", { 2, 3 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "send", { "block=1", "seq=1" } }, { 1, "a", "read", { "block=1" } },
	      { 2, "a", "send", { "block=1", "seq=2" } }, { 3, "a", "read", { "block=1" } } },
	    { NULL },
	    { .what = "the id of one point alone makes no object",
		.keys = "block ",
		.points = "send read ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "1", "a", { 2, 3 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "send", { "block=1" } }, { 1, "a", "read", { "block=1" } },
	      { 4, "a", "send", { "block=1" } }, { 9, "a", "read", { "block=1" } },
	      { 9, "a", "read", { "block=1" } }, { 10, "a", "read", { "block=1" } },
	      { 11, "a", "read", { "block=1" } } },
	    { NULL },
	    { .what = "the first point again is a new line; another point again is a repeat",
		.keys = "block ",
		.points = "send read ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "1", "a", { 4, 9 }, LINESET_FINISHED } },
		.n_repeats = 2 } },
	{ { { 0, "a", "send", { "block=1" } }, { 1, "a", "read", { "block=1" } },
	      { 2, "a", "send", { "block=2" } }, { 3, "a", "FlushAll", { "block=2" } },
	      { 4, "a", "send", { "block=3" } } },
	    { NULL },
	    { .what = "a line ends at the last point, or by a flush, or not",
		.keys = "block ",
		.points = "send read ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 1 }, LINESET_FINISHED },
		    { "2", "a", { 2, NEVER }, LINESET_FLUSHED },
		    { "3", "a", { 4, NEVER }, LINESET_UNFINISHED } } } },
	{ { { 0, "a", "p", { "block=1", "-server=s1" } },
	      { 1, "a", "q", { "block=1", "-server=s9" } }, { 2, "a", "p", { "block=2" } },
	      { 3, "a", "q", { "block=2", "-server=s2" } }, { 4, "a", "p", { "block=3" } },
	      { 5, "a", "q", { "block=3" } } },
	    { NULL },
	    { .what = "any event of a line may name its server",
		.keys = "block ",
		.points = "p q ",
		.lane_key = "server",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "s1", { 0, 1 }, LINESET_FINISHED },
		    { "2", "s2", { 2, 3 }, LINESET_FINISHED },
		    { "3", "unknown", { 4, 5 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "p", { "block=1" } }, { 1, "h1", "q", { "block=1" } },
	      { 2, "a", "p", { "block=2" } }, { 3, "h2", "q", { "block=2" } } },
	    { NULL },
	    { .what = "without servers, the hosts of the point with the most hosts",
		.keys = "block ",
		.points = "p q ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "h1", { 0, 1 }, LINESET_FINISHED },
		    { "2", "h2", { 2, 3 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "q", { "block=1" } }, { 1, "a", "p", { "block=1" } },
	      { 2, "a", "z", { "block=1" } } },
	    { .path = "p,,q,none,p" },
	    { .what = "a declared path decides order, and leaves out other points",
		.keys = "block ",
		.points = "p q ",
		.lane_key = "host",
		.path_source = LINESET_DECLARED,
		.line = { { "1", "a", { 1, 0 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "APP_RECEIVE", { "block=1" } }, { 9, "a", "APP_SEND", { "block=1" } } },
	    { NULL },
	    { .what = "the path of the storage system is known, whatever the clocks say",
		.keys = "block ",
		.points = "APP_SEND APP_RECEIVE ",
		.lane_key = "host",
		.path_source = LINESET_KNOWN,
		.line = { { "1", "a", { 9, 0 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "p", { "block=1", "-disk=d" } }, { 1, "a", "q", { "block=1", "-disk=d" } } },
	    { .by = "disk", .lane = "disk" },
	    { .what = "declared keys and a declared lane may be attributes",
		.keys = "disk ",
		.points = "p q ",
		.lane_key = "disk",
		.path_source = LINESET_LEARNED,
		.line = { { "d", "d", { 0, 1 }, LINESET_FINISHED } } } },
	{ { { 0, "a", "p", { "block=1" } }, { 1, "h1", "q", { "block=1" } },
	      { 2, "a", "r", { "block=1", "-server=s1" } }, { 3, "a", "p", { "block=2" } },
	      { 4, "h2", "q", { "block=2" } }, { 5, "a", "r", { "block=2", "-server=s2" } },
	      { 6, "a", "p", { "block=3" } }, { 7, "h2", "q", { "block=3" } },
	      { 8, "a", "p", { "block=4" } }, { 9, "x", "SWITCH_DROP", { "server=s2" } } },
	    { NULL },
	    { .what = "a line without a server takes that of its host, if only one server's lines "
		      "pass there; a drop of the switch names its server",
		.keys = "block ",
		.points = "p q r ",
		.lane_key = "server",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "s1", { 0, 1, 2 }, LINESET_FINISHED },
		    { "2", "s2", { 3, 4, 5 }, LINESET_FINISHED },
		    { "3", "s2", { 6, 7, NEVER }, LINESET_UNFINISHED },
		    { "4", "unknown", { 8, NEVER, NEVER }, LINESET_UNFINISHED } },
		.n_side = 1,
		.side_server = "s2" } },
	{ { { 0, "a", "p", { "block=1" } }, { 1, "a", "DPSS_FROM_MEMORY", { "block=1" } },
	      { 2, "a", "q", { "block=1" } }, { 3, "a", "p", { "block=2" } },
	      { 4, "a", "q", { "block=2" } }, { 5, "a", "p", { "block=3" } },
	      { 6, "a", "http.cache_hit", { "block=3" } } },
	    { NULL },
	    { .what = "an object from memory is marked; the event is no point",
		.keys = "block ",
		.points = "p q ",
		.lane_key = "host",
		.path_source = LINESET_LEARNED,
		.line = { { "1", "a", { 0, 2 }, LINESET_FINISHED },
		    { "2", "a", { 3, 4 }, LINESET_FINISHED },
		    { "3", "a", { 5, NEVER }, LINESET_UNFINISHED } },
		.memory = "m.m" } },
	{ { { 0, "a", "p", { NULL } }, { 1, "a", "q", { NULL } } }, { NULL },
	    { .what = "events without attributes belong to their hosts",
		.keys = "",
		.points = "",
		.n_side = 2 } },
};

static void
test_cases(void)
{
	struct lineset *s;
	size_t i;
	int failed;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		failed = check_failed;
		s = load(cases[i].event, &cases[i].o);
		if (s != NULL)
			check_set(s, &cases[i].want);
		if (check_failed > failed)
			fprintf(stderr, "above: %s\n", cases[i].want.what);
		lineset_free(s);
	}
}

/* Names get numbers in order; beyond the limit all names share the last number. */
static void
test_names(void)
{
	struct lineset_names n = { 0 };
	char text[16];
	uint32_t i;

	for (i = 0; i < LINESET_NAMES_MAX + 10; i++) {
		snprintf(text, sizeof(text), "name%u", i);
		CHECK_INT(
		    linename_put(&n, text), i < LINESET_NAMES_MAX ? i : LINESET_NAMES_MAX - 1);
	}
	CHECK_INT(n.n, LINESET_NAMES_MAX);
	CHECK_INT(linename_put(&n, "name17"), 17);
	CHECK_STR(n.text[LINESET_NAMES_MAX - 2], "name1022");
	CHECK_STR(n.text[LINESET_NAMES_MAX - 1], "others");
	linenames_clear(&n);
	CHECK_INT(linename_put(&n, ""), 0);
	linenames_clear(&n);
}

static void
test_list(void)
{
	char *out[2] = { NULL, NULL };
	size_t n = 0;

	CHECK_INT(keys_declare(",a b,,c,d", out, 2, &n), NW_OK);
	CHECK_INT(n, 2);
	CHECK_STR(out[0], "a b");
	CHECK_STR(out[1], "c");
	free(out[0]);
	free(out[1]);
}

int
main(void)
{
	close(mkstemp(path));
	unlink(path);
	test_names();
	test_list();
	test_cases();
	return check_done("test_lineset");
}
