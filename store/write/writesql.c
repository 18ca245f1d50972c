/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/writesql.h"

#include "narrows/store.h"

/* True of metadata m and a chunk or roll-up c if no pinned session needs c, neither as its own data
 * nor as data of its hosts from its time. */
#define UNPINNED                                                                              \
	"NOT EXISTS (SELECT 1 FROM session p WHERE p.pinned AND (p.id = m.session_id OR "     \
	"(m.session_id IS NULL"                                                               \
	" AND p.opened_ns <= c.t1_ns AND coalesce(p.closed_ns, c.t0_ns) >= c.t0_ns"           \
	" AND EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = p.id AND x.host_id = " \
	"m.host_id))))"
#define OLDEST(table, index)                                                                   \
	"SELECT c.id, c.t1_ns, c.layout_id, coalesce(m.first_ns, 0) < ?3"                      \
	" AND (?5 < 0 OR coalesce(m.host_id, 0) = ?5) AND " UNPINNED " FROM " table            \
	" c INDEXED BY " index                                                                 \
	" CROSS JOIN layout l ON l.id = c.layout_id CROSS JOIN metadata m ON m.id = l.meta_id" \
	" WHERE (c.t1_ns, c.id) > (?1, ?2) AND c.t1_ns < ?3"
/* The oldest row of events, except of pinned sessions and their hosts. */
#define EVENT_OLDEST                                                                  \
	"SELECT c.id, c.host_id FROM event_chunk c JOIN event_chunk m ON m.id = c.id" \
	" WHERE c.stored_ns < ?1 AND " UNPINNED
/* The oldest result of a host with that column, except of pinned sessions. */
#define RESULT_OLDEST(column)                                              \
	"SELECT r.session_id FROM result r INDEXED BY result_with_" column \
	" JOIN session s ON s.id = r.session_id WHERE r." column           \
	" IS NOT NULL AND r.host_id = ?1 AND NOT s.pinned ORDER BY r.session_id LIMIT 1"
#define HOST_OF(table)                                                                     \
	"(SELECT coalesce(m.host_id, 0) FROM layout l JOIN metadata m ON m.id = l.meta_id" \
	" WHERE l.id = " table ".layout_id)"
#define LAYOUTS_OF \
	"(SELECT l.id FROM metadata m JOIN layout l ON l.meta_id = m.id WHERE m.session_id = ?)"
#define OF_KEY "layout_id = ?1 / 4 AND tier = ?1 % 4"
_Static_assert(STORE_TIERS == 4, "the keys of roll-ups");

/* The set of field names equal to a text, among the newest with the same length and beginning,
 * which the index has. A set may stand there twice: the search must not take longer for a sender of
 * thousands of sets with one beginning. */
#define FIELDSET_OF(text)                                                         \
	"SELECT id FROM (SELECT id, fields FROM fieldset WHERE length(fields) = " \
	"length(" text ") AND substr(fields, 1, 64) = substr(" text ", 1, 64)"    \
	" ORDER BY id DESC LIMIT 16) WHERE fields = " text " LIMIT 1"

/* Bytes of a metadata with layouts and indices, to be counted for the host. */
#define META_SIZE                                                                         \
	" RETURNING coalesce(host_id, 0), 200 + coalesce(length(raw), 0) +"               \
	" length(CAST(coalesce(mid, '') || coalesce(pid, '') || coalesce(event_type, '')" \
	" || coalesce(subject, '') || coalesce(params, '') AS BLOB))"

/* Bytes of a layout with its names of fields. Layouts with the same names share them in the file,
 * but each of them counts in full. */
#define LAYOUT_SIZE(fields) "64 + length(CAST(" fields " AS BLOB))"
/* Hosts and bytes of the layouts of metadata m. */
#define LAYOUT_SIZES_OF(which)                                                          \
	"SELECT coalesce(m.host_id, 0), sum(" LAYOUT_SIZE(                              \
	    "s.fields") ") FROM metadata m"                                             \
			" JOIN layout l ON l.meta_id = m.id JOIN fieldset s ON s.id = " \
			"l.fieldset_id WHERE " which " = ?1 GROUP BY 1"
/* No layout of metadata m has samples: neither blobs of the tail from `blob` on, nor chunks, nor
 * roll-ups. The newest layout stays. */
