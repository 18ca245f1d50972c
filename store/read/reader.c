/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/read/reader.h"
#include "store/ground/disk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/task.h"
#include "store/codec/codec_hash.h"
#include "store/ground/original.h"
#include "store/ground/schema.h"

enum { READER_BUSY_TIMEOUT_MS = 5000, READER_CACHE_BYTES = 8 << 20, ORIGINAL_COLUMN = 10 };

#define XSP_COLUMNS                                                                                \
	"id, host_id, session_id, sess_id, peer, software, provider, opened_ns, closed_ns, docs, " \
	"samples,"                                                                                 \
	" rejected, bytes, dropped, end_reason, owner, addresses"
#define META_COLUMNS \
	"id, session_id, host_id, xsp_id, mid, pid, event_type, subject, params, first_ns"
#define META_PREFIX "substr(event_type, 1, length(?1)) = ?1"
#define SESSION_COLUMNS                                                                        \
	"s.id, s.task_id, s.program, s.opened_ns, s.closed_ns, s.last_data_ns, r.session_id, " \
	"r.run_id,"                                                                            \
	" r.route, r.program, r.stage, r.sentence, r.bytes, r.bytes_per_s, r.start_ns, "       \
	"r.duration_ns, r.confidence, r.effect, r.usual, r.label, r.exit_status"

/* Whether another box made the result: the run says so, and the task alone proves nothing. */
#define IMPORTED                                  \
	"(s.task_id GLOB '" TASK_REPORT "*' AND " \
	"(SELECT n.kind = 'imported' FROM run n WHERE n.id = r.run_id))"

/* Whether announcements are all that is known of a session: no sender spoke of it. */
#define ANNOUNCED                                    \
	"(s.task_id GLOB '" TASK_ANNOUNCED "*' AND " \
	"NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = s.id))"

/* The history of a route has sessions measured here. */
#define MADE_HERE "NOT coalesce(" IMPORTED ", 0)"

#define TEST_COLUMNS                                                                         \
	"run, kind, tool, source, destination, start_ns, end_ns, succeeded, error, fields, " \
	"details, id"

/* The names of a host in active tests: its own, and addresses that its certificate proves. Takes
 * the number of the parameter with the host's name. */
#define TEST_ENDS(host)                                                                            \
	"(SELECT lower(" host                                                                      \
	") UNION SELECT j.value FROM (SELECT coalesce(x.addresses, '') || ' ' ||"                  \
	" substr(x.peer, 1, instr(x.peer || '/', '/') - 1) AS list FROM xsp_session x JOIN host h" \
	" ON h.id = x.host_id WHERE h.name = " host " AND x.owner = 'host:' || " host              \
	" ORDER BY x.id DESC LIMIT 8) a, json_each('[\"' || replace(trim(a.list), ' ', '\",\"') "  \
	"||"                                                                                       \
	" '\"]') j WHERE j.value NOT GLOB '127.*' AND j.value NOT IN ('', '::1'))"

#define ROUTE_COLUMNS "route, program, made_ns, n_sessions, newest_id, bytes_per_s, stage, sentence"

#define SETTING_COLUMNS                                                                       \
	"c.host_id, c.t_ns, c.name, c.value, (SELECT b.value FROM config b WHERE b.host_id =" \
	" c.host_id AND b.name = c.name AND b.t_ns < c.t_ns ORDER BY b.t_ns DESC LIMIT 1), "
#define SETTINGS_OF_TIME " FROM config c WHERE c.host_id = ?1 AND c.t_ns > ?2 AND c.t_ns <= ?3"
#define SETTING_ORDER    " ORDER BY c.t_ns, c.name"
/* No earlier line of the name. */
#define SETTING_NEW                                                                 \
	"NOT EXISTS (SELECT 1 FROM config f WHERE f.host_id = c.host_id AND f.name" \
	" = c.name AND f.t_ns < c.t_ns)"
/* No earlier line of the group of c: the names from "group." up to "group/". By time, the search
 * ends at the first such line; by name, it would read the whole group for each line. */
#define SETTING_FIRST                                                                 \
	SETTING_NEW " AND NOT EXISTS (SELECT 1 FROM config f INDEXED BY"              \
		    " config_by_time WHERE f.host_id = c.host_id AND f.t_ns < c.t_ns" \
		    " AND f.name >= substr(c.name, 1, instr(c.name, '.'))"            \
		    " AND f.name < substr(c.name, 1, instr(c.name, '.') - 1) || '/')"

/* The end of the last roll-up of a tier that begins before ?3. */
#define ROLLUP_NEWEST(tier)                                                                 \
	"(SELECT t1_ns FROM rollup WHERE layout_id = ?1 AND tier = " tier " AND t0_ns < ?3" \
	" ORDER BY t0_ns DESC, t1_ns DESC LIMIT 1)"
/* Chunks do not overlap, so only the last chunk before ?2 can reach ?2. */
#define PIECES(tier, table, and_tier)                                                          \
	"SELECT id, " tier ", t0_ns, t1_ns FROM " table " WHERE layout_id = ?1 " and_tier      \
	" AND t0_ns < ?3 AND t1_ns >= ?2 AND t0_ns >= coalesce((SELECT max(t0_ns) FROM " table \
	" WHERE layout_id = ?1 " and_tier " AND t0_ns < ?2), ?2)"

#define EVENT_ROWS                                                                              \
	"SELECT e.id, coalesce(e.session_id, 0), e.host_id, h.name, e.t0_ns FROM event_chunk e" \
	" LEFT JOIN host h ON h.id = e.host_id WHERE (?1 = 0 OR e.host_id = ?1)"                \
	" AND e.t1_ns >= ?2 AND e.t0_ns <= ?3"

#define ROUTE_OVER(host)                                                \
	"substr(h.route, 1, length(" host ") + 4) = " host " || ' -> '" \
	" OR substr(h.route, -length(" host ") - 4) = ' -> ' || " host

