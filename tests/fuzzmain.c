/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target over files without libFuzzer, so that its corpus is a test under any compiler.
 * usage: fuzz_X FILE|DIR ...   Each input also runs cut at every length up to 512 bytes. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static unsigned long n_inputs;

static void
run_bytes(const uint8_t *data, size_t len)
{
	/* exact size, so that a sanitizer sees one byte too far */
	uint8_t *exact = malloc(len ? len : 1);

	if (exact == NULL)
		abort();
	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	n_inputs++;
}

static int
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf;
	long size;
	size_t n, cut;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
		perror(path);
		if (f != NULL)
			fclose(f);
		return 1;
	}
	rewind(f);
	if ((buf = malloc((size_t)size + 1)) == NULL)
		abort();
	n = fread(buf, 1, (size_t)size, f);
	fclose(f);
	run_bytes(buf, n);
	for (cut = 0; cut < n && cut < 512; cut++)
		run_bytes(buf, cut);
	free(buf);
	return 0;
}

static int
run_path(const char *path)
{
	struct stat st;
	struct dirent *e;
	char sub[4096];
	DIR *d;
	int failed = 0;

	if (stat(path, &st) != 0) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path);
	if ((d = opendir(path)) == NULL) {
		perror(path);
		return 1;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		failed |= run_path(sub);
	}
	closedir(d);
	return failed;
}

int
main(int argc, char **argv)
{
	int i, failed = 0;

	for (i = 1; i < argc; i++)
		failed |= run_path(argv[i]);
	if (n_inputs == 0) {
		fprintf(stderr, "no input\n");
		failed = 1;
	}
	printf("%s %s: %lu inputs\n", failed ? "FAIL" : "PASS", argv[0], n_inputs);
	return failed;
}