#define SAMPLELESS(blob)                                                        \
	"NOT EXISTS (SELECT 1 FROM layout l WHERE l.meta_id = m.id"             \
	" AND (l.tail_after >= " blob " OR l.id = (SELECT max(id) FROM layout)" \
	" OR EXISTS (SELECT 1 FROM chunk c WHERE c.layout_id = l.id)"           \
	" OR EXISTS (SELECT 1 FROM rollup r WHERE r.layout_id = l.id)))"

/* The value of a setting at a time; NULL before the first, and where the setting is gone. */
#define SETTING_AT(host, name_is, at)                                                    \
	"(SELECT v.value FROM config v WHERE v.host_id = " host " AND v.name = " name_is \
	" AND v.t_ns <= " at " ORDER BY v.t_ns DESC LIMIT 1)"

/* What lists of labels know of layout l: metadata, host, session, subject, event type, fields, and
 * whether the metadata has no layout whose id is `other` the id of l. */
#define DESCRIBED(other)                                                                           \
	"SELECT m.id, h.name, m.session_id, m.subject, coalesce(m.event_type, ''), l.fieldset_id," \
	" NOT EXISTS (SELECT 1 FROM layout x WHERE x.meta_id = m.id AND x.id " other " l.id)"      \
	" FROM metadata m JOIN layout l ON l.meta_id = m.id LEFT JOIN host h ON h.id = m.host_id"  \
	" WHERE "
#define COUNTED                                                                           \
	" DO UPDATE SET n = n + excluded.n, first_id = min(first_id, excluded.first_id)," \
	" last_id = max(last_id, excluded.last_id)"