static const char *const sql[R_STMTS] = {
	[R_EVENTS] = EVENT_ROWS " AND e.session_id IS ?4 ORDER BY e.t0_ns, e.id",
	[R_EVENTS_ALL] = EVENT_ROWS " AND ?4 IS NULL ORDER BY e.t0_ns, e.id",
	[R_EVENT_DATA] = "SELECT data FROM event_chunk WHERE id = ?",
	[R_EVENT_SPAN] = "SELECT sum(n), min(t0_ns), max(t1_ns) FROM event_chunk WHERE ?1 = 0"
			 " OR session_id IS CASE ?1 WHEN ?2 THEN NULL ELSE ?1 END",
	[R_BEGIN] = "BEGIN",
	[R_END] = "COMMIT",
	[R_PIN] = "SELECT 1 FROM sqlite_schema LIMIT 1", /* BEGIN alone takes no snapshot */
	[R_HOSTS] = "SELECT id, name, info, first_seen_ns, last_seen_ns FROM host ORDER BY id",
	[R_HOST] = "SELECT id, name, info, first_seen_ns, last_seen_ns FROM host WHERE id = ?",
	[R_HOST_NAMED] =
	    "SELECT id, name, info, first_seen_ns, last_seen_ns FROM host WHERE name = ?",
	[R_PROVIDERS] = "SELECT owner, id, stored_seq FROM provider ORDER BY owner, id",
	[R_SESSIONS] = "SELECT " SESSION_COLUMNS ", NULL, NULL, s.pinned, " IMPORTED ", " ANNOUNCED
		       " FROM session s LEFT JOIN result r ON r.session_id = s.id"
		       " WHERE s.id < ? ORDER BY s.id DESC LIMIT ?",
	[R_SESSIONS_AFTER] =
	    "SELECT " SESSION_COLUMNS ", NULL, NULL, s.pinned, " IMPORTED ", " ANNOUNCED
	    " FROM session s LEFT JOIN result r ON r.session_id = s.id"
	    " WHERE s.id > ? ORDER BY s.id LIMIT ?",
	[R_SESSIONS_DURING] =
	    "SELECT id FROM (SELECT id, opened_ns, closed_ns FROM session WHERE id < ?1"
	    " ORDER BY id DESC LIMIT ?2) WHERE coalesce(opened_ns, 0) <= ?4"
	    " AND (coalesce(closed_ns, 0) = 0 OR closed_ns >= ?3) ORDER BY id DESC LIMIT ?5",
	[R_DATA_VERSION] = "PRAGMA data_version",
	[R_SESSION] = "SELECT " SESSION_COLUMNS ", r.document, r.timeline, s.pinned, " IMPORTED
		      ", " ANNOUNCED " FROM session s "
		      "LEFT JOIN result r ON r.session_id = s.id"
		      " WHERE s.id = ?",
	[R_SESSIONS_OF_ROUTE] =
	    "SELECT " SESSION_COLUMNS ", NULL, NULL, s.pinned, " IMPORTED ", " ANNOUNCED
	    " FROM result r INDEXED BY "
	    "result_by_route JOIN session s ON s.id = r.session_id WHERE r.route = ?1"
	    " AND coalesce(r.program, '') = ?2 AND r.start_ns < ?3 AND " MADE_HERE
	    " ORDER BY r.start_ns DESC"
	    " LIMIT ?4",
	[R_ROUTES] = "SELECT " ROUTE_COLUMNS ", NULL FROM route ORDER BY newest_id DESC LIMIT ?",
	[R_ROUTE] = "SELECT " ROUTE_COLUMNS ", document FROM route WHERE route = ? AND program = ?",
	[R_ROUTES_LACKING] =
	    "SELECT r.route, coalesce(r.program, '') AS program FROM result r"
	    " INDEXED BY result_by_route JOIN session s ON s.id = r.session_id"
	    " WHERE r.route IS NOT NULL AND " MADE_HERE " AND NOT EXISTS"
	    " (SELECT 1 FROM route h WHERE h.route = r.route AND h.program = "
	    "coalesce(r.program, '')) GROUP BY 1, 2 ORDER BY max(r.start_ns) DESC LIMIT ?",
	[R_ROUTES_STALE] =
	    "SELECT DISTINCT a.route, a.program FROM acceptance a JOIN route r"
	    " ON r.route = a.route AND r.program = a.program WHERE a.t_ns > r.made_ns LIMIT ?",
	[R_INCIDENTS] =
	    "SELECT route, program, session_id, kind, state, begin_ns, end_ns, document,"
	    " from_ns, to_ns, sessions"
	    " FROM incident WHERE (?1 IS NULL OR route = ?1)"
	    " AND (?2 IS NULL OR program = ?2) AND (?3 IS NULL OR state = ?3)"
	    " AND coalesce(end_ns, 9223372036854775807) >= ?4 AND begin_ns < ?5"
	    " AND (?6 = 0 OR session_id = ?6)"
	    " ORDER BY begin_ns DESC, session_id DESC LIMIT ?7",
	/* ?1 and ?2 are the hosts of the route that asks */
	[R_VOUCHING] = "SELECT h.route, h.program, h.newest_id > ?3, EXISTS (SELECT 1 FROM"
		       " incident i WHERE i.route = h.route AND i.program = h.program AND"
		       " i.kind = 'step' AND i.from_ns <= ?5 AND i.to_ns >= ?4) FROM route h WHERE"
		       " " ROUTE_OVER("?1") " OR " ROUTE_OVER("?2"),
	[R_EXPERIMENTS] = "SELECT made_ns, document FROM experiment",
	[R_INCIDENTS_OPEN] = "SELECT count(*) FROM incident WHERE state = 'open'",
	[R_ACCEPTANCES] = "SELECT route, program, session_id, t_ns, who, why FROM acceptance"
			  " WHERE route = ? AND program = ? ORDER BY t_ns",
	[R_UNJUDGED] =
	    "SELECT s.id, (SELECT x.owner FROM xsp_session x WHERE x.session_id = s.id"
	    " ORDER BY x.id LIMIT 1) FROM session s LEFT JOIN result r ON r.session_id = s.id"
	    " LEFT JOIN run n ON n.id = r.run_id WHERE s.closed_ns IS NOT NULL AND"
	    " (n.id IS NULL OR n.replaced_ns IS NOT NULL OR n.started_ns < s.closed_ns + ?)"
	    " ORDER BY s.id LIMIT ?",
	[R_DIETS] = "SELECT id, host_id, probe, made_ns, accepted_ns, ended_ns, carried_ns,"
		    " document FROM diet WHERE host_id = ?1 OR ?1 = 0 ORDER BY host_id, id",
	[R_DIET_SEEN] = "SELECT 0, host_id, '', 0, 0, 0, 0, document FROM diet_seen"
			" WHERE host_id = ?",
	[R_CHUNK_SIZE] = "SELECT coalesce(sum(n_rows), 0), coalesce(sum(length(data)), 0)"
			 " FROM chunk WHERE layout_id = ? AND t0_ns >= ?",
	[R_ROWS_COUNT] =
	    "SELECT coalesce((SELECT sum(n_rows) FROM chunk WHERE layout_id = ?1 AND"
	    " t0_ns < ?3 AND t1_ns >= ?2), 0) + coalesce((SELECT sum(n_rows) FROM rollup"
	    " WHERE layout_id = ?1 AND tier IN (1, 2, 3) AND t0_ns < ?3 AND t1_ns >= ?2), 0)",
	[R_KEEPLISTS] = "SELECT route, program, response, made_ns, took_ns, headline, sentence,"
			" document FROM keeplist ORDER BY made_ns DESC, id DESC",
	/* one walk of the primary key; beside max(), SQLite takes the other columns from its row */
	[R_CONFIG_AT] = "SELECT c.host_id, max(c.t_ns), c.name, c.value, NULL, 0 FROM config c "
			"WHERE c.host_id = ?1 AND c.t_ns <= ?2 GROUP BY c.name"
			" HAVING c.value IS NOT NULL ORDER BY c.name",
	[R_CONFIG_CHANGES] = "SELECT " SETTING_COLUMNS SETTING_FIRST SETTINGS_OF_TIME SETTING_ORDER,
	[R_CONFIG_AGAIN] =
	    "SELECT " SETTING_COLUMNS "0" SETTINGS_OF_TIME " AND NOT " SETTING_NEW SETTING_ORDER,
	[R_CONFIG_MOVES] =
	    "SELECT c.t_ns FROM (SELECT id, (SELECT min(f.t_ns) FROM config f WHERE f.host_id ="
	    " host.id AND f.name = ?1) AS first FROM host) h JOIN config c ON c.host_id = h.id"
	    " AND c.name = ?1 AND c.t_ns > h.first AND c.t_ns <= ?2 ORDER BY c.t_ns",
	[R_SESSION_LAST] = "SELECT max(id) FROM session",
	[R_XSP] = "SELECT " XSP_COLUMNS " FROM xsp_session WHERE session_id = ? ORDER BY id",
	[R_XSP_OF_HOST] =
	    "SELECT " XSP_COLUMNS " FROM xsp_session WHERE host_id = ? ORDER BY id DESC LIMIT ?",
	[R_HOST_USE] = "SELECT count(*), sum(closed_ns IS NULL), count(DISTINCT session_id),"
		       " max(session_id), max(coalesce(closed_ns, opened_ns)) FROM"
		       " (SELECT session_id, opened_ns, closed_ns FROM xsp_session"
		       " WHERE host_id = ? ORDER BY id DESC LIMIT ?)",
	[R_XSP_ONE] = "SELECT " XSP_COLUMNS " FROM xsp_session WHERE id = ?",
	[R_NOTES] = "SELECT id, session_id, t_ns, line, point, text, made_ns FROM note"
		    " WHERE session_id = ? ORDER BY t_ns, id",
	[R_NOTES_OF_ROUTE] =
	    "SELECT n.id, n.session_id, n.t_ns, n.line, n.point, n.text, n.made_ns FROM note n"
	    " JOIN result r ON r.session_id = n.session_id WHERE r.route = ?1 AND"
	    " coalesce(r.program, '') = ?2 ORDER BY n.t_ns, n.id",
	[R_RESULT_STAMP] = "SELECT document, timeline FROM result WHERE session_id = ?",
	/* one search for each name: a scan would read every value */
	[R_LABEL_NAMES] = "WITH RECURSIVE k(name) AS (SELECT min(name) FROM label UNION ALL"
			  " SELECT (SELECT min(l.name) FROM label l WHERE l.name > k.name) FROM k"
			  " WHERE k.name IS NOT NULL)"
			  " SELECT name FROM k WHERE name IS NOT NULL LIMIT ?",
	[R_LABEL_VALUES] = "SELECT value FROM label WHERE name = ? ORDER BY value LIMIT ?",
	[R_LABEL_SPAN] = "SELECT first_id, last_id FROM label WHERE name = ? AND value = ?",
	[R_SERIES_IDS] = "SELECT DISTINCT meta_id FROM layout ORDER BY meta_id LIMIT ?",
	[R_METRICS] = "SELECT c.id, c.event_type, s.fields, c.first_id, c.last_id FROM metric c"
		      " JOIN fieldset s ON s.id = c.fieldset_id WHERE c.id > ? ORDER BY c.id"
		      " LIMIT ?",
	[R_TESTS_BETWEEN] = "SELECT " TEST_COLUMNS " FROM active_test WHERE source IN " TEST_ENDS(
	    "?1") " AND destination IN " TEST_ENDS("?2") " AND end_ns >= ?3 AND end_ns < ?4"
							 " ORDER BY end_ns DESC LIMIT ?5",
	[R_TEST_PAIRS] = "SELECT source, destination, tool, kind, count(*), max(end_ns)"
			 " FROM active_test GROUP BY source, destination, kind, tool"
			 " ORDER BY 6 DESC LIMIT ?",
	[R_TESTS_AFTER] =
	    "SELECT " TEST_COLUMNS " FROM active_test WHERE id > ? ORDER BY id LIMIT ?",
	[R_SESSIONS_BESIDE] =
	    "SELECT s.id, (SELECT x.owner FROM xsp_session x WHERE x.session_id = s.id"
	    " ORDER BY x.id LIMIT 1), r.route, r.start_ns, r.start_ns + r.duration_ns"
	    " FROM result r JOIN session s ON s.id = r.session_id WHERE r.route IN"
	    " (SELECT a.name || ' -> ' || b.name FROM host a, host b WHERE ?1 IN " TEST_ENDS(
		"a.name") " AND ?2 IN " TEST_ENDS("b.name") ") AND r.start_ns < ?4"
							    " AND r.start_ns + r.duration_ns > ?3"
							    " AND s.closed_ns IS NOT NULL"
							    " AND " MADE_HERE
							    " ORDER BY r.start_ns DESC LIMIT ?5",
	[R_TESTS_OF_PAIR] = "SELECT " TEST_COLUMNS " FROM active_test WHERE source = ?1"
			    " AND destination = ?2 AND kind = ?3 AND tool = ?4 AND end_ns >= ?5"
			    " AND end_ns < ?6 ORDER BY end_ns, id LIMIT ?7",
	[R_NOTES_COUNT] = "SELECT count(*) FROM note WHERE line = ? AND point = ?",
	[R_RUNS] =
	    "SELECT id, session_id, kind, started_ns, took_ns, version, outcome, replaced_ns,"
	    " why, stage, sentence, bytes_per_s FROM run "
	    "WHERE session_id = ?"
	    " ORDER BY id",
	[R_META] = "SELECT " META_COLUMNS ", raw FROM metadata WHERE id = ?",
	[R_METAS_OF_SESSION] = "SELECT " META_COLUMNS " FROM metadata WHERE " META_PREFIX
			       " AND session_id = ?2 ORDER BY id",
	[R_METAS_OF_HOST] = "SELECT " META_COLUMNS " FROM metadata WHERE " META_PREFIX
			    " AND session_id IS NULL AND host_id = ?2 ORDER BY id",
	[R_METAS_OF_HOSTS] =
	    "SELECT " META_COLUMNS " FROM metadata INDEXED BY metadata_by_host WHERE " META_PREFIX
	    " AND session_id IS NULL ORDER BY id",
	[R_METAS_BETWEEN] = "SELECT " META_COLUMNS " FROM metadata WHERE " META_PREFIX
			    " AND id > ?2 AND id <= ?3 ORDER BY id",
	[R_META_LAST] = "SELECT max(id) FROM metadata",
	[R_LAYOUTS] = "SELECT l.id, l.meta_id, s.fields FROM layout l JOIN fieldset s"
		      " ON s.id = l.fieldset_id WHERE l.meta_id = ? ORDER BY l.id",
	[R_FIELDS] = "SELECT value FROM json_each(?) ORDER BY key",
	[R_UNIT] = "SELECT unit FROM v_series WHERE metadata = ?1 AND field = ?2 LIMIT 1",
	[R_LAYOUT] = "SELECT n_fields, tail_after FROM layout WHERE id = ?",
	[R_TAIL_ENDS] = "SELECT (SELECT min(id) FROM tail), (SELECT max(id) FROM tail)",
	[R_TAIL_NEWER] = "SELECT id, rows FROM tail WHERE id > ? ORDER BY id",
	/* Chunks do not overlap, so only the last chunk before ?2 can reach ?2. */
	[R_CHUNKS] =
	    "SELECT id FROM chunk WHERE layout_id = ?1 AND t0_ns < ?3 AND t1_ns >= ?2 AND t0_ns >="
	    " coalesce((SELECT max(t0_ns) FROM chunk WHERE layout_id = ?1 AND t0_ns < ?2), ?2) "
	    "ORDER BY t0_ns, t1_ns",
	[R_CHUNK_DATA] = "SELECT data FROM chunk WHERE id = ?",
	[R_ROLLUP_DATA] = "SELECT data FROM rollup WHERE id = ?",
	[R_CHUNK_LAST] = "SELECT t1_ns, last FROM chunk WHERE layout_id = ? ORDER BY t0_ns DESC, "
			 "t1_ns DESC LIMIT 1",
	[R_CHUNKS_ALL] =
	    "SELECT c.id, c.layout_id, c.t0_ns, c.t1_ns, c.n_rows, c.last, c.data, l.n_fields"
	    " FROM chunk c LEFT JOIN layout l ON l.id = c.layout_id ORDER BY c.layout_id, c.t0_ns, "
	    "c.t1_ns",
	[R_ROLLUP_ANY] = "SELECT 1 FROM rollup LIMIT 1",
	[R_ROLLUP_NEWEST] = "SELECT 1 WHERE " ROLLUP_NEWEST("1") " >= ?2 OR " ROLLUP_NEWEST(
	    "2") " >= ?2 OR " ROLLUP_NEWEST("3") " >= ?2",
	[R_ROLLUP_LAST] =
	    "SELECT max(t0_ns) FROM (SELECT max(t0_ns) AS t0_ns FROM rollup WHERE layout_id = ?1 "
	    "AND tier = 1"
	    " UNION ALL SELECT max(t0_ns) FROM rollup WHERE layout_id = ?1 AND tier = 2"
	    " UNION ALL SELECT max(t0_ns) FROM rollup WHERE layout_id = ?1 AND tier = 3)",
	/* Each part is in order by its index, so SQLite merges instead of sorting. */
	[R_PIECES] = PIECES("0", "chunk", "") " UNION ALL " PIECES(
	    "1", "rollup", "AND tier = 1") " UNION ALL " PIECES("2", "rollup",
	    "AND tier = 2") " UNION ALL " PIECES("3", "rollup", "AND tier = 3") " ORDER BY 3, 4",
	[R_AGGREGATES] =
	    "SELECT f.value, m.event_type, CASE WHEN json_valid(m.params) THEN"
	    " coalesce((SELECT p.value FROM json_each(m.params) p WHERE p.key = 'kind_' "
	    "|| f.value),"
	    " (SELECT p.value FROM json_each(m.params) p WHERE p.key = 'kind')) END"
	    " FROM layout l JOIN fieldset s ON s.id = l.fieldset_id JOIN metadata m ON m.id = "
	    "l.meta_id CROSS JOIN json_each(s.fields) f WHERE l.id = ? ORDER BY f.key",
	[R_ROLLUPS_ALL] =
	    "SELECT c.id, c.layout_id, c.t0_ns, c.t1_ns, c.n_rows, NULL, c.data, 5 * l.n_fields"
	    " FROM rollup c LEFT JOIN layout l ON l.id = c.layout_id ORDER BY c.layout_id, c.tier, "
	    "c.t0_ns",
};

