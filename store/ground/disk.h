/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer between SQLite and the system's files. SQLite calls a file damaged when the disk
 * refuses a read; here such a read stays an input/output error, so that a bad moment of a disk is
 * told apart from damage: a caller that waits and tries again gets the data.
 */
#ifndef DISK_H
#define DISK_H

/* The layer's name for sqlite3_open_v2(), NULL (SQLite's own files) where no layer can be made. Any
 * thread. */
const char *disk_name(void);

#endif
