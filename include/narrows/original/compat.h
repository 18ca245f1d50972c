/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of words, by the names in programs for the original library. */
#ifndef COMPAT_H
#define COMPAT_H

#include <stdlib.h>
#include <string.h>

/* Frees a list of words and the words. NULL is an empty list. */
static inline void
strlist_free(char **list, int list_length)
{
	while (list_length > 0)
		free(list[--list_length]);
	free(list);
}

/*
 * The non-empty words between bytes of `delimiters`, in a list for strlist_free().
 * Returns NULL with *count 0 if there is no word or no memory.
 */
static inline char **
split(const char *string, const char *delimiters, int *count)
{
	char **list = NULL, **room, *word;
	size_t len;
	int n = 0;

	for (*count = 0; *(string += strspn(string, delimiters)) != '\0'; string += len) {
		len = strcspn(string, delimiters);
		room = realloc(list, (size_t)(n + 1) * sizeof(*list));
		list = room != NULL ? room : list;
		word = room != NULL ? strndup(string, len) : NULL;
		if (word == NULL) {
			strlist_free(list, n);
			return NULL;
		}
		list[n++] = word;
	}
	*count = n;
	return list;
}

#endif