/* --- opening --- */

/* A file: URI, because SQLite gives some characters of a path a meaning. NULL: no memory. */
static char *
uri_immutable(const char *path)
{
	static const char tail[] = "?immutable=1";
	char *uri = malloc(5 + 3 * strlen(path) + sizeof(tail)), *p = uri;

	if (uri == NULL)
		return NULL;
	p += sprintf(p, "file:");
	for (; *path != '\0'; path++)
		p += sprintf(
		    p, *path == '?' || *path == '#' || *path == '%' ? "%%%02x" : "%c", *path);
	strcpy(p, tail);
	return uri;
}

static int
db_open(struct store_reader *r, const char *name, int flags, char why[STORE_WHY_BYTES])
{
	int64_t version;

	if (sqlite3_open_v2(name, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | flags,
		disk_name()) != SQLITE_OK) {
		snprintf(why, STORE_WHY_BYTES, "%s",
		    r->db == NULL ? "out of memory" : sqlite3_errmsg(r->db));
		return r->db == NULL ? NW_ENOMEM : NW_EIO;
	}
	sqlite3_extended_result_codes(r->db, 1);
	sqlite3_busy_timeout(r->db, READER_BUSY_TIMEOUT_MS);
	/* a report reads a chunk several times */
	sqlite3_exec(r->db, "PRAGMA cache_size = -8192", NULL, NULL, NULL);
	return r->old_too ? schema_identify(r->db, &version, why) : schema_check(r->db, why);
}

