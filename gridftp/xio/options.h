/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of the driver: "narrows:task_id=run7;interval=1" in the string of a stack. A user
 * of a server may choose stacks: a value outside its bounds is refused, counted, and without
 * effect. No option names a box or a file, which are the administrator's choice.
 */
#ifndef GRIDFTP_OPTIONS_H
#define GRIDFTP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_ID_BYTES = 129, OPTIONS_LABEL_BYTES = 96, OPTIONS_TEXT_BYTES = 128 };

enum options_stack { STACK_AUTO, STACK_DISK, STACK_NET };

struct options {
	char task_id[OPTIONS_ID_BYTES];  /* empty: none was given */
	char label[OPTIONS_LABEL_BYTES]; /* empty: none */
	int64_t interval_ns;             /* 0: short at first, then a second */
	enum options_stack stack;
	bool exact;       /* times of disks are those of the system calls */
	unsigned refused; /* values without effect */
};

/* The keys, in the order of the numbers that options_set() takes. NULL ends the list. */
extern const char *const options_keys[];

void options_init(struct options *o);
/* Sets the option by its number in options_keys. */
void options_set(struct options *o, unsigned key, const char *value);
/* The options in force, without id and label: "interval=1;exact=yes;stack=auto;refused=0". */
void options_text(const struct options *o, char out[OPTIONS_TEXT_BYTES]);

/* Returns true for printable ASCII without blanks, except GridFTP's words for no id: "none",
 * "unset", "null". */
bool options_id_joins(const char *id);

#endif
