/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that come together: without a commit, and after one that fails in the middle, the
 * directory is as before. */
#include "host/join/staged.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static char top[] = "/tmp/test_staged.XXXXXX";

static const char *
at(const char *name)
{
	static char path[4][128];
	static int n;
	char *p = path[n++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", top, name);
	return p;
}

static int
entries(void)
{
	DIR *d = opendir(top);
	int n = -2;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static const char *
content(const char *name)
{
	static char text[64];
	FILE *f = fopen(at(name), "r");

	text[0] = '\0';
	if (f != NULL && fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

static void
put(struct staged *s, const char *name, const char *text)
{
	char why[CONF_WHY_BYTES];

	CHECK_INT(staged_put(s, at(name), text, 0640, (gid_t)-1, NULL, why), NW_OK);
}

int
main(void)
{
	struct staged s = { .n_files = 0 };
	char why[CONF_WHY_BYTES] = "";
	const char *temp = NULL;
	struct stat st;

	CHECK(mkdtemp(top) != NULL);
	/* without a commit nothing stays */
	CHECK_INT(staged_dir(&s, at("d/e"), why), NW_OK);
	CHECK_INT(staged_put(&s, at("d/e/key"), "k", 0600, (gid_t)-1, &temp, why), NW_OK);
	CHECK(stat(temp, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(access(at("d/e/key"), F_OK) != 0);
	staged_drop(&s);
	CHECK_INT(entries(), 0);
	/* with a commit all */
	put(&s, "one", "1");
	put(&s, "two", "2");
	CHECK_INT(staged_commit(&s, why), NW_OK);
	staged_drop(&s);
	CHECK_INT(entries(), 2);
	CHECK(stat(at("one"), &st) == 0 && (st.st_mode & 0777) == 0640);
	/* a second time: the old files are gone */
	put(&s, "one", "1b");
	CHECK_INT(staged_commit(&s, why), NW_OK);
	staged_drop(&s);
	CHECK_INT(entries(), 2);
	CHECK_STR(content("one"), "1b");
	/* the third of three cannot have its name: the first two are as before */
	CHECK(mkdir(at("three"), 0700) == 0 && mkdir(at("three/full"), 0700) == 0);
	put(&s, "one", "1c");
	put(&s, "new", "n");
	put(&s, "three", "3");
	CHECK(unlink(s.files[2].temp) == 0);
	CHECK_INT(staged_commit(&s, why), NW_EIO);
	CHECK(strstr(why, "three") != NULL);
	staged_drop(&s);
	CHECK_STR(content("one"), "1b");
	CHECK(access(at("new"), F_OK) != 0);
	CHECK_INT(entries(), 3);
	/* a directory that cannot be made */
	CHECK_INT(staged_dir(&s, at("one/below"), why), NW_EIO);
	staged_drop(&s);
	rmdir(at("three/full"));
	rmdir(at("three"));
	unlink(at("one"));
	unlink(at("two"));
	CHECK(rmdir(top) == 0);
	return check_done("staged");
}