/* Readers share memory with the writer through files beside the store. Where the files do not exist
 * and cannot be made, no program writes, except if there is a WAL: without a WAL the store is read
 * as a file that does not change. */
static int
db_open_any(struct store_reader *r, const char *path, char why[STORE_WHY_BYTES])
{
	char *wal, *uri;
	int rc, code;

	if (access(path, F_OK) == -1) {
		snprintf(why, STORE_WHY_BYTES, "no such file");
		return NW_ENOTFOUND;
	}
	rc = db_open(r, path, 0, why);
	code = sqlite3_errcode(r->db) & 0xff;
	if (rc == NW_EIO && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)) {
		wal = sqlite3_mprintf("%s-wal", path);
		uri = uri_immutable(path);
		if (wal != NULL && uri != NULL && access(wal, F_OK) == -1) {
			sqlite3_close(r->db);
			rc = db_open(r, uri, SQLITE_OPEN_URI, why);
		}
		sqlite3_free(wal);
		free(uri);
	}
	if (rc == NW_OK)
		db_stmts_init(&r->stmts, r->db, sql, R_STMTS);
	return rc;
}

static struct store_reader *
reader_new(void)
{
	struct store_reader *r = calloc(1, sizeof(*r));

	if (r != NULL && (r->tail = tail_new(SIZE_MAX)) != NULL &&
	    (r->codec = chunk_codec_new()) != NULL &&
	    (r->cache = cache_new(READER_CACHE_BYTES)) != NULL)
		return r;
	store_reader_close(r);
	return NULL;
}

static int
open_path(const char *path, bool old_too, struct store_reader **out, char why[STORE_WHY_BYTES])
{
	struct store_reader *r = reader_new();
	int rc = NW_ENOMEM;

	*out = NULL;
	snprintf(why, STORE_WHY_BYTES, "out of memory");
	if (r != NULL) {
		r->old_too = old_too;
		rc = db_open_any(r, path, why);
	}
	if (rc != NW_OK) {
		store_reader_close(r);
		return rc;
	}
	why[0] = '\0';
	*out = r;
	return NW_OK;
}

int
store_reader_open(const char *path, struct store_reader **out, char why[STORE_WHY_BYTES])
{
	return open_path(path, false, out, why);
}

int
reader_open_old(const char *path, struct store_reader **out, char why[STORE_WHY_BYTES])
{
	return open_path(path, true, out, why);
}

int
reader_attach(sqlite3 *db, struct store_reader **out)
{
	struct store_reader *r = *out = reader_new();

	if (r == NULL)
		return NW_ENOMEM;
	r->db = db;
	r->borrowed = r->begun = true;
	db_stmts_init(&r->stmts, db, sql, R_STMTS);
	return NW_OK;
}

void
store_reader_close(struct store_reader *r)
{
	if (r == NULL)
		return;
	db_stmts_clear(&r->stmts);
	if (!r->borrowed)
		sqlite3_close(r->db);
	tail_free(r->tail);
	chunk_codec_free(r->codec);
	chunk_rows_clear(&r->decoded);
	columns_clear(&r->fresh);
	columns_clear(&r->merged);
	columns_piece_clear(&r->piece);
	free(r->value);
	free(r->hist);
	free(r->hist_len);
	cache_free(r->cache);
	document_codec_free(r->documents);
	original_codec_free(r->originals);
	event_codec_free(r->events);
	free(r->cached);
	free(r);
}

/* --- snapshots --- */

static int
snapshot_begin(struct store_reader *r)
{
	int rc;

	/* the last snapshot could not be ended, for want of memory */
	if (!sqlite3_get_autocommit(r->db))
		db_run(&r->stmts, R_END, "");
	if ((rc = db_run(&r->stmts, R_BEGIN, "")) == NW_OK &&
	    (rc = db_run(&r->stmts, R_PIN, "")) != NW_OK)
		db_run(&r->stmts, R_END, "");
	return rc;
}

int
store_reader_begin(struct store_reader *r)
{
	int rc;

	if (r->begun || r->in_rows)
		return NW_EINVAL;
	rc = snapshot_begin(r);
	r->begun = rc == NW_OK;
	return rc;
}

void
store_reader_end(struct store_reader *r)
{
	if (r->begun)
		db_run(&r->stmts, R_END, "");
	r->begun = false;
}

int
reader_pin(struct store_reader *r)
{
	return r->begun ? NW_OK : snapshot_begin(r);
}

int
reader_unpin(struct store_reader *r, int rc)
{
	if (!r->begun)
		db_run(&r->stmts, R_END, "");
	return rc;
}

/* --- lists --- */

struct sink {
	void *arg;
	size_t n_rows;
	struct store_reader *reader;
	union {
		store_host_fn *host;
		store_xsp_fn *xsp;
		store_session_fn *session;
		store_meta_fn *meta;
		store_layout_fn *layout;
		store_provider_fn *provider;
		store_keeplist_fn *keeplist;
		store_diet_fn *diet;
		store_note_fn *note;
		store_test_fn *test;
		store_test_pair_fn *test_pair;
		store_beside_fn *beside;
		store_setting_fn *setting;
		store_move_fn *move;
		store_route_fn *route;
		store_incident_fn *incident;
		store_acceptance_fn *acceptance;
		store_vouch_fn *vouch;
		store_experiments_fn *experiments;
		store_run_fn *run;
		store_unjudged_fn *unjudged;
	} fn;
};

typedef int row_fn(struct sink *s, sqlite3_stmt *st);

/* Hands each row of a taken statement to the sink, and gives the statement back. */
static int
each(struct store_reader *r, int which, sqlite3_stmt *st, row_fn *row, struct sink *s)
{
	int rc = NW_OK, step = SQLITE_DONE;

	s->reader = r;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		s->n_rows++;
		rc = row(s, st);
	}
	db_give(&r->stmts, which, st);
	if (rc != NW_OK)
		return rc > 0 ? NW_OK : rc;
	return db_code(step);
}

static const char *
text(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

static double
real(sqlite3_stmt *st, int column)
{
	return sqlite3_column_type(st, column) == SQLITE_NULL ? NAN
							      : sqlite3_column_double(st, column);
}

static int
host_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_host_rec h = {
		.id = sqlite3_column_int64(st, 0),
		.name = text(st, 1),
		.info_json = text(st, 2),
		.first_seen_wall_ns = sqlite3_column_int64(st, 3),
		.last_seen_wall_ns = sqlite3_column_int64(st, 4),
	};

	return s->fn.host(s->arg, &h);
}

int
store_hosts(struct store_reader *r, store_host_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.host = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_HOSTS, &st, "");

	return rc == NW_OK ? each(r, R_HOSTS, st, host_row, &s) : rc;
}

