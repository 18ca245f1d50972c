/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task ids, and what others may see of them. A random id (a UUID, as nwrun makes them) is a secret:
 * a sender that knows the id may add to the session. Pages, documents and the store have its label,
 * "task-" and 31 digits of its SHA-256. Any other id is a chosen name, and its own label.
 */
#ifndef NARROWS_TASK_H
#define NARROWS_TASK_H

#include <stdbool.h>
#include <string.h>

bool task_is_secret(const char *task_id);
#define TASK_LABEL_PREFIX "task-"
enum { TASK_LABEL_DIGITS = 31 };

/* Returns true for text in the form of a secret's label. */
static inline bool
task_is_label(const char *text)
{
	return strncmp(text, TASK_LABEL_PREFIX, sizeof(TASK_LABEL_PREFIX) - 1) == 0 &&
	    strlen(text) == sizeof(TASK_LABEL_PREFIX) - 1 + TASK_LABEL_DIGITS;
}
/* Label of a task id; free() it. No id can pose as the label of a secret. */
char *task_label(const char *task_id);
/* Replaces every copy of a secret in bytes by the label of the same length. */
void task_mask(const char *task_id, char *bytes, size_t len);

/* Task of the session made from a report: TASK_REPORT and 32 digits of the text's SHA-256; free()
 * the text. */
#define TASK_REPORT "narrows-report:"
char *task_of_report(const char *text, size_t len);

/* Tasks of sessions of announcements begin so. */
#define TASK_ANNOUNCED "announced:"

#endif
