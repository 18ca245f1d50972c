/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before everything else where the store's sources become a loadable extension: all calls
 * of SQLite then go to the library of the loading program instead of a library of our own. */
#ifndef STORE_EXTENSION_H
#define STORE_EXTENSION_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
