/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/document_sql.h"

#include "narrows/err.h"
#include "store/ground/document.h"
#include "store/ground/original.h"

static void
error_result(sqlite3_context *ctx, int rc)
{
	if (rc == NW_ENOMEM)
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_error(ctx, nw_strerror(rc), -1);
}

static void
on_document(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct document_parts p;
	const char *json;
	size_t len;
	int rc;

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	p.text = sqlite3_value_blob(argv[0]);
	p.text_len = (size_t)sqlite3_value_bytes(argv[0]);
	p.numbers = sqlite3_value_blob(argv[1]);
	p.numbers_len = (size_t)sqlite3_value_bytes(argv[1]);
	if ((rc = document_unpack(sqlite3_user_data(ctx), &p, &json, &len)) != NW_OK)
		error_result(ctx, rc);
	else
		sqlite3_result_text64(ctx, json, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Other text than a document becomes NULL. */
static void
on_pack(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *json = (const char *)sqlite3_value_text(argv[0]);
	struct document_parts p;
	int rc;

	(void)argc;
	if (json == NULL)
		return;
	rc = document_pack(sqlite3_user_data(ctx), json, (size_t)sqlite3_value_bytes(argv[0]), &p);
	if (rc == NW_ENOMEM)
		sqlite3_result_error_nomem(ctx);
	else if (rc == NW_OK && sqlite3_value_int(argv[1]) == 0)
		sqlite3_result_blob64(ctx, p.text, p.text_len, SQLITE_TRANSIENT);
	else if (rc == NW_OK && p.numbers_len > 0)
		sqlite3_result_blob64(ctx, p.numbers, p.numbers_len, SQLITE_TRANSIENT);
}

/* Metadata as received, whether packed or not. */
static void
on_original(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct original_bytes out, in;
	int rc;

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	in.bytes = sqlite3_value_blob(argv[0]);
	in.len = (size_t)sqlite3_value_bytes(argv[0]);
	if ((rc = original_unpack(sqlite3_user_data(ctx), in, &out)) != NW_OK)
		error_result(ctx, rc);
	else
		sqlite3_result_blob64(ctx, out.bytes, out.len, SQLITE_TRANSIENT);
}

static void
on_original_destroy(void *arg)
{
	original_codec_free(arg);
}

static int
original_function_add(sqlite3 *db)
{
	struct original_codec *o = original_codec_new();

	if (o == NULL)
		return SQLITE_NOMEM;
	return sqlite3_create_function_v2(db, "narrows_original", 1,
	    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, o, on_original, NULL, NULL,
	    on_original_destroy);
}

static void
on_destroy(void *arg)
{
	document_codec_free(arg);
}

static int
function_add(
    sqlite3 *db, const char *name, void (*fn)(sqlite3_context *ctx, int argc, sqlite3_value **argv))
{
	struct document_codec *d = document_codec_new();

	if (d == NULL)
		return SQLITE_NOMEM;
	return sqlite3_create_function_v2(db, name, 2,
	    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, d, fn, NULL, NULL, on_destroy);
}

int
document_sql_register(sqlite3 *db)
{
	int rc = function_add(db, "narrows_document", on_document);

	return rc == SQLITE_OK ? original_function_add(db) : rc;
}

int
document_sql_register_pack(sqlite3 *db)
{
	return function_add(db, "narrows_pack", on_pack);
}
