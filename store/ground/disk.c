/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/disk.h"

#include <pthread.h>
#include <string.h>

#include <sqlite3.h>

enum { KINDS_MAX = 4 }; /* of files: SQLite has a kind for each way of locking */

/* The methods of a kind of file, but for the reads. A file of the layer points to the first
 * field. */
struct kind {
	sqlite3_io_methods methods;
	const sqlite3_io_methods *below; /* NULL while unused */
};

static struct {
	pthread_once_t once;
	pthread_mutex_t lock; /* of kind */
	sqlite3_vfs layer;
	struct kind kind[KINDS_MAX];
	const char *name;
} disk = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static int
disk_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at)
{
	const struct kind *k = (const struct kind *)f->pMethods;
	int rc = k->below->xRead(f, out, n, at);

	return rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
}

/* NULL: more kinds of files than expected, and the rest keep their own methods. */
static const struct kind *
kind_get(const sqlite3_io_methods *below)
{
	struct kind *k;

	for (k = disk.kind; k < disk.kind + KINDS_MAX; k++) {
		if (k->below == NULL) {
			k->methods = *below;
			k->methods.xRead = disk_read;
			k->below = below;
		}
		if (k->below == below)
			return k;
	}
	return NULL;
}

static int
disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);
	int rc = system->xOpen(system, name, f, flags, out_flags);
	const struct kind *k;

	(void)vfs;
	if (rc != SQLITE_OK || f->pMethods == NULL)
		return rc;
	pthread_mutex_lock(&disk.lock);
	if ((k = kind_get(f->pMethods)) != NULL)
		f->pMethods = &k->methods;
	pthread_mutex_unlock(&disk.lock);
	return rc;
}

static void
disk_register(void)
{
	const sqlite3_vfs *system = sqlite3_vfs_find(NULL);

	if (system == NULL)
		return;
	disk.layer = *system;
	disk.layer.pNext = NULL;
	disk.layer.zName = "narrows";
	disk.layer.xOpen = disk_open;
	if (sqlite3_vfs_register(&disk.layer, 0) == SQLITE_OK)
		disk.name = disk.layer.zName;
}

const char *
disk_name(void)
{
	pthread_once(&disk.once, disk_register);
	return disk.name;
}
