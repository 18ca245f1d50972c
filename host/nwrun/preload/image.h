/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program in a file, by the file's first bytes: which loader runs the program, and whether the
 * loader takes nwrun.so along. Nothing here allocates or calls the C library, so nwrun.so asks
 * before an exec, also in the child of a vfork.
 */
#ifndef HOST_IMAGE_H
#define HOST_IMAGE_H

#include <stdbool.h>

enum { IMAGE_PATH_BYTES = 1024 };

enum image_kind {
	IMAGE_LOADS,        /* a loader of glibc, as far as its name tells */
	IMAGE_STATIC,       /* no loader: the environment means nothing to the program */
	IMAGE_OTHER_WORDS,  /* another machine or word size */
	IMAGE_OTHER_LOADER, /* a loader of another C library */
	IMAGE_SANITIZED,    /* the first library refuses libraries before it */
	IMAGE_HIDDEN        /* no right to read the file */
};

struct image {
	enum image_kind kind;
	bool is_go;                    /* built by Go: its calls pass the C library by */
	char file[IMAGE_PATH_BYTES];   /* that the kernel runs in the end: behind scripts */
	char loader[IMAGE_PATH_BYTES]; /* empty: none */
};

/* Fills `out`. A file that is not there, or no program, has IMAGE_LOADS and no loader: the exec
 * fails, or a shell reads the file. */
void image_look(const char *path, struct image *out);
/* Whether an image of this kind fails, or complains, where LD_PRELOAD names nwrun.so;
 * `asan_options` is the program's variable, NULL without one. */
bool image_refuses(enum image_kind kind, const char *asan_options);

#endif
