/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Six calls. To stderr with log_open(true), else to syslog. One event, one line, key=value, first
 * word noun.verb. All bytes but printable ASCII are written as \xHH, so a peer's text cannot
 * forge a line. Any thread. errno is kept.
 */
#ifndef NARROWS_LOG_H
#define NARROWS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the socket of syslog at once; a line that syslog does not take goes to stderr. */
void log_open(const char *name, bool to_stderr, bool debug);
/* Lines that syslog did not take. */
uint64_t log_lost(void);
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* adds errno's text */
void log_warnx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* adds errno's text */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void fatalx(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Copies s into buf with everything but printable ASCII as \xHH, quotes and backslashes escaped;
 * cut to fit. */
const char *log_escape(char *buf, size_t cap, const char *s);

#endif
