/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing that is not a constant becomes markup. */
#include "web/draw/html.h"

#include <time.h>

#include <event2/buffer.h>

#include "tests/check.h"

static struct evbuffer *out;

static const char *
written(void)
{
	static char text[8192];
	size_t len = evbuffer_get_length(out);

	if (len >= sizeof(text))
		len = sizeof(text) - 1;
	evbuffer_remove(out, text, len);
	text[len] = '\0';
	return text;
}

static const char *
as_text(const char *s)
{
	struct html h = { .out = out };

	html_text(&h, s);
	CHECK(!h.failed);
	return written();
}

static void
test_text(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\xa2",
		    "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\xa2" },
		{ "<script>alert('1')</script>",
		    "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;" },
		{ "a&amp;\"b\"", "a&amp;amp;&quot;b&quot;" },
		{ "line\nfeed\ttab\r\x7f\x01",
		    "line\xe2\x90\x8a"
		    "feed\xe2\x90\x89tab\xe2\x90\x8d\xe2\x90\xa1\xe2\x90\x81" },
		/* not UTF-8: stray, cut, overlong, surrogate, too high */
		{ "\x80", "\xef\xbf\xbd" },
		{ "a\xc3", "a\xef\xbf\xbd" },
		{ "\xe2\x86", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xff<", "\xef\xbf\xbd&lt;" },
		{ "\xe2<\x86", "\xef\xbf\xbd&lt;\xef\xbf\xbd" },
		/* marks that reorder or end lines: LRM, RLO, LRI, ALM, NEL, LINE SEPARATOR; not the
		 * dash beside them */
		{ "\xe2\x80\x8e", "\xef\xbf\xbd" },
		{ "\xe2\x80\xae"
		  "gnp",
		    "\xef\xbf\xbdgnp" },
		{ "\xe2\x81\xa6", "\xef\xbf\xbd" },
		{ "\xd8\x9c", "\xef\xbf\xbd" },
		{ "\xc2\x85", "\xef\xbf\xbd" },
		{ "\xe2\x80\xa8", "\xef\xbf\xbd" },
		{ "\xe2\x80\x93\xc2\xa0", "\xe2\x80\x93\xc2\xa0" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(as_text(cases[i].in), cases[i].out);
	CHECK_STR(as_text(NULL), "");
}

static void
test_pieces(void)
{
	struct html h = { .out = out };

	html_raw(&h, "<p");
	html_attr(&h, "title", "\" onclick=\"x");
	html_attr(&h, "lang", (const char *)NULL);
	html_raw(&h, ">");
	html_int(&h, -42);
	CHECK_STR(written(), "<p title=\"&quot; onclick=&quot;x\">-42");
	html_coord(&h, 12.5);
	html_raw(&h, " ");
	html_coord(&h, 100);
	html_raw(&h, " ");
	html_coord(&h, -0.001);
	html_raw(&h, " ");
	html_coord(&h, 1.0 / 3);
	html_raw(&h, " ");
	html_coord(&h, NAN);
	html_raw(&h, " ");
	html_coord(&h, 1e300);
	CHECK_STR(written(), "12.5 100 0 0.33 0 0");
}

/* Whatever the bytes, what comes out is UTF-8 without <, >, quotes or a bare ampersand. */
static void
test_random(unsigned seed)
{
	char in[64];
	int round, bad = 0;

	srand(seed);
	for (round = 0; round < 20000; round++) {
		size_t len = (size_t)rand() % (sizeof(in) - 1), i;
		const unsigned char *s;

		for (i = 0; i < len; i++)
			in[i] = (char)(rand() % 3 == 0 ? "<>&\"'\xe2\x80\xf0\xc3"[rand() % 9]
						       : 1 + rand() % 255);
		in[len] = '\0';
		for (s = (const unsigned char *)as_text(in); *s != '\0'; s++) {
			bad += strchr("<>\"'", *s) != NULL || *s < 0x20 || *s == 0x7f;
			bad += *s == '&' && strncmp((const char *)s, "&amp;", 5) != 0 &&
			    strncmp((const char *)s, "&lt;", 4) != 0 &&
			    strncmp((const char *)s, "&gt;", 4) != 0 &&
			    strncmp((const char *)s, "&quot;", 6) != 0 &&
			    strncmp((const char *)s, "&#39;", 5) != 0;
			if (*s >= 0x80) {
				int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;

				bad += *s < 0xc2 || *s > 0xf4;
				for (; more > 0 && (s[1] & 0xc0) == 0x80; more--)
					s++;
				bad += more != 0;
			}
		}
	}
	CHECK_INT(bad, 0);
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : (unsigned)time(NULL);

	fprintf(stderr, "seed %u\n", seed);
	out = evbuffer_new();
	test_text();
	test_pieces();
	test_random(seed);
	evbuffer_free(out);
	return check_done("test_html");
}
