/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the narrows command. argv[0] is the word; each returns the exit status. */
#ifndef CMD_H
#define CMD_H

#include <stdio.h>

struct source;

/* How a word is used; the exit status: 0 where that was asked for, on stdout, else 2. */
int cmd_usage(const char *word, FILE *to);

int cmd_sessions(struct source *s, int argc, char **argv);
int cmd_report(struct source *s, int argc, char **argv);
int cmd_export(struct source *s, int argc, char **argv);
int cmd_health(struct source *s, int argc, char **argv);

/* Of a state directory on this machine: not over HTTP, and there may be no store yet. */
int cmd_import(const char *state_dir, int argc, char **argv);
int cmd_sql(const char *state_dir, int argc, char **argv);
int cmd_backup(const char *state_dir, int argc, char **argv);
int cmd_verify(const char *state_dir, int argc, char **argv);
int cmd_restore(const char *state_dir, int argc, char **argv);
int cmd_pin(const char *state_dir, int argc, char **argv);
int cmd_unpin(const char *state_dir, int argc, char **argv);
int cmd_control(const char *state_dir, int argc, char **argv);

/* These need no box and no store, only its directory of certificates. */
int cmd_enroll(const char *tls_dir, int argc, char **argv);
int cmd_join(const char *tls_dir, int argc, char **argv);
int cmd_revoke(const char *tls_dir, int argc, char **argv);
int cmd_hosts(const char *tls_dir, int argc, char **argv);

#endif
