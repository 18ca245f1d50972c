/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/settings/settings_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Control characters become blanks, and what is not ASCII a question mark: names and values are
 * text in every encoding then. */
static void
make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = ' ';
		else if ((unsigned char)*text > 126)
			*text = '?';
}

static bool
room(struct settings *s)
{
	size_t cap = s->cap > 0 ? 2 * s->cap : 256;
	struct setting *list;

	if (s->n < s->cap)
		return true;
	if (s->n >= SETTINGS_MAX || (list = reallocarray(s->list, cap, sizeof(*list))) == NULL)
		return false;
	s->list = list;
	s->cap = cap;
	return true;
}

void
settings_put(
    struct settings *s, const char *group, const char *device, const char *name, const char *value)
{
	bool with_device = device != NULL && device[0] != '\0';
	char full[SETTING_NAME_BYTES], *copy;
	size_t value_len = strnlen(value, SETTING_VALUE_BYTES - 1);
	int len = snprintf(full, sizeof(full), "%s%s%s.%s", group, with_device ? "." : "",
	    with_device ? device : "", name);

	if (len < 0 || (size_t)len >= sizeof(full) || s->n >= SETTINGS_MAX || !room(s) ||
	    (copy = malloc((size_t)len + value_len + 2)) == NULL) {
		s->left_out++;
		return;
	}
	memcpy(copy, full, (size_t)len + 1);
	memcpy(copy + len + 1, value, value_len);
	copy[(size_t)len + 1 + value_len] = '\0';
	make_printable(copy);
	make_printable(copy + len + 1);
	s->list[s->n++] = (struct setting){ copy, copy + len + 1 };
}

void
settings_put_number(
    struct settings *s, const char *group, const char *device, const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	settings_put(s, group, device, name, text);
}

bool
settings_read(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, cap - 1);
	close(fd);
	if (n < 0)
		return false;
	while (n > 0 && strchr(" \t\n", text[n - 1]) != NULL)
		n--;
	text[n] = '\0';
	return true;
}

void
settings_put_file(
    struct settings *s, const char *group, const char *device, const char *name, const char *path)
{
	char text[SETTING_VALUE_BYTES];

	if (settings_read(path, text, sizeof(text)))
		settings_put(s, group, device, name, text + strspn(text, " \t\n"));
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct setting *)a)->name, ((const struct setting *)b)->name);
}

void
settings_sort(struct settings *s)
{
	size_t i, kept = 0;

	if (s->n > 1)
		qsort(s->list, s->n, sizeof(s->list[0]), by_name);
	for (i = 0; i < s->n; i++) {
		if (i + 1 < s->n && strcmp(s->list[i].name, s->list[i + 1].name) == 0)
			free(s->list[i].name);
		else
			s->list[kept++] = s->list[i];
	}
	s->n = kept;
}

void
settings_clear(struct settings *s)
{
	while (s->n > 0)
		free(s->list[--s->n].name);
	free(s->list);
	memset(s, 0, sizeof(*s));
}
