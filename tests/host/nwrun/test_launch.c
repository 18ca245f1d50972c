/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that a command starts in the end, and into which nothing loads, is found by its
 * word. */
#include "host/nwrun/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

enum { WORDS_MAX = 12 };

static char dir[] = "/tmp/test_launch-XXXXXX";

static void
file_make(const char *name, const void *bytes, size_t len, mode_t mode)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void
script_make(const char *name, const char *text, mode_t mode)
{
	file_make(name, text, strlen(text), mode);
}

/* A header of a program without a loader, which no test runs. */
static void
static_make(const char *name)
{
	Elf64_Ehdr h = {
		.e_type = ET_EXEC,
		.e_phoff = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
#if defined(__x86_64__)
		.e_machine = EM_X86_64
#else
		.e_machine = EM_AARCH64
#endif
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	file_make(name, &h, sizeof(h), 0755);
}

/* A program that loads libraries and is called name: not every machine has bubblewrap. */
static void
dynamic_make(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CHECK_INT(symlink("/usr/bin/env", path), 0);
}

static const struct {
	const char *argv[WORDS_MAX];
	const char *found; /* NULL: nothing */
} cases[] = {
	{ { "fixed" }, NULL }, /* the command itself is another question */
	{ { "env", "A=b", "fixed", "x" }, "fixed" },
	{ { "/usr/bin/env", "-i", "nice", "-n", "5", "fixed" }, "fixed" },
	{ { "env", "A=b", "true", "fixed" }, NULL }, /* an argument of true */
	{ { "timeout", "-k", "5", "10", "fixed" }, "fixed" },
	{ { "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "fixed" }, "fixed" },
	{ { "sh", "-c", "cd /tmp && fixed -o out" }, "fixed" },
	{ { "sh", "-c", "true fixed; echo fixed" }, NULL },
	{ { "unshare", "--pid", "sh", "-ec", "exec timeout 9 'fixed' x" }, "fixed" },
	{ { "sh", "-c", "exec \"$@\" fixed", "sh", "env" }, "fixed" },
	{ { "sh", "-c", "${SUDO} fixed" }, "fixed" },
	{ { "sh", "-c", "if true; then A=1 fixed; fi" }, "fixed" },
	{ { "sh", "-c", "# fixed\ntrue" }, NULL },
	{ { "sh", "-c", "echo $(fixed)" }, "fixed" },
	{ { "script_of_it" }, "fixed" },
	{ { "script_of_none" }, NULL },
	{ { "env", "script_of_it" }, "fixed" },
	{ { "script_of_script" }, "fixed" },
	{ { "loop" }, NULL },
	{ { "cat", "fixed" }, NULL },
	{ { "env" }, NULL },
	{ { "sh", "" }, NULL },
};

int
main(void)
{
	char path[PATH_MAX], name[PATH_MAX], before[PATH_MAX + 64];
	const char *words[] = { "sh", NULL, NULL };
	struct fit fit;
	size_t i;
	bool found;

	CHECK(mkdtemp(dir) != NULL);
	static_make("fixed");
	dynamic_make("bwrap");
	script_make("script_of_it", "#!/bin/sh\n# words\nx=1\nfixed | true\n", 0755);
	script_make("script_of_none", "#!/bin/sh\ntrue\n", 0755);
	script_make("script_of_script", "#!/usr/bin/env bash\ntrue &&\tscript_of_it\n", 0755);
	script_make("loop", "#!/bin/sh\nloop; loop; loop; loop; loop\n", 0755);
	script_make("plain", "fixed\n", 0644);
	snprintf(before, sizeof(before), "%s:/bin:/usr/bin", dir);
	setenv("PATH", before, 1);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		name[0] = '\0';
		CHECK(launch_find(cases[i].argv[0], path) || i == 0);
		found =
		    launch_look(path, (char *const *)cases[i].argv, "/none/nwrun.so", &fit, name);
		if (found != (cases[i].found != NULL) ||
		    strcmp(name, cases[i].found != NULL ? cases[i].found : "") != 0)
			printf("case %zu: %d \"%s\"\n", i, found, name);
		CHECK_INT(found, cases[i].found != NULL);
		CHECK_STR(name, cases[i].found != NULL ? cases[i].found : "");
		CHECK(!found || (fit.may_name && strcmp(fit.words, "statically linked") == 0));
	}
	/* a shell reads a file that is no program */
	snprintf(path, sizeof(path), "%s/plain", dir);
	words[1] = path;
	CHECK(launch_look("/bin/sh", (char *const *)words, "/none/nwrun.so", &fit, name));
	CHECK_STR(name, "fixed");
	snprintf(before, sizeof(before), "rm -r %s", dir);
	CHECK_INT(system(before), 0);
	return check_done("launch");
}