const char *const write_sql[W_STMTS] = {
	[BATCH_HOST] =
	    "INSERT INTO host(id, name, info, first_seen_ns, last_seen_ns) VALUES(?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET name = excluded.name, info = excluded.info,"
	    " first_seen_ns = excluded.first_seen_ns, last_seen_ns = excluded.last_seen_ns",
	[BATCH_XSP] =
	    "INSERT INTO xsp_session(id, host_id, session_id, sess_id, peer, software, provider, "
	    "opened_ns,"
	    " closed_ns, docs, samples, rejected, bytes, dropped, end_reason, owner, "
	    "addresses) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET host_id = excluded.host_id, session_id = "
	    "excluded.session_id,"
	    " sess_id = excluded.sess_id, peer = excluded.peer, software = excluded.software,"
	    " provider = excluded.provider, opened_ns = excluded.opened_ns, closed_ns = "
	    "excluded.closed_ns,"
	    " docs = excluded.docs, samples = excluded.samples, rejected = excluded.rejected, "
	    "bytes = excluded.bytes,"
	    " dropped = excluded.dropped, end_reason = excluded.end_reason, owner = "
	    "excluded.owner, addresses = excluded.addresses",
	[BATCH_SESSION] =
	    "INSERT INTO session(id, task_id, program, opened_ns, closed_ns, last_data_ns)"
	    " VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET task_id = excluded.task_id, "
	    "program = excluded.program,"
	    " opened_ns = excluded.opened_ns, closed_ns = excluded.closed_ns, last_data_ns = "
	    "excluded.last_data_ns",
	[BATCH_META] = "INSERT INTO metadata(id, session_id, host_id, xsp_id, mid, pid, "
		       "event_type, subject, params,"
		       " first_ns, raw) VALUES(?,?,?,?,?,?,?,?,?,?,?)" META_SIZE,
	[BATCH_LAYOUT] = "INSERT INTO layout(id, meta_id, fieldset_id, n_fields)"
			 " VALUES(?1, ?2, (" FIELDSET_OF(
			     "?3") "), ?4)"
				   " RETURNING (SELECT coalesce(m.host_id, 0) FROM metadata m"
				   " WHERE m.id = ?2), " LAYOUT_SIZE("?3"),
	[BATCH_RUN] =
	    "INSERT INTO run(id, session_id, kind, started_ns, took_ns, version, outcome) "
	    "VALUES(?,?,?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET session_id = excluded.session_id, kind = excluded.kind,"
	    " started_ns = excluded.started_ns, took_ns = excluded.took_ns, version = "
	    "excluded.version,"
	    " outcome = excluded.outcome",
	/* ?16 and ?17 are the parts of the document packed by writer.c */
	[BATCH_RESULT] =
	    "INSERT OR REPLACE INTO result(session_id, run_id, route, program, stage, sentence, "
	    "bytes, bytes_per_s, start_ns, duration_ns, confidence, effect, usual, label, "
	    "exit_status, document, timeline, "
	    "host_id) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17, "
	    "coalesce((SELECT "
	    "x.host_id FROM xsp_session x WHERE x.session_id = ?1 ORDER BY x.id LIMIT 1), 0))",
	[BATCH_KEEPLIST] =
	    "INSERT OR REPLACE INTO keeplist(route, program, response, made_ns, took_ns, headline,"
	    " sentence, document) VALUES(?,?,?,?,?,?,?,?)",
	[BATCH_KEEPLISTS_TRIM] = "DELETE FROM keeplist WHERE id IN (SELECT id FROM keeplist"
				 " ORDER BY made_ns DESC, id DESC LIMIT -1 OFFSET ?)",
	[BATCH_DIET] = "INSERT INTO diet(host_id, probe, made_ns, document) VALUES(?,?,?,?)"
		       " ON CONFLICT(host_id, probe) WHERE ended_ns IS NULL DO UPDATE SET made_ns ="
		       " excluded.made_ns, document = excluded.document WHERE accepted_ns IS NULL",
	[BATCH_DIET_TRIM] =
	    "DELETE FROM diet WHERE host_id = ? AND made_ns < ? AND accepted_ns IS NULL"
	    " AND ended_ns IS NULL",
	[BATCH_DIET_ACCEPT] = "UPDATE diet SET accepted_ns = ?2 WHERE id = ?1 AND accepted_ns IS"
			      " NULL AND ended_ns IS NULL",
	[BATCH_DIET_END] = "UPDATE diet SET ended_ns = ?2 WHERE id = ?1 AND ended_ns IS NULL",
	[BATCH_DIET_CARRIED] = "UPDATE diet SET carried_ns = ?2 WHERE id = ?1 AND accepted_ns IS"
			       " NOT NULL AND ended_ns IS NULL AND carried_ns IS NULL",
	[BATCH_DIET_SEEN] = "INSERT OR REPLACE INTO diet_seen(host_id, document) VALUES(?,?)",
	[BATCH_SETTING] = "INSERT OR REPLACE INTO config(host_id, name, t_ns, value)"
			  " SELECT ?1, ?2, ?4, ?3 WHERE " SETTING_AT("?1", "?2", "?4") " IS NOT ?3",
	[BATCH_SETTINGS_GONE] =
	    "INSERT OR REPLACE INTO config(host_id, name, t_ns, value) SELECT ?1, n.name, ?2, NULL"
	    " FROM (SELECT DISTINCT name FROM config WHERE host_id = ?1 AND name >= ?3 AND"
	    " name < ?4) n WHERE " SETTING_AT(
		"?1", "n.name", "?2") " IS NOT NULL"
				      " AND n.name NOT IN (SELECT key FROM json_each(?5))",
	/* deletes an eighth at once, so that a full history is not sorted for every document */
	[BATCH_SETTINGS_TRIM] =
	    "DELETE FROM config WHERE (host_id, name, t_ns) IN (SELECT host_id, name, t_ns FROM"
	    " config c WHERE host_id = ?1 ORDER BY NOT EXISTS (SELECT 1 FROM config l WHERE"
	    " l.host_id = c.host_id AND l.name = c.name AND l.t_ns > c.t_ns), t_ns"
	    " LIMIT (SELECT CASE WHEN count(*) > ?2 THEN count(*) - ?2 + ?2 / 8 ELSE 0 END"
	    " FROM config WHERE host_id = ?1))",
	[BATCH_ROUTE] =
	    "INSERT OR REPLACE INTO route(route, program, made_ns, n_sessions, newest_id, "
	    "bytes_per_s, stage, sentence, document) VALUES(?,?,?,?,?,?,?,?,?)",
	[BATCH_ROUTES_TRIM] = "DELETE FROM route WHERE rowid IN (SELECT rowid FROM route"
			      " ORDER BY n_sessions DESC, newest_id DESC LIMIT -1 OFFSET ?)",
	[BATCH_INCIDENTS_GONE] = "DELETE FROM incident WHERE route = ? AND program = ?",
	[BATCH_INCIDENT] =
	    "INSERT OR REPLACE INTO incident(route, program, session_id, kind, state,"
	    " begin_ns, end_ns, document, from_ns, to_ns, sessions) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[BATCH_EXPERIMENT] =
	    "INSERT OR REPLACE INTO experiment(id, made_ns, document) VALUES(1, ?, ?)",
	[BATCH_KEEP_RESULT] =
	    "UPDATE run SET replaced_ns = ?2, why = ?3, stage = r.stage, sentence = r.sentence,"
	    " bytes_per_s = r.bytes_per_s, document = r.document FROM result r"
	    " WHERE r.session_id = ?1 AND run.id = r.run_id AND run.replaced_ns IS NULL",
	[BATCH_MERGE_META] = "UPDATE metadata SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_XSP] = "UPDATE xsp_session SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_RUN] = "UPDATE run SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_DROP_RESULT] = "DELETE FROM result WHERE session_id = ?1",
	[BATCH_MERGE_PIN] = "UPDATE session SET pinned = 1 WHERE id = ?2 AND EXISTS"
			    " (SELECT 1 FROM session p WHERE p.id = ?1 AND p.pinned)",
	[BATCH_MERGE_SESSION] = "DELETE FROM session WHERE id = ?1",
	[BATCH_PROVIDER] = "INSERT INTO provider(owner, id, stored_seq) VALUES(?,?,?)"
			   " ON CONFLICT(owner, id) DO UPDATE SET stored_seq = max(stored_seq, "
			   "excluded.stored_seq)",
	[W_BEGIN] = "BEGIN IMMEDIATE",
	[W_COMMIT] = "COMMIT",
	[W_ROLLBACK] = "ROLLBACK",
	[W_SAVE] = "SAVEPOINT batch",
	[W_KEEP] = "RELEASE batch",
	[W_UNDO] = "ROLLBACK TO batch",
	[W_FIELDSET_ADD] = "INSERT INTO fieldset(fields) SELECT ?1 WHERE NOT EXISTS"
			   " (" FIELDSET_OF("?1") ")",
	[W_LAYOUT_FIELDS] = "SELECT n_fields FROM layout WHERE id = ?",
	[W_LAYOUT_NAMES] = "SELECT coalesce(m.event_type, '') || ' ' || s.fields || ' ' ||"
			   " coalesce(CASE WHEN json_valid(m.subject) THEN"
			   " json_extract(m.subject, '$.type') END, ''), coalesce(m.host_id, 0)"
			   " FROM layout l JOIN metadata m ON m.id = l.meta_id"
			   " JOIN fieldset s ON s.id = l.fieldset_id WHERE l.id = ?",
	[W_LAYOUT_TAIL_AFTER] = "SELECT tail_after FROM layout WHERE id = ?",
	[W_LAYOUT_MOVED] = "UPDATE layout SET tail_after = ?2 WHERE id = ?1",
	[W_LAYOUTS_OF_SESSION] =
	    "SELECT l.id FROM metadata m JOIN layout l ON l.meta_id = m.id WHERE m.session_id = ?",
	[W_TAIL_ADD] = "INSERT INTO tail(id, rows, sum) VALUES(?,?,?)",
	[W_TAIL_ALL] = "SELECT id, rows FROM tail ORDER BY id",
	[W_TAIL_TRIM] = "DELETE FROM tail WHERE id < ?",
	[W_TAIL_EMPTY] = "UPDATE tail SET rows = x'', sum = NULL WHERE id = ?",
	[W_CHUNK_BEFORE] = "SELECT id, t0_ns, t1_ns FROM chunk WHERE layout_id = ? AND t0_ns <= ?"
			   " ORDER BY t0_ns DESC, t1_ns DESC LIMIT 1",
	[W_CHUNK_AFTER] = "SELECT id, t0_ns, t1_ns FROM chunk WHERE layout_id = ? AND t0_ns > ? "
			  "ORDER BY t0_ns, t1_ns LIMIT 1",
	[W_CHUNK_NEWEST] = "SELECT id, n_rows FROM chunk WHERE layout_id = ? ORDER BY t0_ns DESC, "
			   "t1_ns DESC LIMIT ?",
	[W_CHUNK_DATA] = "SELECT data FROM chunk WHERE id = ?",
	[W_CHUNK_ADD] = "INSERT INTO chunk(layout_id, t0_ns, t1_ns, n_rows, last, data, id) "
			"VALUES(?,?,?,?,?,?,?)",
	[W_CHUNK_DROP] = "DELETE FROM chunk WHERE id = ? RETURNING length(data)",
	[W_ROLLUP_BEFORE] = "SELECT id, t0_ns, t1_ns FROM rollup WHERE " OF_KEY " AND t0_ns <= ?2"
			    " ORDER BY t0_ns DESC, t1_ns DESC LIMIT 1",
	[W_ROLLUP_AFTER] = "SELECT id, t0_ns, t1_ns FROM rollup WHERE " OF_KEY
			   " AND t0_ns > ?2 ORDER BY t0_ns, t1_ns LIMIT 1",
	[W_ROLLUP_NEWEST] = "SELECT id, n_rows FROM rollup WHERE " OF_KEY
			    " ORDER BY t0_ns DESC, t1_ns DESC LIMIT ?2",
	[W_ROLLUP_DATA] = "SELECT data FROM rollup WHERE id = ?",
	[W_ROLLUP_ADD] = "INSERT INTO rollup(layout_id, tier, t0_ns, t1_ns, n_rows, data) "
			 "VALUES(?1 / 4, ?1 % 4, ?2,?3,?4,?5)",
	[W_ROLLUP_DROP] = "DELETE FROM rollup WHERE id = ? RETURNING length(data)",
	[W_CHUNK_OLDEST] = OLDEST("chunk", "chunk_by_age") " ORDER BY c.t1_ns, c.id",
	[W_ROLLUP_OLDEST] =
	    OLDEST("rollup", "rollup_by_age") " AND c.tier = ?4 ORDER BY c.t1_ns, c.id",
	[W_SIZE_ALL] = "SELECT host_id, tier, bytes FROM tier_size",
	[W_SIZE_CHANGE] =
	    "INSERT INTO tier_size(host_id, tier, bytes) VALUES(?,?,?)"
	    " ON CONFLICT(host_id, tier) DO UPDATE SET bytes = bytes + excluded.bytes",
	[W_RESULT_SIZES] = "SELECT host_id, coalesce(length(timeline), 0),"
			   " coalesce(length(document), 0) FROM result WHERE session_id = ?",
	[W_TIMELINE_OLDEST] = RESULT_OLDEST("timeline"),
	[W_TIMELINE_DROP] = "UPDATE result SET timeline = NULL WHERE session_id = ?",
	[W_DOCUMENT_OLDEST] = RESULT_OLDEST("document"),
	[W_DOCUMENT_DROP] =
	    "UPDATE result SET document = NULL, timeline = NULL WHERE session_id = ?",
	/* The host with the most bytes of descriptions, times 2, plus 1 if the bytes are above
	 * 1.5 times the mean. ?1: bytes of a connection and its session. */
	[W_HOST_DESCRIBED] =
	    "WITH host_bytes AS (SELECT host_id, sum(bytes) AS bytes FROM (SELECT host_id,"
	    " ?1 * count(*) AS bytes FROM xsp_session WHERE host_id IS NOT NULL GROUP BY host_id"
	    " UNION ALL SELECT host_id, bytes FROM tier_size WHERE tier = 6) GROUP BY host_id)"
	    " SELECT 2 * host_id + (bytes > 1.5 * (SELECT avg(bytes) FROM host_bytes))"
	    " FROM host_bytes ORDER BY bytes DESC LIMIT 1",
	/* An ended series of a host alone: the connection ended before ?2, and neither blobs of
	 * the tail from ?3 on, nor chunks, nor roll-ups have rows. */
	[W_DESCRIPTION_OLDEST] =
	    "SELECT m.id FROM metadata m WHERE m.session_id IS NULL AND m.host_id = ?1"
	    " AND m.id > ?4 AND coalesce(m.first_ns, 0) < ?2"
	    " AND m.id < (SELECT max(id) FROM metadata)"
	    " AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.id = m.xsp_id"
	    " AND coalesce(x.closed_ns, ?2) >= ?2)"
	    " AND " SAMPLELESS("?3") " ORDER BY m.id LIMIT 1",
	/* Any series of a host without samples, also young or of an open connection, behind ?3. */
	[W_DESCRIPTION_ANY] =
	    "SELECT m.id FROM metadata m WHERE m.id > ?3 AND m.host_id = ?1"
	    " AND m.id < (SELECT max(id) FROM metadata)"
	    " AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = m.session_id AND s.pinned)"
	    " AND " SAMPLELESS("?2") " ORDER BY m.id LIMIT 1",
	[W_LAYOUT_SIZES_OF_META] = LAYOUT_SIZES_OF("m.id"),
	[W_LAYOUT_SIZES_OF_SESSION] = LAYOUT_SIZES_OF("m.session_id"),
	[W_LAYOUTS_OF_META] = "SELECT id FROM layout WHERE meta_id = ?",
	[W_DESCRIPTION_LAYOUTS_DROP] = "DELETE FROM layout WHERE meta_id = ?",
	[W_DESCRIPTION_DROP] = "DELETE FROM metadata WHERE id = ?" META_SIZE,
	/* Connections of a host ended before ?2 without data. */
	[W_CONNECTIONS_DROP] =
	    "DELETE FROM xsp_session WHERE id IN (SELECT x.id FROM xsp_session x WHERE"
	    " x.host_id = ?1 AND x.session_id IS NULL AND x.closed_ns < ?2"
	    " AND x.id < (SELECT max(id) FROM xsp_session)"
	    " AND NOT EXISTS (SELECT 1 FROM metadata m WHERE m.xsp_id = x.id) LIMIT 500)",
	[BATCH_MERGE_EVENTS] = "UPDATE event_chunk SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_NOTES] = "UPDATE note SET session_id = ?2 WHERE session_id = ?1",
	[W_EVENT_ADD] = "INSERT INTO event_chunk(session_id, host_id, t0_ns, t1_ns, n, stored_ns,"
			" level, data) VALUES(?,?,?,?,?,?,?,?)",
	[W_EVENT_YOUNG] = "SELECT id, stored_ns, data FROM event_chunk WHERE session_id IS ?1"
			  " AND host_id = ?2 AND level = ?3 AND level < 3 ORDER BY id",
	[W_EVENT_LEVEL] = "SELECT level, sum(length(data)) FROM event_chunk WHERE session_id IS ?1 "
			  "AND host_id = ?2"
			  " AND level < 3 GROUP BY level HAVING count(*) >= ?3 ORDER BY level"
			  " LIMIT 1",
	[W_EVENT_GROUPS] = "SELECT DISTINCT coalesce(session_id, 0), host_id FROM event_chunk"
			   " WHERE level < 3 GROUP BY session_id, host_id, level"
			   " HAVING count(*) >= ?1 LIMIT ?2",
	[W_EVENT_DROP] = "DELETE FROM event_chunk WHERE id = ? RETURNING length(data)",
	[W_EVENT_OLDEST] = EVENT_OLDEST " ORDER BY c.stored_ns, c.id LIMIT 1",
	[W_EVENT_OLDEST_OF] = EVENT_OLDEST " AND c.host_id = ?2 ORDER BY c.stored_ns, c.id LIMIT 1",
	[W_FORGET_EVENTS] =
	    "DELETE FROM event_chunk WHERE id IN (SELECT id FROM event_chunk WHERE session_id = ?1"
	    " LIMIT ?2) RETURNING 7, length(data), host_id",
	[W_CHUNK_SET_NEXT_ID] = "UPDATE counter SET value = ?1 WHERE name = 'next_chunk_id'",
	[W_XSP_ABANDONED] =
	    "UPDATE xsp_session SET end_reason = '" STORE_BOX_ENDED "', closed_ns = "
	    "max(coalesce(opened_ns, 0),"
	    " coalesce((SELECT last_data_ns FROM session s WHERE s.id = session_id),"
	    " (SELECT last_seen_ns FROM host h WHERE h.id = host_id), 0)) WHERE closed_ns IS NULL",
	/* without the columns of an index, whose pages would be written each time */
	[W_XSP_UPDATE] =
	    "UPDATE xsp_session SET sess_id = ?4, peer = ?5, software = ?6, opened_ns = ?8, "
	    "closed_ns = ?9,"
	    " docs = ?10, samples = ?11, rejected = ?12, bytes = ?13, dropped = ?14, end_reason = "
	    "?15,"
	    " owner = ?16, addresses = ?17"
	    " WHERE id = ?1 AND host_id IS ?2 AND session_id IS ?3 AND provider IS ?7",
	[W_SESSION_OLDEST] =
	    "SELECT s.id FROM session s WHERE s.id > ?1 AND NOT s.pinned AND s.closed_ns < ?2"
	    " AND (?5 < 0 OR (EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = s.id AND "
	    "x.host_id = ?5) AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = "
	    "s.id AND x.host_id <> ?5)))"
	    " AND s.id < (SELECT max(id) FROM session)"
	    " AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = s.id AND "
	    "coalesce(x.closed_ns, ?4) >= ?4)"
	    " AND NOT EXISTS (SELECT 1 FROM metadata m JOIN layout l ON l.meta_id = m.id"
	    " WHERE m.session_id = s.id AND (l.tail_after >= ?3 OR l.id = (SELECT max(id) FROM "
	    "layout))) ORDER BY s.id LIMIT 1",
	[W_SESSION_PINNED] = "SELECT pinned FROM session WHERE id = ?",
	[W_FORGET_CHUNKS] =
	    "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE layout_id IN " LAYOUTS_OF
	    " LIMIT ?2)"
	    " RETURNING 0, length(data), " HOST_OF("chunk"),
	[W_FORGET_ROLLUPS] =
	    "DELETE FROM rollup WHERE id IN (SELECT id FROM rollup WHERE layout_id IN " LAYOUTS_OF
	    " LIMIT ?2)"
	    " RETURNING tier, length(data), " HOST_OF("rollup"),
	[W_FORGET_LAYOUTS] = "DELETE FROM layout WHERE id IN " LAYOUTS_OF,
	[W_FORGET_METAS] = "DELETE FROM metadata WHERE session_id = ?" META_SIZE,
	[W_FORGET_RESULT] = "DELETE FROM result WHERE session_id = ?",
	[W_FORGET_RUNS] = "DELETE FROM run WHERE session_id = ?",
	/* Sequence numbers go with the last session of a sender. */
	[W_FORGET_PROVIDERS] = "DELETE FROM provider WHERE id IN (SELECT provider FROM xsp_session "
			       "WHERE session_id = ?1)"
			       " AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.provider = "
			       "provider.id AND x.session_id IS NOT ?1)",
	/* A connection with data of its host, too, stays as a connection of the host. */
	[W_FORGET_XSP] = "DELETE FROM xsp_session WHERE session_id = ? AND NOT EXISTS"
			 " (SELECT 1 FROM metadata m WHERE m.xsp_id = xsp_session.id)",
	[W_FORGET_XSP_REST] = "UPDATE xsp_session SET session_id = NULL WHERE session_id = ?",
	[W_FORGET_SESSION] = "DELETE FROM session WHERE id = ?",
	[W_LABELS_OF_LAYOUT] = DESCRIBED("<>") "l.id = ?",
	[W_LABELS_OF_META] = DESCRIBED("<") "m.id = ?",
	[W_LABELS_OF_SESSION] = DESCRIBED("<") "m.session_id = ?",
	[W_LABEL_COUNT] = "INSERT INTO label(name, value, n, first_id, last_id)"
			  " VALUES(?, ?, ?, ?, ?) ON CONFLICT(name, value)" COUNTED,
	[W_METRIC_COUNT] = "INSERT INTO metric(fieldset_id, event_type, n, first_id, last_id)"
			   " VALUES(?, ?, ?, ?, ?) ON CONFLICT(fieldset_id, event_type)" COUNTED,
	[W_LABEL_SESSION_MERGE] =
	    "INSERT INTO label(name, value, n, first_id, last_id) SELECT name, CAST(?2 AS TEXT),"
	    " n, first_id, last_id FROM label WHERE name = 'session' AND value = CAST(?1 AS TEXT)"
	    " ON CONFLICT(name, value)" COUNTED,
	[W_LABEL_SESSION_MERGED] =
	    "DELETE FROM label WHERE name = 'session' AND value = CAST(?1 AS TEXT)",
	[W_ROLLUP_ROWS] = "SELECT n_rows FROM rollup WHERE id = ?",
};