int
store_host_get(struct store_reader *r, int64_t id, store_host_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.host = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_HOST, &st, "i", id);

	if (rc == NW_OK)
		rc = each(r, R_HOST, st, host_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

int
store_host_named(struct store_reader *r, const char *name, store_host_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.host = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_HOST_NAMED, &st, "t", name);

	if (rc == NW_OK)
		rc = each(r, R_HOST_NAMED, st, host_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

static int
provider_row(struct sink *s, sqlite3_stmt *st)
{
	return s->fn.provider(
	    s->arg, text(st, 0), text(st, 1), (uint64_t)sqlite3_column_int64(st, 2));
}

int
store_providers(struct store_reader *r, store_provider_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.provider = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_PROVIDERS, &st, "");

	return rc == NW_OK ? each(r, R_PROVIDERS, st, provider_row, &s) : rc;
}

static int
diet_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_diet_rec rec = { .id = sqlite3_column_int64(st, 0),
		.host_id = sqlite3_column_int64(st, 1),
		.group = text(st, 2),
		.made_wall_ns = sqlite3_column_int64(st, 3),
		.accepted_wall_ns = sqlite3_column_int64(st, 4),
		.ended_wall_ns = sqlite3_column_int64(st, 5),
		.carried_wall_ns = sqlite3_column_int64(st, 6),
		.json = text(st, 7) };

	return s->fn.diet(s->arg, &rec);
}

int
store_diets(struct store_reader *r, int64_t host_id, store_diet_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.diet = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_DIETS, &st, "i", host_id);

	return rc == NW_OK ? each(r, R_DIETS, st, diet_row, &s) : rc;
}

int
store_diet_seen(struct store_reader *r, int64_t host_id, store_diet_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.diet = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_DIET_SEEN, &st, "i", host_id);

	if (rc == NW_OK)
		rc = each(r, R_DIET_SEEN, st, diet_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

int
store_chunk_size(struct store_reader *r, int64_t layout_id, int64_t from_wall_ns, int64_t *n_rows,
    int64_t *n_bytes)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_CHUNK_SIZE, &st, "ii", layout_id, from_wall_ns), step;

	*n_rows = *n_bytes = 0;
	if (rc != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		*n_rows = sqlite3_column_int64(st, 0);
		*n_bytes = sqlite3_column_int64(st, 1);
	}
	rc = db_code(step);
	db_give(&r->stmts, R_CHUNK_SIZE, st);
	return rc;
}

int
store_rows_count(struct store_reader *r, int64_t layout_id, int64_t t0_wall_ns, int64_t t1_wall_ns,
    int64_t *n_rows)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ROWS_COUNT, &st, "iii", layout_id, t0_wall_ns, t1_wall_ns),
	    step;

	*n_rows = 0;
	if (rc != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		*n_rows = sqlite3_column_int64(st, 0);
	rc = db_code(step);
	db_give(&r->stmts, R_ROWS_COUNT, st);
	return rc;
}

static int
keeplist_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_keeplist_rec rec = { .route = text(st, 0),
		.program = text(st, 1),
		.response = text(st, 2),
		.made_wall_ns = sqlite3_column_int64(st, 3),
		.took_ns = sqlite3_column_int64(st, 4),
		.headline = sqlite3_column_int(st, 5) != 0,
		.sentence = text(st, 6),
		.json = text(st, 7) };

	return s->fn.keeplist(s->arg, &rec);
}

int
store_keeplists(struct store_reader *r, store_keeplist_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.keeplist = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_KEEPLISTS, &st, "");

	return rc == NW_OK ? each(r, R_KEEPLISTS, st, keeplist_row, &s) : rc;
}

static int
setting_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_setting_rec rec = { .host_id = sqlite3_column_int64(st, 0),
		.t_wall_ns = sqlite3_column_int64(st, 1),
		.name = text(st, 2),
		.value = text(st, 3),
		.before = text(st, 4),
		.first = sqlite3_column_int(st, 5) != 0 };

	return s->fn.setting(s->arg, &rec);
}

int
store_config_at(
    struct store_reader *r, int64_t host_id, int64_t t_wall_ns, store_setting_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.setting = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_CONFIG_AT, &st, "ii", host_id, t_wall_ns);

	return rc == NW_OK ? each(r, R_CONFIG_AT, st, setting_row, &s) : rc;
}

int
store_config_changes(struct store_reader *r, int64_t host_id, int64_t from_wall_ns,
    int64_t to_wall_ns, store_setting_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.setting = fn };
	sqlite3_stmt *st;
	int rc =
	    db_take(&r->stmts, R_CONFIG_CHANGES, &st, "iii", host_id, from_wall_ns, to_wall_ns);

	return rc == NW_OK ? each(r, R_CONFIG_CHANGES, st, setting_row, &s) : rc;
}

int
store_config_again(struct store_reader *r, int64_t host_id, int64_t from_wall_ns,
    int64_t to_wall_ns, store_setting_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.setting = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_CONFIG_AGAIN, &st, "iii", host_id, from_wall_ns, to_wall_ns);

	return rc == NW_OK ? each(r, R_CONFIG_AGAIN, st, setting_row, &s) : rc;
}

/* The document of the row, on loan until the next one; NULL without a document. */
static int
document_of(struct store_reader *r, sqlite3_stmt *st, int column, const char **json)
{
	struct document_parts p = { sqlite3_column_blob(st, column),
		sqlite3_column_blob(st, column + 1), (size_t)sqlite3_column_bytes(st, column),
		(size_t)sqlite3_column_bytes(st, column + 1) };
	size_t len;

	*json = NULL;
	if (sqlite3_column_type(st, column) == SQLITE_NULL)
		return NW_OK;
	if (r->documents == NULL && (r->documents = document_codec_new()) == NULL)
		return NW_ENOMEM;
	return document_unpack(r->documents, &p, json, &len);
}

static int
route_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_route_rec rec = { .route = text(st, 0),
		.program = text(st, 1),
		.made_wall_ns = sqlite3_column_int64(st, 2),
		.n_sessions = sqlite3_column_int64(st, 3),
		.newest_session_id = sqlite3_column_int64(st, 4),
		.bytes_per_s = real(st, 5),
		.stage = text(st, 6),
		.sentence = text(st, 7),
		.json = text(st, 8) };

	return s->fn.route(s->arg, &rec);
}

int
store_routes(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.route = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ROUTES, &st, "i", (int64_t)limit);

	return rc == NW_OK ? each(r, R_ROUTES, st, route_row, &s) : rc;
}

int
store_route_get(
    struct store_reader *r, const char *route, const char *program, store_route_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.route = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ROUTE, &st, "tt", route, program);

	if (rc == NW_OK)
		rc = each(r, R_ROUTE, st, route_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

static int
route_name_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_route_rec rec = {
		.route = text(st, 0), .program = text(st, 1), .bytes_per_s = NAN
	};

	return s->fn.route(s->arg, &rec);
}

int
store_routes_lacking(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.route = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ROUTES_LACKING, &st, "i", (int64_t)limit);

	return rc == NW_OK ? each(r, R_ROUTES_LACKING, st, route_name_row, &s) : rc;
}

int
store_routes_stale(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.route = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ROUTES_STALE, &st, "i", (int64_t)limit);

	return rc == NW_OK ? each(r, R_ROUTES_STALE, st, route_name_row, &s) : rc;
}

static int
incident_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_incident_rec rec = { .route = text(st, 0),
		.program = text(st, 1),
		.session_id = sqlite3_column_int64(st, 2),
		.kind = text(st, 3),
		.state = text(st, 4),
		.begin_wall_ns = sqlite3_column_int64(st, 5),
		.end_wall_ns = sqlite3_column_int64(st, 6),
		.json = text(st, 7),
		.from_wall_ns = sqlite3_column_int64(st, 8),
		.to_wall_ns = sqlite3_column_int64(st, 9),
		.sessions = text(st, 10) };

	return s->fn.incident(s->arg, &rec);
}

int
store_incidents(struct store_reader *r, const struct nw_incident_select *select,
    store_incident_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.incident = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_INCIDENTS, &st, "tttiiii", select->route, select->program,
	    select->state, select->since_wall_ns,
	    select->before_wall_ns != 0 ? select->before_wall_ns : INT64_MAX, select->session_id,
	    (int64_t)select->limit);

	return rc == NW_OK ? each(r, R_INCIDENTS, st, incident_row, &s) : rc;
}

