/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included before everything else where the store's sources become a loadable extension: then every
 * call of SQLite goes to the library of the program that loaded it, whichever and wherever that is,
 * instead of one of our own.
 */
#ifndef STORE_EXTENSION_H
#define STORE_EXTENSION_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
