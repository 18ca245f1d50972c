/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/pdf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/xmalloc.h"

enum { PRINT_MAX_S = 60, NOT_FOUND = 127 };

/* A directory of its own for the page, the browser's profile, and the result. */
struct work {
	char *dir, *page, *pdf, *profile, *url;
};

static bool
work_open(struct work *w)
{
	const char *tmp = getenv("TMPDIR");

	w->dir = xasprintf("%s/narrows-pdf-XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (mkdtemp(w->dir) == NULL) {
		free(w->dir);
		return false;
	}
	w->page = xasprintf("%s/report.html", w->dir);
	w->pdf = xasprintf("%s/report.pdf", w->dir);
	w->url = xasprintf("file://%s", w->page);
	w->profile = xasprintf("--user-data-dir=%s/profile", w->dir);
	return true;
}

/* Starts a program, waits for the end, and returns the exit status. */
static int
program_run(const char *const argv[])
{
	int status = -1, null;
	pid_t pid = fork();

	if (pid == 0) {
		if ((null = open("/dev/null", O_RDWR)) >= 0) {
			dup2(null, STDIN_FILENO);
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		alarm(PRINT_MAX_S); /* survives exec: a browser that hangs ends */
		execvp(argv[0], (char *const *)(uintptr_t)argv); /* execvp changes no argument */
		_exit(NOT_FOUND);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
work_close(struct work *w)
{
	const char *const argv[] = { "rm", "-rf", "--", w->dir, NULL };

	(void)program_run(argv);
	free(w->dir);
	free(w->page);
	free(w->pdf);
	free(w->url);
	free(w->profile);
}

static bool
text_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	bool good = f != NULL && fputs(text, f) != EOF;

	return f != NULL && fclose(f) == 0 && good;
}

/* The browser's exit status tells little: the file tells whether it was made. */
static bool
is_pdf(const char *path)
{
	FILE *f = fopen(path, "re");
	char begin[5] = "";
	bool yes = f != NULL && fread(begin, 1, sizeof(begin), f) == sizeof(begin) &&
	    memcmp(begin, "%PDF-", sizeof(begin)) == 0;

	if (f != NULL)
		fclose(f);
	return yes;
}

static int
browser_run(struct work *w)
{
	static const char *const browsers[] = { "chromium", "chromium-browser", "google-chrome" };
	char *to = xasprintf("--print-to-pdf=%s", w->pdf);
	size_t i;
	int status = NOT_FOUND;

	for (i = 0; i < sizeof(browsers) / sizeof(browsers[0]) && status == NOT_FOUND; i++) {
		const char *const argv[] = { browsers[i], "--headless", "--disable-gpu",
			"--no-pdf-header-footer", w->profile, to, w->url,
			/* Chromium refuses to run as root with its sandbox; the page asks for
			 * nothing and has no scripts */
			geteuid() == 0 ? "--no-sandbox" : NULL, NULL };

		status = program_run(argv);
	}
	free(to);
	return status;
}

/* Copies the result to its place, which may be on another file system. */
static int
pdf_move(const struct work *w, const char *path)
{
	const char *const argv[] = { "cp", "--", w->pdf, path, NULL };

	return program_run(argv) == 0 ? 0 : command_failed(path, "cannot be written");
}

int
pdf_write(const char *path, const char *html)
{
	struct work w;
	int status;

	if (!work_open(&w))
		return command_failed("a temporary directory", strerror(errno));
	if (!text_write(w.page, html))
		status = command_failed(w.page, strerror(errno));
	else if ((status = browser_run(&w)) == NOT_FOUND)
		status = command_failed(NULL, "no chromium is installed, which makes the PDF");
	else if (!is_pdf(w.pdf))
		status = command_failed(NULL, "chromium made no PDF");
	else
		status = pdf_move(&w, path);
	work_close(&w);
	return status;
}