static int
vouch_row(struct sink *s, sqlite3_stmt *st)
{
	const struct nw_vouch_rec rec = { .route = text(st, 0),
		.program = text(st, 1),
		.spoke = sqlite3_column_int(st, 2) != 0,
		.fell = sqlite3_column_int(st, 3) != 0 };

	return s->fn.vouch(s->arg, &rec);
}

int
store_vouching(struct store_reader *r, const char *from_host, const char *to_host,
    const struct nw_incident_rec *of, store_vouch_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.vouch = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_VOUCHING, &st, "ttiii", from_host, to_host, of->session_id,
	    of->from_wall_ns, of->to_wall_ns);

	return rc == NW_OK ? each(r, R_VOUCHING, st, vouch_row, &s) : rc;
}

static int
experiments_row(struct sink *s, sqlite3_stmt *st)
{
	return s->fn.experiments(s->arg, sqlite3_column_int64(st, 0), text(st, 1));
}

int
store_experiments(struct store_reader *r, store_experiments_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.experiments = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_EXPERIMENTS, &st, "");

	return rc == NW_OK ? each(r, R_EXPERIMENTS, st, experiments_row, &s) : rc;
}

static int
acceptance_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_acceptance_rec rec = { .route = text(st, 0),
		.program = text(st, 1),
		.session_id = sqlite3_column_int64(st, 2),
		.t_wall_ns = sqlite3_column_int64(st, 3),
		.who = text(st, 4),
		.why = text(st, 5) };

	return s->fn.acceptance(s->arg, &rec);
}

int
store_acceptances(struct store_reader *r, const char *route, const char *program,
    store_acceptance_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.acceptance = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_ACCEPTANCES, &st, "tt", route, program);

	return rc == NW_OK ? each(r, R_ACCEPTANCES, st, acceptance_row, &s) : rc;
}

/* --- active tests --- */

static void
test_text(char *out, size_t size, sqlite3_stmt *st, int column)
{
	const char *t = text(st, column);

	snprintf(out, size, "%s", t != NULL ? t : "");
}

static int
test_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_active_test t = { .id = sqlite3_column_int64(st, 11),
		.start_wall_ns = sqlite3_column_int64(st, 5),
		.end_wall_ns = sqlite3_column_int64(st, 6),
		.succeeded = sqlite3_column_int(st, 7) != 0 };
	json_t *fields;
	const json_t *v;
	int i;

	if (text(st, 1) == NULL || !nw_test_kind_read(text(st, 1), &t.kind))
		return 0; /* a later version knows the kind */
	test_text(t.run, sizeof(t.run), st, 0);
	test_text(t.tool, sizeof(t.tool), st, 2);
	test_text(t.src, sizeof(t.src), st, 3);
	test_text(t.dst, sizeof(t.dst), st, 4);
	test_text(t.error, sizeof(t.error), st, 8);
	fields = json_loads(text(st, 9) != NULL ? text(st, 9) : "{}", 0, NULL);
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++) {
		v = json_object_get(fields, nw_test_field_name((enum nw_test_field)i));
		t.value[i] = json_is_number(v) ? json_number_value(v) : NAN;
	}
	json_decref(fields);
	t.details = (char *)(uintptr_t)text(st, 10);
	return s->fn.test(s->arg, &t);
}

int
store_tests_between(struct store_reader *r, const char *src_host, const char *dst_host,
    int64_t from_wall_ns, int64_t to_wall_ns, size_t limit, store_test_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.test = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_TESTS_BETWEEN, &st, "ttiii", src_host, dst_host, from_wall_ns,
	    to_wall_ns, (int64_t)limit);

	return rc == NW_OK ? each(r, R_TESTS_BETWEEN, st, test_row, &s) : rc;
}

int
store_tests_after(struct store_reader *r, int64_t id, size_t limit, store_test_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.test = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_TESTS_AFTER, &st, "ii", id, (int64_t)limit);

	return rc == NW_OK ? each(r, R_TESTS_AFTER, st, test_row, &s) : rc;
}

static int
beside_row(struct sink *s, sqlite3_stmt *st)
{
	const char *owner = text(st, 1);
	const struct nw_beside_rec rec = { .session_id = sqlite3_column_int64(st, 0),
		.owner = owner != NULL ? owner : "",
		.route = text(st, 2),
		.start_wall_ns = sqlite3_column_int64(st, 3),
		.end_wall_ns = sqlite3_column_int64(st, 4) };

	return s->fn.beside(s->arg, &rec);
}

int
store_sessions_beside(struct store_reader *r, const struct nw_active_test *test, int64_t apart_ns,
    size_t limit, store_beside_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.beside = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSIONS_BESIDE, &st, "ttiii", test->src, test->dst,
	    test->start_wall_ns - apart_ns, test->end_wall_ns + apart_ns, (int64_t)limit);

	return rc == NW_OK ? each(r, R_SESSIONS_BESIDE, st, beside_row, &s) : rc;
}

static int
test_pair_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_test_pair_rec rec = { .src = text(st, 0),
		.dst = text(st, 1),
		.tool = text(st, 2),
		.n = sqlite3_column_int64(st, 4),
		.newest_wall_ns = sqlite3_column_int64(st, 5) };

	return nw_test_kind_read(text(st, 3), &rec.kind) ? s->fn.test_pair(s->arg, &rec) : 0;
}

int
store_test_pairs(struct store_reader *r, size_t limit, store_test_pair_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.test_pair = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_TEST_PAIRS, &st, "i", (int64_t)limit);

	return rc == NW_OK ? each(r, R_TEST_PAIRS, st, test_pair_row, &s) : rc;
}

int
store_tests_of_pair(struct store_reader *r, const struct nw_test_pair_rec *pair,
    int64_t from_wall_ns, int64_t to_wall_ns, size_t limit, store_test_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.test = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_TESTS_OF_PAIR, &st, "ttttiii", pair->src, pair->dst,
	    nw_test_kind_name(pair->kind), pair->tool, from_wall_ns, to_wall_ns, (int64_t)limit);

	return rc == NW_OK ? each(r, R_TESTS_OF_PAIR, st, test_row, &s) : rc;
}

static int
session_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_session_rec rec = {
		.id = sqlite3_column_int64(st, 0),
		.task_id = text(st, 1),
		.program = text(st, 2),
		.opened_wall_ns = sqlite3_column_int64(st, 3),
		.closed_wall_ns = sqlite3_column_int64(st, 4),
		.last_data_wall_ns = sqlite3_column_int64(st, 5),
		.pinned = sqlite3_column_int(st, 23) != 0,
		.announced = sqlite3_column_int(st, 25) != 0,
	};
	struct nw_result_rec res = {
		.session_id = sqlite3_column_int64(st, 6),
		.run_id = sqlite3_column_int64(st, 7),
		.route = text(st, 8),
		.program = text(st, 9),
		.stage = text(st, 10),
		.sentence = text(st, 11),
		.bytes = real(st, 12),
		.bytes_per_s = real(st, 13),
		.start_wall_ns = sqlite3_column_int64(st, 14),
		.duration_ns = sqlite3_column_int64(st, 15),
		.confidence = text(st, 16),
		.effect = real(st, 17),
		.usual = real(st, 18),
		.label = text(st, 19),
		.exit_status = real(st, 20),
		.imported = sqlite3_column_int(st, 24) != 0,
	};
	int rc = document_of(s->reader, st, 21, &res.json);

	if (rc != NW_OK)
		return rc;
	return s->fn.session(s->arg, &rec, sqlite3_column_type(st, 6) == SQLITE_NULL ? NULL : &res);
}

int
store_sessions(
    struct store_reader *r, int64_t before_id, size_t limit, store_session_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.session = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSIONS, &st, "ii", before_id > 0 ? before_id : INT64_MAX,
	    limit > INT64_MAX ? INT64_MAX : (int64_t)limit);

	return rc == NW_OK ? each(r, R_SESSIONS, st, session_row, &s) : rc;
}

