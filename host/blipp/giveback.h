/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory after the start: the start of a program and a TLS handshake run through much code that no
 * sample runs again, and the kernel maps 16 pages for each page that is touched. Code is never
 * written, so its pages may leave the process at any time, and those that are needed come back from
 * the page cache.
 */
#ifndef HOST_GIVEBACK_H
#define HOST_GIVEBACK_H

void giveback_code(void);

#endif
