/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents come back byte for byte, whatever is in them; without their numbers they are still
 * documents; bytes that are none are refused. */
#include "store/ground/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/check.h"
#include "tests/storefile.h"

static struct document_codec *codec;

static const char *
unpack(const uint8_t *text, size_t text_len, const uint8_t *numbers, size_t numbers_len, int *rc)
{
	const struct document_parts p = { text, numbers, text_len, numbers_len };
	const char *json;
	size_t len;

	*rc = document_unpack(codec, &p, &json, &len);
	CHECK((*rc == NW_OK) == (json != NULL));
	return json;
}

/* A packed document that stays when the codec goes on. */
static struct document_parts
pack(const char *json)
{
	struct document_parts p = { 0 };
	uint8_t *text, *numbers;

	CHECK_INT(document_pack(codec, json, strlen(json), &p), NW_OK);
	text = malloc(p.text_len + 1);
	numbers = malloc(p.numbers_len + 1);
	memcpy(text, p.text, p.text_len);
	if (p.numbers_len > 0)
		memcpy(numbers, p.numbers, p.numbers_len);
	p.text = text;
	p.numbers = numbers;
	return p;
}

static void
parts_free(struct document_parts *p)
{
	free((void *)(uintptr_t)p->text);
	free((void *)(uintptr_t)p->numbers);
}

#define SIXTEEN "1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0,13.0,14.0,15.0,16.0"

static const struct {
	const char *json;
	bool numbers; /* some of its lists are packed */
} cases[] = {
	{ "{}", false },
	{ "", false },
	{ "{\"a\":[1,2,3]}", false },
	{ "{\"a\":[" SIXTEEN "]}", true },
	{ "{\"a\":[" SIXTEEN "],\"b\":[" SIXTEEN "],\"c\":[" SIXTEEN ",null]}", true },
	{ "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-16]}", true },
	{ "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16.0]}", false },
	{ "{\"a\":[ " SIXTEEN "]}", false },
	{ "{\"a\":\"[" SIXTEEN "]\"}", false },
	{ "{\"a\":\"\\\"[\",\"b\":[" SIXTEEN "]}", true },
	{ "{\"a\":[1e-7,1.5e300,-0.0,0.1,123456789012.0,1e22,5.0,6.0,7.0,8.0,9.0,1.0,1.0,1.0,1.0,"
	  "2.25]}",
	    true },
	{ "{\"a\":[[" SIXTEEN "],[" SIXTEEN "]]}", true },
	{ "{\"a\":[" SIXTEEN ",x]}", false },
	{ "{\"a\":[" SIXTEEN, false },
	{ "{\"a\":[0x10,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}", false },
	{ "{\"a\":[1e999,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}", false },
};

static void
test_cases(void)
{
	struct document_parts p;
	const char *got;
	size_t i, len;
	int rc;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p = pack(cases[i].json);
		got = unpack(p.text, p.text_len, p.numbers, p.numbers_len, &rc);
		CHECK_INT(rc, NW_OK);
		CHECK_STR(got, cases[i].json);
		CHECK((p.numbers_len > 0) == cases[i].numbers);
		CHECK_INT(document_unpack_brief(codec, &p, &got, &len), NW_OK);
		CHECK((strlen(got) < strlen(cases[i].json)) == cases[i].numbers);
		parts_free(&p);
	}
	CHECK_INT(document_pack(codec, "{\001}", 3, &p), NW_EINVAL);
	CHECK_INT(document_pack(codec, "{\0}", 3, &p), NW_EINVAL);
}

static void
test_without_numbers(void)
{
	struct document_parts p = pack("{\"a\":[" SIXTEEN "],\"b\":[" SIXTEEN "],\"c\":[1]}");
	int rc;

	CHECK_STR(unpack(p.text, p.text_len, NULL, 0, &rc), "{\"a\":[],\"b\":[],\"c\":[1]}");
	parts_free(&p);
}

/* A text like a document: objects, strings, lists of numbers of many styles and lengths. */
static char *
random_document(void)
{
	char *json = NULL;
	size_t len, i, k, n, n_lists = rnd(40);
	FILE *f = open_memstream(&json, &len);
	double v;

	fputs("{\"stage\":\"disk.read\"", f);
	for (i = 0; i < n_lists; i++) {
		fprintf(f, ",\"k%zu\":[", i);
		n = rnd(3) == 0 ? rnd(600) : 58;
		for (k = 0; k < n; k++) {
			v = (double)(int64_t)(rnd(1ull << 40) - (1ull << 39)) / 1024;
			if (rnd(9) == 0)
				fputs(k > 0 ? ",null" : "null", f);
			else
				fprintf(f, "%s%.*g", k > 0 ? "," : "", (int)(1 + rnd(17)), v);
		}
		fputs("]", f);
	}
	fputs("}", f);
	fclose(f);
	return json;
}

/* Any change of a packed document is an error or another document, never more. */
static void
damage(const struct document_parts *p)
{
	uint8_t *text = malloc(p->text_len + 1), *numbers = malloc(p->numbers_len + 1);
	int rc, i;

	for (i = 0; i < 20; i++) {
		memcpy(text, p->text, p->text_len);
		if (p->numbers_len > 0)
			memcpy(numbers, p->numbers, p->numbers_len);
		if (p->numbers_len > 0 && rnd(2) == 0)
			numbers[rnd(p->numbers_len)] ^= (uint8_t)(1 + rnd(255));
		else
			text[rnd(p->text_len)] ^= (uint8_t)(1 + rnd(255));
		unpack(text, rnd(4) == 0 ? rnd(p->text_len) : p->text_len, numbers,
		    rnd(4) == 0 ? rnd(p->numbers_len + 1) : p->numbers_len, &rc);
		CHECK(rc == NW_OK || rc == NW_ECORRUPT || rc == NW_EVERSION);
	}
	free(text);
	free(numbers);
}

static void
test_random(void)
{
	struct document_parts p;
	char *json;
	int i, rc;

	for (i = 0; i < 300; i++) {
		json = random_document();
		p = pack(json);
		CHECK_STR(unpack(p.text, p.text_len, p.numbers, p.numbers_len, &rc), json);
		damage(&p);
		parts_free(&p);
		free(json);
	}
}

int
main(int argc, char **argv)
{
	rng = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0)
						     : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %llu\n", (unsigned long long)rng);
	if ((codec = document_codec_new()) == NULL)
		return 1;
	test_cases();
	test_without_numbers();
	test_random();
	document_codec_free(codec);
	return check_done("document");
}