int
store_sessions_during(struct store_reader *r, int64_t before_id, size_t limit, int64_t from_wall_ns,
    int64_t to_wall_ns, int64_t *id, size_t max, size_t *n)
{
	sqlite3_stmt *st;
	int step = SQLITE_DONE, rc;

	*n = 0;
	if ((rc = db_take(&r->stmts, R_SESSIONS_DURING, &st, "iiiii", before_id, (int64_t)limit,
		 from_wall_ns, to_wall_ns, (int64_t)max)) != NW_OK)
		return rc;
	while (*n < max && (step = sqlite3_step(st)) == SQLITE_ROW)
		id[(*n)++] = sqlite3_column_int64(st, 0);
	db_give(&r->stmts, R_SESSIONS_DURING, st);
	return *n == max ? NW_OK : db_code(step);
}

static int
unjudged_row(struct sink *s, sqlite3_stmt *st)
{
	const char *owner = text(st, 1);

	return s->fn.unjudged(s->arg, sqlite3_column_int64(st, 0), owner != NULL ? owner : "");
}

int
store_sessions_unjudged(
    struct store_reader *r, int64_t linger_ns, size_t limit, store_unjudged_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.unjudged = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_UNJUDGED, &st, "ii", linger_ns, (int64_t)limit);

	return rc == NW_OK ? each(r, R_UNJUDGED, st, unjudged_row, &s) : rc;
}

int
store_sessions_after(
    struct store_reader *r, int64_t after_id, size_t limit, store_session_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.session = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSIONS_AFTER, &st, "ii", after_id, (int64_t)limit);

	return rc == NW_OK ? each(r, R_SESSIONS_AFTER, st, session_row, &s) : rc;
}

int
store_data_version(struct store_reader *r, int64_t *version)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_DATA_VERSION, &st, ""), step;

	if (rc != NW_OK)
		return rc;
	*version = (step = sqlite3_step(st)) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = db_code(step);
	db_give(&r->stmts, R_DATA_VERSION, st);
	return rc;
}

int
store_sessions_of_route(struct store_reader *r, const char *route, const char *program,
    int64_t before_wall_ns, size_t limit, store_session_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.session = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSIONS_OF_ROUTE, &st, "ttii", route, program,
	    before_wall_ns, (int64_t)limit);

	return rc == NW_OK ? each(r, R_SESSIONS_OF_ROUTE, st, session_row, &s) : rc;
}

int
store_session_get(struct store_reader *r, int64_t id, store_session_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.session = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSION, &st, "i", id);

	if (rc == NW_OK)
		rc = each(r, R_SESSION, st, session_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

int
store_result_stamp(struct store_reader *r, int64_t session_id, uint64_t *stamp)
{
	uint64_t hash[2] = { 0 };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_RESULT_STAMP, &st, "i", session_id), step, i;

	if (rc != NW_OK)
		return rc;
	step = sqlite3_step(st);
	for (i = 0; step == SQLITE_ROW && i < 2; i++)
		if (sqlite3_column_type(st, i) != SQLITE_NULL)
			hash[i] = hash_bytes(sqlite3_column_blob(st, i),
				      (size_t)sqlite3_column_bytes(st, i)) ^
			    (uint64_t)sqlite3_column_bytes(st, i) << 40;
	db_give(&r->stmts, R_RESULT_STAMP, st);
	*stamp = hash_bytes((const uint8_t *)hash, sizeof(hash));
	return step == SQLITE_DONE ? NW_ENOTFOUND : db_code(step);
}

int
store_session_last(struct store_reader *r, int64_t *id)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SESSION_LAST, &st, ""), step;

	if (rc != NW_OK)
		return rc;
	*id = (step = sqlite3_step(st)) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = db_code(step);
	db_give(&r->stmts, R_SESSION_LAST, st);
	return rc == NW_OK && *id == 0 ? NW_ENOTFOUND : rc;
}

static int
xsp_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_xsp_rec x = {
		.id = sqlite3_column_int64(st, 0),
		.host_id = sqlite3_column_int64(st, 1),
		.session_id = sqlite3_column_int64(st, 2),
		.sess_id_hex = text(st, 3),
		.peer = text(st, 4),
		.software = text(st, 5),
		.provider = text(st, 6),
		.opened_wall_ns = sqlite3_column_int64(st, 7),
		.closed_wall_ns = sqlite3_column_int64(st, 8),
		.docs = (uint64_t)sqlite3_column_int64(st, 9),
		.samples = (uint64_t)sqlite3_column_int64(st, 10),
		.rejected = (uint64_t)sqlite3_column_int64(st, 11),
		.bytes = (uint64_t)sqlite3_column_int64(st, 12),
		.dropped = (uint64_t)sqlite3_column_int64(st, 13),
		.end_reason = text(st, 14),
		.owner = text(st, 15),
		.addresses = text(st, 16),
	};

	return s->fn.xsp(s->arg, &x);
}

int
store_xsp_of_session(struct store_reader *r, int64_t session_id, store_xsp_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.xsp = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_XSP, &st, "i", session_id);

	return rc == NW_OK ? each(r, R_XSP, st, xsp_row, &s) : rc;
}

int
store_xsp_of_host(
    struct store_reader *r, int64_t host_id, size_t limit, store_xsp_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.xsp = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_XSP_OF_HOST, &st, "ii", host_id, (int64_t)limit);

	return rc == NW_OK ? each(r, R_XSP_OF_HOST, st, xsp_row, &s) : rc;
}

static int
host_use_row(struct sink *s, sqlite3_stmt *st)
{
	*(struct nw_host_use *)s->arg = (struct nw_host_use){
		.n_connections = sqlite3_column_int64(st, 0),
		.n_open = sqlite3_column_int64(st, 1),
		.n_sessions = sqlite3_column_int64(st, 2),
		.newest_session_id = sqlite3_column_int64(st, 3),
		.last_wall_ns = sqlite3_column_int64(st, 4),
	};
	return 0;
}

int
store_host_use(struct store_reader *r, int64_t host_id, size_t limit, struct nw_host_use *out)
{
	struct sink s = { .arg = out };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_HOST_USE, &st, "ii", host_id, (int64_t)limit);

	return rc == NW_OK ? each(r, R_HOST_USE, st, host_use_row, &s) : rc;
}

int
store_xsp_get(struct store_reader *r, int64_t id, store_xsp_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.xsp = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_XSP_ONE, &st, "i", id);

	if (rc == NW_OK)
		rc = each(r, R_XSP_ONE, st, xsp_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

static int
run_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_run_rec run = {
		.id = sqlite3_column_int64(st, 0),
		.session_id = sqlite3_column_int64(st, 1),
		.kind = text(st, 2),
		.started_wall_ns = sqlite3_column_int64(st, 3),
		.took_ns = sqlite3_column_int64(st, 4),
		.version = text(st, 5),
		.outcome = text(st, 6),
		.replaced_wall_ns = sqlite3_column_int64(st, 7),
		.why = text(st, 8),
		.stage = text(st, 9),
		.sentence = text(st, 10),
		.bytes_per_s = sqlite3_column_type(st, 11) == SQLITE_NULL
		    ? NAN
		    : sqlite3_column_double(st, 11),
	};

	return s->fn.run(s->arg, &run);
}

static int
note_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_note_rec note = {
		.id = sqlite3_column_int64(st, 0),
		.session_id = sqlite3_column_int64(st, 1),
		.t_wall_ns = sqlite3_column_int64(st, 2),
		.line = text(st, 3),
		.point = text(st, 4),
		.text = text(st, 5),
		.made_wall_ns = sqlite3_column_int64(st, 6),
	};

	return s->fn.note(s->arg, &note);
}

static int
count_row(struct sink *s, sqlite3_stmt *st)
{
	*(uint64_t *)s->arg = (uint64_t)sqlite3_column_int64(st, 0);
	return 0;
}

int
store_incidents_open(struct store_reader *r, uint64_t *n)
{
	struct sink s = { .arg = n };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_INCIDENTS_OPEN, &st, "");

	return rc == NW_OK ? each(r, R_INCIDENTS_OPEN, st, count_row, &s) : rc;
}

