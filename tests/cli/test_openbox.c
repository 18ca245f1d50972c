/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that `narrows enroll --open` puts into narrowsd.conf: in place of a comment, else at the
 * end; all other lines stay. */
#include "cli/openbox.h"

#include <stdlib.h>

#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{ "", "listen-https 0.0.0.0/8443\n" },
		{ "user auto", "user auto\nlisten-https 0.0.0.0/8443\n" },
		{ "#listen-xsp-tls none\n#listen-https   none\n# end\n",
		    "#listen-xsp-tls none\nlisten-https 0.0.0.0/8443\n# end\n" },
		{ "listen-https none\n", "listen-https 0.0.0.0/8443\n" },
		{ "listen-https = none", "listen-https 0.0.0.0/8443" },
		{ "#listen-https none\nlisten-https none\n",
		    "#listen-https none\nlisten-https 0.0.0.0/8443\n" },
		{ "#listen-https-else none\n",
		    "#listen-https-else none\nlisten-https 0.0.0.0/8443\n" },
		{ "# listen-https is in TLS\n#listen-https\n",
		    "# listen-https is in TLS\n#listen-https\nlisten-https 0.0.0.0/8443\n" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = openbox_line_put(cases[i].before, "listen-https", "0.0.0.0/8443");

		CHECK_STR(text, cases[i].after);
		free(text);
	}
	return check_done("openbox");
}
