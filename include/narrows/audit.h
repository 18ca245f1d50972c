/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file audit.log of a state directory: logins, refusals, and changes of accounts.
 * One JSON object a line: time, event, who, from. At 16 MiB the file becomes audit.log.1 and a new
 * one begins. Any thread and any process may write: a line is one write.
 */
#ifndef NARROWS_AUDIT_H
#define NARROWS_AUDIT_H

/* who and from: an account, and an address or a user of the machine. What cannot be written is
 * logged. */
void audit_note(const char *state_dir, const char *event, const char *who, const char *from);

#endif
