/* SPDX-License-Identifier: BSD-3-Clause */
/* With hashed names nothing of a document leaves but numbers, times, words of the verdict and
 * hashes; a dropped column takes its key along; broken documents stay. */
#include <sys/stat.h>

#include "fleet/fleet.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "tests/check.h"

static const char hosts[] = "dtn-a\0Network\0";
static char key_path[] = "/tmp/test_veilXXXXXX";

/* A row with a document, veiled; clear it. */
static struct fleet_rows
veiled(const struct fleet_conf *c, const char *route, const char *document, bool *leaves)
{
	struct fleet_rows rows = { 0 };
	struct fleet_row *r = fleet_rows_add(&rows);
	char why[FLEET_WHY_BYTES];
	struct veil *v;

	fleet_text_set(r, FLEET_site, "s");
	fleet_text_set(r, FLEET_route, route);
	fleet_text_set(r, FLEET_program, "copy-from-DTN-A");
	fleet_text_set(r, FLEET_label, "of alice");
	fleet_text_set(r, FLEET_sentence, "dtn-a was slow");
	fleet_text_set(r, FLEET_document, document);
	r->cell[FLEET_bytes] = (struct fleet_cell){ .known = true, .d = 7 };
	CHECK_INT(veil_open(c, hosts, &v, why), NW_OK);
	*leaves = veil_row(v, r);
	veil_close(v);
	return rows;
}

static void
check_hashed(void)
{
	static const char document[] =
	    "{\"schema\":\"narrows-result/1\",\"verdict\":{\"stage\":\"disk.read\",\"confidence\":"
	    "\"the network\",\"effect\":1.5},\"session\":{\"id\":3,\"start_ns\":\"1790000000000000"
	    "000\"},\"alice's key\":{\"stage\":\"x\"},\"senders\":[{\"host\":\"DTN-A\",\"user\":"
	    "\"alice\"}],\"quality\":{\"notes\":[\"a sentence of dtn-a\",\"dtn-a\"]}}";
	struct fleet_conf c = { .site = (char *)"s",
		.key_file = key_path,
		.names = FLEET_HASHED,
		.drop = (char *)"none" };
	struct fleet_rows rows, again;
	const struct fleet_cell *cell;
	const char *text;
	bool leaves;

	rows = veiled(&c, "dtn-a -> other", document, &leaves);
	CHECK(leaves);
	cell = rows.row[0].cell;
	text = cell[FLEET_document].text;
	CHECK(strstr(text, "\"stage\":\"disk.read\"") != NULL);
	CHECK(strstr(text, "\"effect\":1.5") != NULL);
	CHECK(strstr(text, "1790000000000000000") != NULL);
	CHECK(strcasestr(text, "dtn-a") == NULL && strstr(text, "alice") == NULL);
	CHECK(strstr(text, "the network") == NULL); /* a host is called so */
	CHECK(strstr(text, "\"h-") != NULL);
	CHECK(
	    !cell[FLEET_label].known && !cell[FLEET_sentence].known && !cell[FLEET_program].known);
	CHECK_NEAR(cell[FLEET_bytes].d, 7, 0, 0);
	/* capitals make no other host, another place does */
	CHECK_INT(strlen(cell[FLEET_route].text), 2 * 22 + 4);
	again = veiled(&c, "DTN-A -> dtn-a (local)", "{", &leaves);
	CHECK(strncmp(again.row[0].cell[FLEET_route].text, cell[FLEET_route].text, 26) == 0);
	CHECK(strncmp(again.row[0].cell[FLEET_route].text, again.row[0].cell[FLEET_route].text + 26,
		  22) == 0);
	CHECK(strncmp(cell[FLEET_route].text, cell[FLEET_route].text + 26, 22) != 0);
	CHECK(!again.row[0].cell[FLEET_document].known);
	fleet_rows_clear(&again);
	fleet_rows_clear(&rows);
}

static void
check_dropped(void)
{
	struct fleet_conf c = { .site = (char *)"s",
		.names = FLEET_CLEAR,
		.drop = (char *)"label bytes",
		.routes = (char *)"a -> b\nc -> d" };
	struct fleet_rows rows;
	bool leaves;

	rows = veiled(&c, "c -> d",
	    "{\"session\":{\"label\":\"of alice\",\"route\":\"c -> d\"},\"list\":[{\"bytes\":1}]}",
	    &leaves);
	CHECK(leaves);
	CHECK(!rows.row[0].cell[FLEET_label].known && !rows.row[0].cell[FLEET_bytes].known);
	CHECK_STR(rows.row[0].cell[FLEET_document].text,
	    "{\"session\":{\"route\":\"c -> d\"},\"list\":[{}]}");
	fleet_rows_clear(&rows);
	rows = veiled(&c, "a -> ", "{}", &leaves);
	CHECK(!leaves);
	fleet_rows_clear(&rows);
	rows = veiled(&c, NULL, NULL, &leaves);
	CHECK(!leaves);
	fleet_rows_clear(&rows);
}

static void
check_key(void)
{
	struct fleet_conf c = { .site = (char *)"s",
		.key_file = key_path,
		.names = FLEET_HASHED,
		.drop = (char *)"none" };
	char why[FLEET_WHY_BYTES];
	struct veil *v;

	CHECK(truncate(key_path, 15) == 0);
	CHECK_INT(veil_open(&c, hosts, &v, why), NW_EINVAL);
	CHECK(chmod(key_path, 0644) == 0);
	CHECK_INT(veil_open(&c, hosts, &v, why), NW_EINVAL);
	CHECK(strstr(why, "chmod 600") != NULL);
	unlink(key_path);
	CHECK_INT(veil_open(&c, hosts, &v, why), NW_EIO);
}

int
main(void)
{
	int fd = mkstemp(key_path);

	CHECK(write(fd, "0123456789abcdef\n", 17) == 17);
	close(fd);
	check_hashed();
	check_dropped();
	check_key();
	return check_done("test_veil");
}
