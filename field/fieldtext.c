/* SPDX-License-Identifier: BSD-3-Clause */
#include "field/fieldtext.h"

#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "field/jsonscan.h"
#include "narrows/announce.h"
#include "narrows/calendar.h"
#include "narrows/utf8.h"

void
fieldtext_copy(char *out, size_t size, const char *text, size_t len)
{
	size_t n = 0, i, took;

	for (i = 0; i < len && text[i] != '\0'; i += took) {
		took = utf8_length(text + i, len - i);
		if (n + (took > 0 ? took : 1) >= size)
			break;
		memcpy(out + n, text + i, took);
		if (took == 0 || (unsigned char)text[i] < ' ' || text[i] == 0x7f) {
			out[n] = '?';
			took = 1;
		}
		n += took;
	}
	out[n] = '\0';
}

/* --- times --- */

/* Takes n digits. Returns false for fewer. */
static bool
digits_take(const char **p, int n, int *out)
{
	for (*out = 0; n > 0; n--, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		*out = 10 * *out + (**p - '0');
	}
	return true;
}

static int64_t
fraction_take(const char **p)
{
	int64_t unit = 100000000, ns = 0;

	if (**p != '.' && **p != ',')
		return 0;
	for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
		ns += unit * (**p - '0');
	return ns;
}

/* Minutes east of UTC behind a time. Returns false for another end of the text. */
static bool
zone_take(const char **p, int64_t *minutes)
{
	int sign = **p == '-' ? -1 : 1, hour, minute = 0;

	*minutes = 0;
	if (**p == 'Z') {
		(*p)++;
		return **p == '\0';
	}
	if (**p != '+' && **p != '-')
		return false;
	(*p)++;
	if (!digits_take(p, 2, &hour))
		return false;
	if (**p == ':')
		(*p)++;
	if (!digits_take(p, 2, &minute))
		return false;
	*minutes = sign * (60 * hour + minute);
	return **p == '\0';
}

bool
fieldtext_time(const char *text, int64_t *t_wall_ns)
{
	const char *p = text;
	struct calendar c = { 0 };
	int64_t minutes;

	if (!digits_take(&p, 4, &c.year) || *p++ != '-' || !digits_take(&p, 2, &c.month) ||
	    *p++ != '-' || !digits_take(&p, 2, &c.day) || *p++ != 'T' ||
	    !digits_take(&p, 2, &c.hour) || *p++ != ':' || !digits_take(&p, 2, &c.minute) ||
	    *p++ != ':' || !digits_take(&p, 2, &c.second))
		return false;
	c.ns = fraction_take(&p);
	if (!zone_take(&p, &minutes) || c.year < 1970 || c.year > 2199 ||
	    !calendar_ns(&c, t_wall_ns))
		return false;
	*t_wall_ns -= minutes * 60 * INT64_C(1000000000);
	return true;
}

double
fieldtext_duration(const char *p)
{
	double s = 0, n, place;
	bool of_time = false, any = false;

	if (*p++ != 'P')
		return NAN;
	for (; *p != '\0'; p++) {
		if (*p == 'T' && !of_time) {
			of_time = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			return NAN;
		for (n = 0; *p >= '0' && *p <= '9'; p++)
			n = 10 * n + (*p - '0');
		if (*p == '.')
			for (p++, place = 0.1; *p >= '0' && *p <= '9'; p++, place /= 10)
				n += place * (*p - '0');
		if (*p == 'D' && !of_time)
			s += 86400 * n;
		else if (*p == 'H' && of_time)
			s += 3600 * n;
		else if (*p == 'M' && of_time)
			s += 60 * n;
		else if (*p == 'S' && of_time)
			s += n;
		else
			return NAN;
		any = true;
	}
	return any ? s : NAN;
}

/* --- places --- */

bool
fieldtext_take(const struct fieldtext_place *places, size_t n, const char *path,
    const struct jsonscan_value *v)
{
	size_t i;

	for (i = 0; v->kind == JSONSCAN_TEXT && i < n; i++)
		if (strcmp(path, places[i].path) == 0) {
			fieldtext_copy(places[i].at, places[i].size, v->text, strlen(v->text));
			return true;
		}
	return false;
}

/* --- addresses --- */

bool
fieldtext_address(const char *text, char *out)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return inet_ntop(AF_INET, &v4, out, NW_ANNOUNCE_ADDRESS_BYTES) != NULL;
	if (inet_pton(AF_INET6, text, &v6) != 1)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&v6))
		return inet_ntop(AF_INET, v6.s6_addr + 12, out, NW_ANNOUNCE_ADDRESS_BYTES) != NULL;
	return inet_ntop(AF_INET6, &v6, out, NW_ANNOUNCE_ADDRESS_BYTES) != NULL;
}

void
fieldtext_url_host(const char *url, char *out, size_t size)
{
	const char *at = strstr(url, "://"), *user, *ends = ":/?";
	size_t n;

	at = at != NULL ? at + 3 : url;
	if ((user = memchr(at, '@', strcspn(at, "/?"))) != NULL)
		at = user + 1;
	if (*at == '[') {
		at++;
		ends = "]/?";
	}
	n = strcspn(at, ends);
	n = n < size ? n : size - 1;
	memcpy(out, at, n);
	out[n] = '\0';
}
