/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/announce.h"
#include "narrows/err.h"
#include "tests/check.h"

static void
test_have(void)
{
	static const struct {
		const char *list, *address;
		bool has;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.1.2", true },
		{ "10.0.0.0/8", "11.0.0.1", false },
		{ "192.0.2.7", "192.0.2.7", true },
		{ "192.0.2.7", "192.0.2.6", false },
		{ "192.0.2.128/25", "192.0.2.129", true },
		{ "192.0.2.128/25", "192.0.2.127", false },
		{ "2001:db8::/32", "2001:db8:5::1", true },
		{ "2001:db8::/32", "2001:db9::1", false },
		{ "2001:db8::/32", "10.0.0.1", false },
		{ "0.0.0.0/0", "203.0.113.9", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "10.0.0.0/8 192.0.2.0/24", "192.0.2.200", true },
		{ "", "10.0.0.1", false },
		{ "10.0.0.0/8", "name", false },
	};
	struct nw_networks n;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(nw_networks_parse(cases[i].list, &n, &why), NW_OK);
		CHECK_INT(nw_networks_have_text(&n, cases[i].address), cases[i].has);
	}
}

static void
test_refused(void)
{
	static const char *const lists[] = { "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8",
		"any", "2001:db8::/129", "2001:db8::1/64", "10.0.0.0/8,11.0.0.0/8", "10.0.0.0/+8" };
	struct nw_networks n;
	char many[NW_NETWORKS_MAX * 10 + 20] = "";
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		CHECK_INT(nw_networks_parse(lists[i], &n, &why), NW_EINVAL);
	for (i = 0; i < NW_NETWORKS_MAX; i++)
		strcat(many, "10.0.0.1 ");
	CHECK_INT(nw_networks_parse(many, &n, &why), NW_OK);
	strcat(many, "10.0.0.1 ");
	CHECK_INT(nw_networks_parse(many, &n, &why), NW_EINVAL);
}

int
main(void)
{
	test_have();
	test_refused();
	return check_done("networks");
}
