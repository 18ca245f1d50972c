/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: read, bounded, sorted, and told in ranges of which only changed ones go again. */
#include "host/blipp/settings/configuration.h"

#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static const char *
value_of(const struct settings *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].name, name) == 0)
			return s->list[i].value;
	return "(none)";
}

static void
test_list(void)
{
	char value[1000], name[SETTING_NAME_BYTES + 1];
	struct settings s = { 0 };
	int i;

	settings_put(&s, "net", "eth0", "mtu", "1500");
	settings_put(&s, "net", NULL, "a", "first");
	settings_put(&s, "net", "", "a", "caf\303\251\n1");
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	settings_put(&s, "os", NULL, "long", value);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	settings_put(&s, "os", NULL, name, "x");
	CHECK_INT(s.left_out, 1);
	settings_sort(&s);
	CHECK_INT(s.n, 3);
	CHECK_STR(value_of(&s, "net.a"), "caf?? 1");
	CHECK_STR(value_of(&s, "net.eth0.mtu"), "1500");
	CHECK_INT(strlen(value_of(&s, "os.long")), SETTING_VALUE_BYTES - 1);
	for (i = 0; i < SETTINGS_MAX + 100; i++)
		settings_put_number(&s, "sysctl", NULL, "n", i);
	CHECK_INT(s.n, SETTINGS_MAX);
	CHECK_INT(s.left_out, 104);
	settings_clear(&s);
}

static void
put_file(const char *root, const char *path, const char *text)
{
	char full[200], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	if ((f = fopen(full, "w")) == NULL)
		abort();
	fputs(text, f);
	fclose(f);
}

static void
test_sysctl(void)
{
	char root[] = "/tmp/nw-sysctl-XXXXXX", command[64];
	struct settings s = { 0 };

	if (mkdtemp(root) == NULL)
		abort();
	put_file(root, "net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	put_file(root, "net/ipv4/conf/all/rp_filter", "0\n");
	put_file(root, "net/ipv4/conf/eth0/rp_filter", "1\n");
	put_file(root, "net/ipv6/conf/default/stable_secret", "hidden\n");
	put_file(root, "net/ipv4/tcp_fastopen_key", "hidden\n");
	put_file(root, "vm/stat_refresh", "hidden\n");
	put_file(root, "vm/swappiness", "60\n");
	put_file(root, "kernel/pid_max", "1\n");
	settings_of_sysctl(&s, root);
	CHECK_INT(s.n, 3);
	CHECK_STR(value_of(&s, "sysctl.net.ipv4.tcp_rmem"), "4096 131072 6291456");
	CHECK_STR(value_of(&s, "sysctl.net.ipv4.conf.all.rp_filter"), "0");
	CHECK_STR(value_of(&s, "sysctl.vm.swappiness"), "60");
	settings_clear(&s);
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

/* A unit that shows its service everything read-only changes no option. */
static void
test_mounts(void)
{
	static const char text[] =
	    "22 1 8:1 / / ro,noatime shared:1 master:2 - ext4 /dev/sda1 rw,errors=remount-ro\n"
	    "23 22 0:5 / /proc rw - proc proc rw\n"
	    "24 22 8:2 / /data rw,relatime - xfs /dev/sdb1 rw,attr2\n"
	    "25 22 8:2 /sub /bound rw,relatime - xfs /dev/sdb1 rw,attr2\n"
	    "26 22 0:9 / /home rw - nfs4 server:/home rw,vers=4.2,rsize=1048576\n"
	    "27 22 0:9 / /broken\n"
	    "28 22 0:9 / /x rw -\n";
	const struct filter all = { NULL, NULL }, no_home = { NULL, "/home" };
	struct settings s = { 0 };

	settings_of_mounts(&s, text, &all);
	CHECK_INT(s.n, 9);
	CHECK_STR(value_of(&s, "mount./.options"), "rw,errors=remount-ro,noatime");
	CHECK_STR(value_of(&s, "mount./data.type"), "xfs");
	CHECK_STR(value_of(&s, "mount./home.options"), "rw,vers=4.2,rsize=1048576");
	settings_clear(&s);
	settings_of_mounts(&s, text, &no_home);
	CHECK_INT(s.n, 6);
	settings_clear(&s);
}

/* 450 settings of one group go in three ranges without a gap; a change goes alone. */
static void
test_parts(void)
{
	struct nw_provider_opts opts = { .box = "127.0.0.1/1", .software = "test" };
	static struct configuration c;
	struct nw_provider *p = NULL;
	struct settings s = { 0 };
	char name[16];
	int i, k;

	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 450; i++) {
			snprintf(name, sizeof(name), "n%04d", i);
			settings_put_number(&s, "net", NULL, name, k == 2 && i == 300 ? -1 : i);
		}
		settings_put(&s, "os", NULL, "name", "x");
		settings_sort(&s);
		CHECK_INT(configuration_send(&c, &s, p, "h", 1000 + k), k == 0 ? 4 : k == 2);
		settings_clear(&s);
	}
	CHECK_INT(c.n_parts, 4);
	CHECK_STR(c.parts[0].from, "net.");
	CHECK_STR(c.parts[0].until, "net.n0200");
	CHECK_STR(c.parts[1].from, "net.n0200");
	CHECK_STR(c.parts[2].until, "net/");
	/* a group that has gone is told as an empty one, once */
	settings_put(&s, "os", NULL, "name", "x");
	CHECK_INT(configuration_send(&c, &s, p, "h", 2000), 1);
	CHECK_STR(c.parts[0].until, "net/");
	CHECK_INT(configuration_send(&c, &s, p, "h", 2001), 0);
	settings_clear(&s);
	nw_provider_close(p, 0);
}

int
main(void)
{
	test_list();
	test_sysctl();
	test_mounts();
	test_parts();
	return check_done("test_configuration");
}
