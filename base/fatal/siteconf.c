/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/siteconf.h"

#include "narrows/xmalloc.h"

char *
siteconf_tls_dir(const char *state_dir, const char *tls_dir)
{
	return tls_dir[0] == '/' ? xstrdup(tls_dir) : xasprintf("%s/%s", state_dir, tls_dir);
}