int
store_notes_count(struct store_reader *r, const char *line, const char *point, uint64_t *n)
{
	struct sink s = { .arg = n };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_NOTES_COUNT, &st, "tt", line, point);

	return rc == NW_OK ? each(r, R_NOTES_COUNT, st, count_row, &s) : rc;
}

static int
move_row(struct sink *s, sqlite3_stmt *st)
{
	return s->fn.move(s->arg, sqlite3_column_int64(st, 0));
}

int
store_config_moves(
    struct store_reader *r, const char *name, int64_t to_wall_ns, store_move_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.move = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_CONFIG_MOVES, &st, "ti", name, to_wall_ns);

	return rc == NW_OK ? each(r, R_CONFIG_MOVES, st, move_row, &s) : rc;
}

int
store_notes(struct store_reader *r, int64_t session_id, store_note_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.note = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_NOTES, &st, "i", session_id);

	return rc == NW_OK ? each(r, R_NOTES, st, note_row, &s) : rc;
}

int
store_notes_of_route(
    struct store_reader *r, const char *route, const char *program, store_note_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.note = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_NOTES_OF_ROUTE, &st, "tt", route, program);

	return rc == NW_OK ? each(r, R_NOTES_OF_ROUTE, st, note_row, &s) : rc;
}

int
store_runs(struct store_reader *r, int64_t session_id, store_run_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.run = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_RUNS, &st, "i", session_id);

	return rc == NW_OK ? each(r, R_RUNS, st, run_row, &s) : rc;
}

/* Metadata as received, on loan until the next call; NULL of metadata made by the box. */
static int
original_of(struct store_reader *r, sqlite3_stmt *st, struct original_bytes *out)
{
	const struct original_bytes in = { sqlite3_column_blob(st, ORIGINAL_COLUMN),
		(size_t)sqlite3_column_bytes(st, ORIGINAL_COLUMN) };

	if (r->originals == NULL && (r->originals = original_codec_new()) == NULL)
		return NW_ENOMEM;
	return original_unpack(r->originals, in, out);
}

static int
meta_row(struct sink *s, sqlite3_stmt *st)
{
	struct original_bytes raw;
	struct nw_meta_rec m = {
		.id = sqlite3_column_int64(st, 0),
		.session_id = sqlite3_column_int64(st, 1),
		.host_id = sqlite3_column_int64(st, 2),
		.xsp_id = sqlite3_column_int64(st, 3),
		.mid = text(st, 4),
		.pid = text(st, 5),
		.event_type = text(st, 6),
		.subject_json = text(st, 7),
		.params_json = text(st, 8),
		.first_wall_ns = sqlite3_column_int64(st, 9),
	};
	int rc;

	if (sqlite3_column_count(st) > ORIGINAL_COLUMN) {
		if ((rc = original_of(s->reader, st, &raw)) != NW_OK)
			return rc;
		m.raw = raw.bytes;
		m.raw_len = raw.len;
	}
	return s->fn.meta(s->arg, &m);
}

int
store_meta_last(struct store_reader *r, int64_t *id)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_META_LAST, &st, ""), step;

	if (rc != NW_OK)
		return rc;
	*id = (step = sqlite3_step(st)) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = db_code(step);
	db_give(&r->stmts, R_META_LAST, st);
	return rc;
}

int
store_metas_between(struct store_reader *r, int64_t after_id, int64_t last_id,
    const char *event_prefix, store_meta_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .reader = r, .fn.meta = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_METAS_BETWEEN, &st, "tii", event_prefix, after_id, last_id);

	return rc == NW_OK ? each(r, R_METAS_BETWEEN, st, meta_row, &s) : rc;
}

int
store_meta_get(struct store_reader *r, int64_t id, store_meta_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .reader = r, .fn.meta = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_META, &st, "i", id);

	if (rc == NW_OK)
		rc = each(r, R_META, st, meta_row, &s);
	return rc == NW_OK && s.n_rows == 0 ? NW_ENOTFOUND : rc;
}

int
store_metas(struct store_reader *r, int64_t session_id, int64_t host_id, const char *event_prefix,
    store_meta_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .reader = r, .fn.meta = fn };
	const char *prefix = event_prefix == NULL ? "" : event_prefix;
	sqlite3_stmt *st;
	int which, rc;

	which = session_id > 0 ? R_METAS_OF_SESSION
	    : host_id > 0      ? R_METAS_OF_HOST
			       : R_METAS_OF_HOSTS;
	if (which == R_METAS_OF_HOSTS)
		rc = db_take(&r->stmts, which, &st, "t", prefix);
	else
		rc = db_take(
		    &r->stmts, which, &st, "ti", prefix, session_id > 0 ? session_id : host_id);
	return rc == NW_OK ? each(r, which, st, meta_row, &s) : rc;
}

/* Splits an array of names without an escape, ["a","b"]. `bytes` has room for the text, `names` for
 * a third of the text's length. */
static bool
names_split(const char *json, const char **names, char *bytes, size_t *n)
{
	size_t len;

	if (json[0] != '[' || strchr(json, '\\') != NULL)
		return false;
	for (json++; *json == '"'; json += len + (json[len] == ',')) {
		len = strcspn(++json, "\"");
		if (json[len] == '\0')
			return false;
		names[(*n)++] = memcpy(bytes, json, len);
		bytes[len] = '\0';
		bytes += len + 1;
		len++;
	}
	return strcmp(json, "]") == 0 && *n > 0 && json[-1] != ',';
}

/* Reads the names of a JSON array into one allocation with the pointers in front. NULL with *rc. */
static const char **
names_new(struct store_reader *r, const char *json, size_t *n, int *rc)
{
	size_t room = json == NULL ? 0 : strlen(json), n_max = room / 3 + 1, at = 0, len;
	const char **names = calloc(1, n_max * sizeof(*names) + room + 1);
	sqlite3_stmt *st;
	const char *name;
	char *bytes;
	int step = SQLITE_DONE;

	*n = 0;
	if (names == NULL) {
		*rc = NW_ENOMEM;
		return NULL;
	}
	bytes = (char *)(names + n_max);
	if (json != NULL && names_split(json, names, bytes, n)) {
		*rc = NW_OK;
		return names;
	}
	*n = 0;
	if ((*rc = db_take(&r->stmts, R_FIELDS, &st, "t", json)) == NW_OK) {
		/* A name is shorter than its quoted form, so all names fit, except in a file with
		 * false contents. */
		while ((step = sqlite3_step(st)) == SQLITE_ROW && *n < n_max) {
			if ((name = text(st, 0)) == NULL || (len = strlen(name)) >= room + 1 - at)
				break;
			names[(*n)++] = memcpy(bytes + at, name, len + 1);
			at += len + 1;
		}
		*rc = step == SQLITE_DONE ? NW_OK
		    : step == SQLITE_ROW  ? NW_ECORRUPT
					  : db_code(step);
		db_give(&r->stmts, R_FIELDS, st);
	}
	if (*rc != NW_OK) {
		free(names);
		return NULL;
	}
	return names;
}

static int
layout_row(struct sink *s, sqlite3_stmt *st)
{
	struct nw_layout_rec l = { .id = sqlite3_column_int64(st, 0),
		.meta_id = sqlite3_column_int64(st, 1) };
	const char **names;
	int rc;

	if ((names = names_new(s->reader, text(st, 2), &l.n_fields, &rc)) == NULL)
		return rc;
	l.fields = names;
	rc = s->fn.layout(s->arg, &l);
	free(names);
	return rc;
}

int
store_layouts(struct store_reader *r, int64_t meta_id, store_layout_fn *fn, void *arg)
{
	struct sink s = { .arg = arg, .fn.layout = fn };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_LAYOUTS, &st, "i", meta_id);

	return rc == NW_OK ? each(r, R_LAYOUTS, st, layout_row, &s) : rc;
}

int
store_unit(struct store_reader *r, int64_t meta_id, const char *field, char *buf, size_t size)
{
	sqlite3_stmt *st;
	const char *unit = NULL;
	int rc, step;

	if ((rc = db_take(&r->stmts, R_UNIT, &st, "it", meta_id, field)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		unit = text(st, 0);
	snprintf(buf, size, "%s", unit == NULL || strlen(unit) >= size ? "" : unit);
	db_give(&r->stmts, R_UNIT, st);
	return db_code(step);
}
