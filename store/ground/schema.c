/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema is a public interface: `sqlite3 narrows.db .schema` shows the tables with their
 * comments, and the views are for scripts. Times are nanoseconds since 1970 UTC; NULL means
 * "unknown" or "has not happened yet".
 *
 * Samples live in two places. The newest rows are in `tail`, one blob per commit, in the form of
 * the writer's memory (tail.h). Older rows are in `chunk`, compressed (chunk.h). A row of a layout
 * in tail blob i counts only if i > layout.tail_after: rows in earlier blobs are in chunks. So a
 * layout moves from tail to chunk in one transaction without rewriting blobs that other layouts
 * share; a blob goes once no row in the blob counts.
 *
 * SQL alone can decode neither. The table sample and the view v_sample can (sqlmodule.h); they are
 * not in the file but where the module is loaded: in `narrows sql`, and in every program that loads
 * narrows_sqlite.so.
 *
 * schema_migrations[i] takes a file from version i to i + 1. The statements of a released migration
 * are never edited: new migrations are added.
 */
#include "store/ground/schema.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "store/ground/db.h"

static const char version_1[] =
    "CREATE TABLE host (                  -- a machine that is measured\n"
    "	id            INTEGER PRIMARY KEY,\n"
    "	name          TEXT NOT NULL UNIQUE,\n"
    "	info          TEXT,               -- JSON object: software, kernel, ... as told by the "
    "host\n"
    "	first_seen_ns INTEGER,\n"
    "	last_seen_ns  INTEGER\n"
    ");\n"
    "CREATE TABLE session (               -- one transfer or run, on every host\n"
    "	id           INTEGER PRIMARY KEY,\n"
    "	task_id      TEXT,                -- protocol sessions with one task_id are one session\n"
    "	program      TEXT,\n"
    "	opened_ns    INTEGER,\n"
    "	closed_ns    INTEGER,             -- NULL: still open\n"
    "	last_data_ns INTEGER\n"
    ");\n"
    "CREATE TABLE xsp_session (           -- one protocol session, open to close\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	host_id    INTEGER REFERENCES host(id),\n"
    "	session_id INTEGER REFERENCES session(id),   -- NULL: a host's own series, no transfer\n"
    "	sess_id    TEXT,                  -- 32 hexadecimal digits, as on the wire\n"
    "	peer       TEXT,                  -- address/port\n"
    "	software   TEXT,\n"
    "	provider   TEXT,                  -- stable id of the sender; NULL: original peers have "
    "none\n"
    "	opened_ns  INTEGER,\n"
    "	closed_ns  INTEGER,\n"
    "	docs       INTEGER NOT NULL,\n"
    "	samples    INTEGER NOT NULL,\n"
    "	rejected   INTEGER NOT NULL,      -- documents that were refused\n"
    "	bytes      INTEGER NOT NULL,\n"
    "	end_reason TEXT\n"
    ");\n"
    "CREATE INDEX xsp_session_by_session ON xsp_session(session_id) WHERE session_id IS NOT NULL;\n"
    "CREATE INDEX xsp_session_by_host ON xsp_session(host_id);\n"
    "CREATE TABLE metadata (              -- describes a time series once\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	session_id INTEGER REFERENCES session(id),   -- NULL: belongs to the host alone\n"
    "	host_id    INTEGER REFERENCES host(id),\n"
    "	xsp_id     INTEGER REFERENCES xsp_session(id),\n"
    "	mid        TEXT,                  -- id as received, unique per sender at most\n"
    "	pid        TEXT,                  -- mid of its parent\n"
    "	event_type TEXT,\n"
    "	subject    TEXT,                  -- JSON object: the thing that is measured\n"
    "	params     TEXT,                  -- JSON object: how\n"
    "	first_ns   INTEGER,\n"
    "	raw        BLOB                   -- the document as received\n"
    ");\n"
    "CREATE INDEX metadata_by_session ON metadata(session_id) WHERE session_id IS NOT NULL;\n"
    "CREATE INDEX metadata_by_host ON metadata(host_id) WHERE session_id IS NULL;\n"
    "CREATE TABLE layout (                -- the fields of a metadata that arrive together, at one "
    "time each\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	meta_id    INTEGER NOT NULL REFERENCES metadata(id),\n"
    "	fields     TEXT NOT NULL,         -- JSON array of names; column c of every row belongs to "
    "fields[c]\n"
    "	n_fields   INTEGER NOT NULL,\n"
    "	tail_after INTEGER NOT NULL DEFAULT 0   -- rows in tail blobs up to this id are in chunks "
    "already\n"
    ");\n"
    "CREATE INDEX layout_by_meta ON layout(meta_id);\n"
    "CREATE TABLE chunk (                 -- a stretch of rows of one layout; chunks of a layout "
    "do not overlap in time\n"
    "	id        INTEGER PRIMARY KEY,\n"
    "	layout_id INTEGER NOT NULL REFERENCES layout(id),\n"
    "	t0_ns     INTEGER NOT NULL,       -- first and last time in it\n"
    "	t1_ns     INTEGER NOT NULL,\n"
    "	n_rows    INTEGER NOT NULL,\n"
    "	last      BLOB NOT NULL,          -- values of the last row, little endian doubles\n"
    "	data      BLOB NOT NULL           -- see store/chunk.c\n"
    ");\n"
    "CREATE INDEX chunk_by_time ON chunk(layout_id, t0_ns, t1_ns);\n"
    "CREATE TABLE tail (                  -- rows that are durable but not yet in chunks: one blob "
    "per commit\n"
    "	id   INTEGER PRIMARY KEY,\n"
    "	rows BLOB NOT NULL                -- see store/tail.h; the newest blob stays, if empty: "
    "ids "
    "are not used again\n"
    ");\n"
    "CREATE TABLE provider (              -- how far the documents of each sender are stored\n"
    "	id         TEXT PRIMARY KEY,\n"
    "	stored_seq INTEGER NOT NULL       -- every document up to this number is in this file\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE run (                   -- one analysis of a session\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	session_id INTEGER REFERENCES session(id),\n"
    "	kind       TEXT NOT NULL,\n"
    "	started_ns INTEGER,\n"
    "	took_ns    INTEGER,\n"
    "	version    TEXT,\n"
    "	outcome    TEXT                   -- 'ok' or why not\n"
    ");\n"
    "CREATE INDEX run_by_session ON run(session_id);\n"
    "CREATE TABLE result (                -- a session's result document, and its summary for "
    "lists\n"
    "	session_id  INTEGER PRIMARY KEY REFERENCES session(id),\n"
    "	run_id      INTEGER REFERENCES run(id),\n"
    "	route       TEXT,\n"
    "	program     TEXT,\n"
    "	stage       TEXT,                 -- the stage that limited the session; NULL: cannot "
    "tell\n"
    "	sentence    TEXT,                 -- the verdict in words\n"
    "	bytes       REAL,\n"
    "	bytes_per_s REAL,\n"
    "	start_ns    INTEGER,\n"
    "	duration_ns INTEGER,\n"
    "	document    TEXT                  -- JSON\n"
    ");\n"
    "CREATE TABLE unit (                  -- UCUM units of fields whose unit is sure; metadata "
    "match by GLOB\n"
    "	event_glob TEXT NOT NULL,\n"
    "	field      TEXT NOT NULL,\n"
    "	unit       TEXT NOT NULL,\n"
    "	PRIMARY KEY (field, event_glob)\n"
    ") WITHOUT ROWID;\n"
    "CREATE VIEW v_session AS             -- one line per session, newest first\n"
    "	SELECT s.id,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.start_ns, s.opened_ns) / 1000000000, "
    "'unixepoch') AS started,\n"
    "	round(coalesce(r.duration_ns, s.closed_ns - s.opened_ns) / 1e9, 3) AS duration_s,\n"
    "	r.route, coalesce(r.program, s.program) AS program, r.bytes, r.bytes_per_s,\n"
    "	r.stage,                          -- NULL: not judged, or cannot tell\n"
    "	r.sentence AS verdict,            -- NULL: not judged yet\n"
    "	CASE WHEN s.closed_ns IS NULL THEN 'open' ELSE 'closed' END AS state\n"
    "	FROM session s LEFT JOIN result r ON r.session_id = s.id ORDER BY s.id DESC;\n"
    "CREATE VIEW v_verdict AS             -- one line per judged session, newest first, with the "
    "run of its verdict\n"
    "	SELECT r.session_id AS session, r.stage, r.sentence AS verdict,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', n.started_ns / 1000000000, 'unixepoch') AS judged,\n"
    "	round(n.took_ns / 1e9, 6) AS took_s, n.version, n.outcome, r.document\n"
    "	FROM result r LEFT JOIN run n ON n.id = r.run_id ORDER BY r.session_id DESC;\n"
    "CREATE VIEW v_series AS              -- one line per series: one numeric field of one "
    "metadata\n"
    "	SELECT l.id AS layout, f.key AS col, m.session_id AS session, h.name AS host, "
    "m.event_type, f.value AS field,\n"
    "	(SELECT u.unit FROM unit u WHERE u.field = f.value AND m.event_type GLOB u.event_glob) AS "
    "unit,   -- NULL: not sure\n"
    "	m.subject, m.params, m.mid, m.id AS metadata\n"
    "	FROM layout l JOIN metadata m ON m.id = l.meta_id LEFT JOIN host h ON h.id = m.host_id\n"
    "	CROSS JOIN json_each(l.fields) f;\n"
    "CREATE VIEW v_host AS                -- one line per measured host\n"
    "	SELECT h.id, h.name,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', h.first_seen_ns / 1000000000, 'unixepoch') AS first_seen,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', h.last_seen_ns / 1000000000, 'unixepoch') AS last_seen,\n"
    "	count(DISTINCT x.session_id) AS sessions, coalesce(sum(x.samples), 0) AS samples, h.info\n"
    "	FROM host h LEFT JOIN xsp_session x ON x.host_id = h.id GROUP BY h.id ORDER BY h.name;\n";

/*
 * From 1 to 2: old rows are rolled up, and sessions can be pinned. A row counts in exactly one
 * place: in the tail, in a chunk or in one roll-up. An old chunk becomes buckets of 10 s in the
 * transaction that deletes the chunk; buckets of 10 s become buckets of a minute, and then of an
 * hour. So nothing is kept twice, and a late row is rolled up together with its chunk. A bucket may
 * stand in several parts, which readers add up.
 */
static const char version_2[] =
    "ALTER TABLE session ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;   -- 1: no policy deletes "
    "its samples\n"
    "ALTER TABLE xsp_session ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;   -- documents "
    "lost by the sender\n"
    "CREATE INDEX session_pinned ON session(id) WHERE pinned;\n"
    "CREATE TABLE rollup (                -- buckets of one layout, where the rows themselves are "
    "gone\n"
    "	id        INTEGER PRIMARY KEY,\n"
    "	layout_id INTEGER NOT NULL REFERENCES layout(id),\n"
    "	tier      INTEGER NOT NULL,       -- 1: of 10 s, 2: of a minute, 3: of an hour\n"
    "	t0_ns     INTEGER NOT NULL,       -- first and last time in it; a bucket's time is that of "
    "its last row\n"
    "	t1_ns     INTEGER NOT NULL,\n"
    "	n_rows    INTEGER NOT NULL,\n"
    "	data      BLOB NOT NULL           -- a chunk; columns n, sum, min, max, m2 of field 0, of "
    "field 1, ...\n"
    ");\n"
    "CREATE INDEX rollup_by_time ON rollup(layout_id, tier, t0_ns, t1_ns);\n"
    "CREATE INDEX rollup_by_age ON rollup(tier, t1_ns);\n"
    "CREATE INDEX chunk_by_age ON chunk(t1_ns);\n"
    "CREATE TABLE shelf (                 -- sizes of chunks and roll-ups\n"
    "	tier  INTEGER PRIMARY KEY,        -- 0: chunks, else as in rollup\n"
    "	bytes INTEGER NOT NULL            -- of data\n"
    ");\n"
    "INSERT INTO shelf(tier, bytes) SELECT 0, coalesce(sum(length(data)), 0) FROM chunk\n"
    "	UNION ALL VALUES (1, 0), (2, 0), (3, 0);\n"
    "DROP VIEW v_session;\n"
    "CREATE VIEW v_session AS             -- one line per session, newest first\n"
    "	SELECT s.id,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.start_ns, s.opened_ns) / 1000000000, "
    "'unixepoch') AS started,\n"
    "	round(coalesce(r.duration_ns, s.closed_ns - s.opened_ns) / 1e9, 3) AS duration_s,\n"
    "	r.route, coalesce(r.program, s.program) AS program, r.bytes, r.bytes_per_s,\n"
    "	r.stage,                          -- NULL: not judged, or cannot tell\n"
    "	r.sentence AS verdict,            -- NULL: not judged yet\n"
    "	CASE WHEN s.closed_ns IS NULL THEN 'open' ELSE 'closed' END AS state,\n"
    "	s.pinned                          -- 1: the samples stay (narrows pin)\n"
    "	FROM session s LEFT JOIN result r ON r.session_id = s.id ORDER BY s.id DESC;\n";

/*
 * From 2 to 3: the id of a chunk is never used again, not even after the newest chunk is deleted,
 * so that a reader may keep decoded chunks by their id. Blobs of the tail have a checksum, as
 * chunks have. The indices find the rows that refer to a session when the session is forgotten
 * (forget.c).
 */
static const char version_3[] =
    "ALTER TABLE shelf ADD COLUMN next_id INTEGER;   -- of tier 0: of the next chunk\n"
    "UPDATE shelf SET next_id = 1 + coalesce((SELECT max(id) FROM chunk), 0) WHERE tier = 0;\n"
    "ALTER TABLE tail ADD COLUMN sum INTEGER;   -- XXH64 of rows; NULL: none was made\n"
    "CREATE INDEX metadata_by_xsp ON metadata(xsp_id) WHERE xsp_id IS NOT NULL;\n"
    "CREATE INDEX xsp_session_by_provider ON xsp_session(provider) WHERE provider IS NOT NULL;\n"
    "CREATE INDEX result_by_run ON result(run_id);\n";

/* From 3 to 4: one table describes fields (field.c writes the table), and v_series shows the units
 * of the sender before the units of the table. A series has a number. */
static const char version_4[] =
    "CREATE TABLE tier_size (             -- the size of all chunks and of each tier of roll-ups\n"
    "	tier    INTEGER PRIMARY KEY,      -- 0: chunks, else as in rollup\n"
    "	bytes   INTEGER NOT NULL,         -- sum of length(data)\n"
    "	next_id INTEGER                   -- the id of the next chunk, in the row of tier 0\n"
    ");\n"
    "INSERT INTO tier_size(tier, bytes, next_id) SELECT tier, bytes, next_id FROM shelf;\n"
    "DROP TABLE shelf;\n"
    "DROP VIEW v_series;\n"
    "DROP TABLE unit;\n"
    "CREATE TABLE field (                 -- what fields are: of the rows that match, the first\n"
    "	rank        INTEGER PRIMARY KEY,\n"
    "	event_glob  TEXT NOT NULL,        -- pattern (GLOB) of event types\n"
    "	field_glob  TEXT NOT NULL,        -- name of a field, or pattern *_END or START_*\n"
    "	unit        TEXT,                 -- UCUM; NULL: this row says nothing about units\n"
    "	aggregation TEXT                  -- sum, mean, min, max, last, ratio, spread: how values\n"
    "	                                  -- add up over time; NULL: this row says nothing\n"
    ");\n"
    "CREATE INDEX field_by_name ON field(field_glob);\n"
    "CREATE VIEW v_series AS              -- one line per series: one numeric field of one "
    "metadata\n"
    "	SELECT l.id AS layout, f.key AS col, m.session_id AS session, h.name AS host, "
    "m.event_type, f.value AS field,\n"
    "	coalesce(CASE WHEN json_valid(m.params) THEN coalesce(   -- what the sender says\n"
    "		(SELECT p.value FROM json_each(m.params) p WHERE p.key = 'unit_' || f.value AND "
    "p.type = 'text'),\n"
    "		(SELECT p.value FROM json_each(m.params) p WHERE p.key = 'unit' AND p.type = "
    "'text')) END,\n"
    "		(SELECT u.unit FROM field u WHERE u.field_glob IN (f.value, '*' || substr(f.value, "
    "-2),\n"
    "		'*' || substr(f.value, -3), '*' || substr(f.value, -6)) AND m.event_type GLOB "
    "u.event_glob\n"
    "		AND u.unit IS NOT NULL ORDER BY u.rank LIMIT 1)) AS unit,   -- NULL: not known\n"
    "	m.subject, m.params, m.mid, m.id AS metadata,\n"
    "	l.id * 4096 + f.key AS series     -- one number for each series, to join and to group by\n"
    "	FROM layout l JOIN metadata m ON m.id = l.meta_id LEFT JOIN host h ON h.id = m.host_id\n"
    "	CROSS JOIN json_each(l.fields) f;\n"
    "ALTER TABLE provider RENAME TO provider_before;\n"
    "CREATE TABLE provider (              -- how far the documents of each sender are stored\n"
    "	owner      TEXT NOT NULL,         -- host:NAME of a certificate, user:UID on loopback,\n"
    "	                                  -- addr:ADDRESS of other peers in clear, import for\n"
    "	                                  -- files; loopback: nobody knows the user any more\n"
    "	id         TEXT NOT NULL,         -- the sender's choice, no other owner's business\n"
    "	stored_seq INTEGER NOT NULL,      -- every document up to this number is in this file\n"
    "	PRIMARY KEY (owner, id)\n"
    ") WITHOUT ROWID;\n"
    "INSERT INTO provider(owner, id, stored_seq) SELECT coalesce((   -- the host of its last "
    "session\n"
    "	SELECT CASE WHEN x.peer GLOB '127.*' OR x.peer GLOB '::1/*' THEN 'loopback'\n"
    "		WHEN x.peer = 'local' THEN 'import'\n"
    "		ELSE 'host:' || h.name END\n"
    "	FROM xsp_session x JOIN host h ON h.id = x.host_id WHERE x.provider = p.id\n"
    "	ORDER BY x.id DESC LIMIT 1), 'loopback'), p.id, p.stored_seq FROM provider_before p;\n"
    "DROP TABLE provider_before;\n"
    "ALTER TABLE run ADD COLUMN replaced_ns INTEGER;   -- a closed session opened again then, and\n"
    "	-- later runs give its verdict; this run's verdict stays here. NULL: not replaced\n"
    "ALTER TABLE run ADD COLUMN why TEXT;             -- who opened the session again\n"
    "ALTER TABLE run ADD COLUMN stage TEXT;           -- as in result\n"
    "ALTER TABLE run ADD COLUMN sentence TEXT;\n"
    "ALTER TABLE run ADD COLUMN bytes_per_s REAL;\n"
    "ALTER TABLE run ADD COLUMN document TEXT;\n"
    "ALTER TABLE xsp_session ADD COLUMN owner TEXT;   -- sender, as in provider; NULL: unknown\n"
    "UPDATE xsp_session SET owner = 'host:' || (SELECT name FROM host WHERE id = host_id)\n"
    "	WHERE peer NOT GLOB '127.*' AND peer NOT GLOB '::1/*' AND peer != 'local';\n";

/*
 * From 4 to 5: the document of a result is packed (document.h), the long lists apart from the rest,
 * so that the ceiling can take the lists first; v_verdict shows documents where the module of
 * sqlmodule.h is loaded. Sizes are kept for each host, so that every host has its share of a
 * ceiling.
 */
static const char version_5[] =
    "DROP VIEW v_session;\n"
    "DROP VIEW v_verdict;\n"
    "DROP INDEX result_by_run;\n"
    "ALTER TABLE result RENAME TO result_4;\n"
    "CREATE TABLE result (                -- the result of a session's analysis\n"
    "	session_id  INTEGER PRIMARY KEY REFERENCES session(id),\n"
    "	run_id      INTEGER REFERENCES run(id),\n"
    "	host_id     INTEGER NOT NULL,     -- the host whose share of the store has the document\n"
    "	route       TEXT,\n"
    "	program     TEXT,\n"
    "	stage       TEXT,                 -- the stage that limited the session; NULL: cannot "
    "tell\n"
    "	confidence  TEXT,\n"
    "	sentence    TEXT,                 -- the verdict in words\n"
    "	effect      REAL,                 -- how many times faster the next stage was\n"
    "	bytes       REAL,\n"
    "	bytes_per_s REAL,\n"
    "	start_ns    INTEGER,\n"
    "	duration_ns INTEGER,\n"
    "	document    BLOB,                 -- packed, see store/document.h; NULL: made room\n"
    "	timeline    BLOB                  -- the long lists of the document; NULL: none, or made "
    "room\n"
    ");\n"
    "INSERT INTO result SELECT session_id, run_id, coalesce((SELECT x.host_id FROM xsp_session x\n"
    "	WHERE x.session_id = r.session_id ORDER BY x.id LIMIT 1), 0), route, program, stage,\n"
    "	CASE WHEN json_valid(document) THEN json_extract(document, '$.verdict.confidence') END,\n"
    "	sentence, CASE WHEN json_valid(document) THEN json_extract(document, '$.verdict.effect') "
    "END,\n"
    "	bytes, bytes_per_s, start_ns, duration_ns, narrows_pack(document, 0), "
    "narrows_pack(document, 1)\n"
    "	FROM result_4 r;\n"
    "DROP TABLE result_4;\n"
    "CREATE INDEX result_by_run ON result(run_id);\n"
    "CREATE INDEX result_with_timeline ON result(host_id, session_id) WHERE timeline IS NOT NULL;\n"
    "CREATE INDEX result_with_document ON result(host_id, session_id) WHERE document IS NOT NULL;\n"
    "CREATE VIEW v_session AS             -- one line per session, newest first\n"
    "	SELECT s.id,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.start_ns, s.opened_ns) / 1000000000, "
    "'unixepoch') AS started,\n"
    "	round(coalesce(r.duration_ns, s.closed_ns - s.opened_ns) / 1e9, 3) AS duration_s,\n"
    "	r.route, coalesce(r.program, s.program) AS program, r.bytes, r.bytes_per_s,\n"
    "	r.stage,                          -- NULL: not judged, or cannot tell\n"
    "	r.sentence AS verdict,            -- NULL: not judged yet\n"
    "	CASE WHEN s.closed_ns IS NULL THEN 'open' ELSE 'closed' END AS state,\n"
    "	s.pinned                          -- 1: the samples stay (narrows pin)\n"
    "	FROM session s LEFT JOIN result r ON r.session_id = s.id ORDER BY s.id DESC;\n"
    "CREATE VIEW v_verdict AS             -- one line per judged session, newest first\n"
    "	SELECT r.session_id AS session, r.stage, r.sentence AS verdict, r.confidence, r.effect,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', n.started_ns / 1000000000, 'unixepoch') AS judged,\n"
    "	round(n.took_ns / 1e9, 6) AS took_s, n.version, n.outcome\n"
    "	FROM result r LEFT JOIN run n ON n.id = r.run_id ORDER BY r.session_id DESC;\n"
    "CREATE TABLE counter (               -- numbers that are never given twice\n"
    "	name  TEXT PRIMARY KEY,\n"
    "	value INTEGER NOT NULL\n"
    ") WITHOUT ROWID;\n"
    "INSERT INTO counter SELECT 'next_chunk_id', coalesce(next_id, 1) FROM tier_size WHERE tier = "
    "0;\n"
    "DROP TABLE tier_size;\n"
    "CREATE TABLE tier_size (             -- bytes of data, by host\n"
    "	host_id INTEGER NOT NULL,         -- 0: of no host\n"
    "	tier    INTEGER NOT NULL,         -- 0: chunks, 1 to 3: as in rollup, 4: timelines,\n"
    "	                                  -- 5: documents\n"
    "	bytes   INTEGER NOT NULL,\n"
    "	PRIMARY KEY (host_id, tier)\n"
    ") WITHOUT ROWID;\n"
    "INSERT INTO tier_size SELECT coalesce(m.host_id, 0), 0, sum(length(c.data)) FROM chunk c\n"
    "	JOIN layout l ON l.id = c.layout_id JOIN metadata m ON m.id = l.meta_id GROUP BY 1;\n"
    "INSERT INTO tier_size SELECT coalesce(m.host_id, 0), c.tier, sum(length(c.data)) FROM rollup "
    "c\n"
    "	JOIN layout l ON l.id = c.layout_id JOIN metadata m ON m.id = l.meta_id GROUP BY 1, 2;\n"
    "INSERT INTO tier_size SELECT host_id, 4, sum(length(timeline)) FROM result\n"
    "	WHERE timeline IS NOT NULL GROUP BY 1;\n"
    "INSERT INTO tier_size SELECT host_id, 5, sum(length(document)) FROM result\n"
    "	WHERE document IS NOT NULL GROUP BY 1;\n";

/*
 * From 5 to 6: layouts with the same fields share the names. New rows are smaller, and old rows
 * stay as they are: short columns of chunks have a code of their own (codec_adaptive.h), last rows
 * are packed (lastrow.h), and so are metadata as received (original.h).
 */
static const char version_6[] =
    "DROP VIEW v_series;\n"
    "CREATE TABLE fieldset (              -- names of fields that arrive together\n"
    "	id     INTEGER PRIMARY KEY,\n"
    "	fields TEXT NOT NULL              -- JSON array of names; column c of every row belongs to "
    "fields[c]\n"
    ");\n"
    "INSERT INTO fieldset(fields) SELECT DISTINCT fields FROM layout ORDER BY 1;\n"
    "CREATE INDEX fieldset_by_fields ON fieldset(length(fields), substr(fields, 1, 64));\n"
    "ALTER TABLE layout ADD COLUMN fieldset_id INTEGER REFERENCES fieldset(id);\n"
    "UPDATE layout SET fieldset_id = (SELECT s.id FROM fieldset s WHERE\n"
    "	length(s.fields) = length(layout.fields) AND substr(s.fields, 1, 64) =\n"
    "	substr(layout.fields, 1, 64) AND s.fields = layout.fields);\n"
    "ALTER TABLE layout DROP COLUMN fields;\n"
    "CREATE INDEX layout_by_fieldset ON layout(fieldset_id);\n"
    "CREATE TRIGGER fieldset_unused AFTER DELETE ON layout\n"
    "	WHEN NOT EXISTS (SELECT 1 FROM layout l WHERE l.fieldset_id = old.fieldset_id)\n"
    "	BEGIN DELETE FROM fieldset WHERE id = old.fieldset_id; END;\n"
    "INSERT INTO tier_size SELECT coalesce(host_id, 0), 6, sum(200 + coalesce(length(raw), 0) +\n"
    "	length(CAST(coalesce(mid, '') || coalesce(pid, '') || coalesce(event_type, '') ||\n"
    "	coalesce(subject, '') || coalesce(params, '') AS BLOB)))   -- 6: descriptions\n"
    "	FROM metadata GROUP BY 1;\n"
    "CREATE VIEW v_series AS              -- one line per series: one numeric field of one "
    "metadata\n"
    "	SELECT l.id AS layout, f.key AS col, m.session_id AS session, h.name AS host, "
    "m.event_type, f.value AS field,\n"
    "	coalesce(CASE WHEN json_valid(m.params) THEN coalesce(   -- what the sender says\n"
    "		(SELECT p.value FROM json_each(m.params) p WHERE p.key = 'unit_' || f.value AND "
    "p.type = 'text'),\n"
    "		(SELECT p.value FROM json_each(m.params) p WHERE p.key = 'unit' AND p.type = "
    "'text')) END,\n"
    "		(SELECT u.unit FROM field u WHERE u.field_glob IN (f.value, '*' || substr(f.value, "
    "-2),\n"
    "		'*' || substr(f.value, -3), '*' || substr(f.value, -6)) AND m.event_type GLOB "
    "u.event_glob\n"
    "		AND u.unit IS NOT NULL ORDER BY u.rank LIMIT 1)) AS unit,   -- NULL: not known\n"
    "	m.subject, m.params, m.mid, m.id AS metadata,\n"
    "	l.id * 4096 + f.key AS series     -- one number for each series, to join and to group by\n"
    "	FROM layout l JOIN fieldset s ON s.id = l.fieldset_id JOIN metadata m ON m.id = l.meta_id\n"
    "	LEFT JOIN host h ON h.id = m.host_id CROSS JOIN json_each(s.fields) f;\n";

/* From 6 to 7: metrics worth keeping. Documents are small (a list names some hundred metrics at
 * most), so they are plain JSON. */
static const char version_7[] =
    "CREATE TABLE keeplist (              -- metrics worth keeping, by reduction over days\n"
    "	id       INTEGER PRIMARY KEY,\n"
    "	route    TEXT NOT NULL,\n"
    "	program  TEXT NOT NULL,           -- '' where unknown\n"
    "	response TEXT NOT NULL,           -- what the metrics follow\n"
    "	made_ns  INTEGER,\n"
    "	took_ns  INTEGER,\n"
    "	headline INTEGER NOT NULL,        -- 1: the metrics predict rows that they have not seen\n"
    "	sentence TEXT,                    -- the finding in words\n"
    "	document TEXT,                    -- JSON, see narrows-result(5), keeplist\n"
    "	UNIQUE (route, program, response)\n"
    ");\n"
    "CREATE VIEW v_keep AS                -- one line per metric of each list, the surest first\n"
    "	SELECT k.route, k.program, k.response, k.headline,\n"
    "	json_extract(m.value, '$.name') AS metric, json_extract(m.value, '$.unit') AS unit,\n"
    "	json_extract(m.value, '$.worth_keeping') AS worth_keeping,\n"
    "	json_extract(m.value, '$.share') AS share,   -- of half-samples that choose the metric\n"
    "	json_extract(m.value, '$.r') AS r,           -- correlation with the response\n"
    "	json_extract(m.value, '$.coefficient') AS coefficient,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', k.made_ns / 1000000000, 'unixepoch') AS made\n"
    "	FROM keeplist k CROSS JOIN json_each(k.document, '$.metrics') m\n"
    "	ORDER BY k.made_ns DESC, k.id, m.key;\n";

/* From 7 to 8: what the settings of every host were, and since when. Lines are changes only. */
static const char version_8[] =
    "CREATE TABLE config (                -- history of the settings of every host: changes only\n"
    "	host_id INTEGER NOT NULL REFERENCES host(id),\n"
    "	name    TEXT NOT NULL,            -- group.rest, for example sysctl.vm.swappiness\n"
    "	t_ns    INTEGER NOT NULL,         -- since when, by the host's clock\n"
    "	value   TEXT,                     -- NULL: the host has the setting no more\n"
    "	PRIMARY KEY (host_id, name, t_ns)\n"
    ") WITHOUT ROWID;\n"
    "CREATE INDEX config_by_time ON config(host_id, t_ns);\n"
    "CREATE VIEW v_config AS              -- one line per change of a setting, the newest first\n"
    "	SELECT h.name AS host, c.name,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', c.t_ns / 1000000000, 'unixepoch') AS since,\n"
    "	c.value, (SELECT b.value FROM config b WHERE b.host_id = c.host_id AND b.name = c.name\n"
    "		AND b.t_ns < c.t_ns ORDER BY b.t_ns DESC LIMIT 1) AS before,\n"
    "	NOT EXISTS (SELECT 1 FROM config l WHERE l.host_id = c.host_id AND l.name = c.name\n"
    "		AND l.t_ns > c.t_ns) AS newest   -- 1: the setting is so now\n"
    "	FROM config c LEFT JOIN host h ON h.id = c.host_id ORDER BY c.t_ns DESC, h.name, c.name;\n";

/*
 * From 8 to 9: histories of routes. The summary of a result tells how the session compares with its
 * route's usual rate, the user's label and the program's exit status; the indices are for the
 * sessions of a route, and for all routes.
 */
static const char version_9[] =
    "ALTER TABLE result ADD COLUMN usual REAL;   -- usual rate of the route over this rate\n"
    "ALTER TABLE result ADD COLUMN label TEXT;   -- the user's name for the session\n"
    "ALTER TABLE result ADD COLUMN exit_status INTEGER;   -- of the program; above 128: by a "
    "signal\n"
    "CREATE INDEX result_by_route ON result(route, coalesce(program, ''), start_ns)\n"
    "	WHERE route IS NOT NULL;\n"
    "CREATE TABLE route (                 -- the history of a program between the same hosts\n"
    "	route       TEXT NOT NULL,\n"
    "	program     TEXT NOT NULL,        -- '' where unknown\n"
    "	made_ns     INTEGER,\n"
    "	n_sessions  INTEGER NOT NULL,     -- sessions that the history looks at\n"
    "	newest_id   INTEGER NOT NULL,     -- number of the newest of them\n"
    "	bytes_per_s REAL,                 -- usual rate\n"
    "	stage       TEXT,                 -- stage of most verdicts\n"
    "	sentence    TEXT,                 -- the history in words\n"
    "	document    TEXT,                 -- JSON, see narrows-result(5), route\n"
    "	PRIMARY KEY (route, program)\n"
    ");\n"
    "CREATE INDEX route_by_newest ON route(newest_id);\n"
    "CREATE VIEW v_route AS               -- one line per route, the one with the newest session "
    "first\n"
    "	SELECT route, program, n_sessions, bytes_per_s AS usual_bytes_per_s, stage, sentence,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', made_ns / 1000000000, 'unixepoch') AS made\n"
    "	FROM route ORDER BY newest_id DESC;\n"
    "DROP VIEW v_session;\n"
    "CREATE VIEW v_session AS             -- one line per session, newest first\n"
    "	SELECT s.id,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.start_ns, s.opened_ns) / 1000000000, "
    "'unixepoch') AS started,\n"
    "	round(coalesce(r.duration_ns, s.closed_ns - s.opened_ns) / 1e9, 3) AS duration_s,\n"
    "	r.route, coalesce(r.program, s.program) AS program, r.bytes, r.bytes_per_s,\n"
    "	r.stage,                          -- NULL: not judged, or cannot tell\n"
    "	r.sentence AS verdict,            -- NULL: not judged yet\n"
    "	CASE WHEN s.closed_ns IS NULL THEN 'open' ELSE 'closed' END AS state,\n"
    "	s.pinned,                         -- 1: the samples stay (narrows pin)\n"
    "	r.usual,                          -- usual rate over this one: 2 is half as fast\n"
    "	r.label, r.exit_status\n"
    "	FROM session s LEFT JOIN result r ON r.session_id = s.id ORDER BY s.id DESC;\n";

/* From 9 to 10: events. */
static const char version_10[] =
    "CREATE TABLE event_chunk (           -- events; the table event of narrows sql shows them\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	session_id INTEGER REFERENCES session(id),   -- NULL: of the host alone\n"
    "	host_id    INTEGER NOT NULL,      -- the sender, whose share of the store has the row\n"
    "	t0_ns      INTEGER NOT NULL,      -- of the first event\n"
    "	t1_ns      INTEGER NOT NULL,      -- of the last event\n"
    "	n          INTEGER NOT NULL,      -- events\n"
    "	stored_ns  INTEGER NOT NULL,      -- when the newest of them was stored\n"
    "	level      INTEGER NOT NULL,      -- 0 to 3: how often the events were merged\n"
    "	data       BLOB NOT NULL          -- store/eventcodec.h\n"
    ");\n"
    "CREATE INDEX event_chunk_by_session ON event_chunk(session_id, t0_ns);\n"
    "CREATE INDEX event_chunk_by_age ON event_chunk(stored_ns, id);\n"
    "CREATE INDEX event_chunk_by_host ON event_chunk(host_id, stored_ns, id);\n"
    "CREATE INDEX event_chunk_young ON event_chunk(session_id, host_id, level) WHERE level < 3;\n";

/* From 10 to 11: annotations. */
static const char version_11[] =
    "CREATE TABLE note (                  -- annotations of a session's lifelines\n"
    "	id         INTEGER PRIMARY KEY,\n"
    "	session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,\n"
    "	t_ns       INTEGER NOT NULL,      -- the time that the note speaks of\n"
    "	line       TEXT NOT NULL,         -- ids of a lifeline; '': of the whole session\n"
    "	point      TEXT NOT NULL,         -- point of the path; '': none\n"
    "	text       TEXT NOT NULL,\n"
    "	made_ns    INTEGER NOT NULL\n"
    ");\n"
    "CREATE INDEX note_by_session ON note(session_id, t_ns);\n";

/* From 11 to 12: diets. */
static const char version_12[] =
    "CREATE TABLE diet (                  -- series that told nothing for long, sampled seldom\n"
    "	id          INTEGER PRIMARY KEY,\n"
    "	host_id     INTEGER NOT NULL REFERENCES host(id),\n"
    "	probe       TEXT NOT NULL,        -- the group of the series\n"
    "	made_ns     INTEGER NOT NULL,     -- when last proposed\n"
    "	accepted_ns INTEGER,              -- NULL: only proposed\n"
    "	ended_ns    INTEGER,              -- NULL: proposed or in force\n"
    "	carried_ns  INTEGER,              -- since when a series tells something again, or NULL\n"
    "	document    TEXT NOT NULL         -- JSON, see narrows-result(5), diet\n"
    ");\n"
    "CREATE UNIQUE INDEX diet_open ON diet(host_id, probe) WHERE ended_ns IS NULL;\n"
    "CREATE TABLE diet_seen (             -- what reductions said of each series of a host\n"
    "	host_id  INTEGER PRIMARY KEY REFERENCES host(id),\n"
    "	document TEXT NOT NULL            -- JSON: {series: {field: value}}\n"
    ");\n"
    "CREATE VIEW v_diet AS                -- one line per proposal or diet\n"
    "	SELECT d.id, h.name AS host, d.probe,\n"
    "	CASE WHEN d.ended_ns IS NOT NULL THEN 'ended' WHEN d.accepted_ns IS NOT NULL THEN\n"
    "		'in force' ELSE 'proposed' END AS state,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', d.accepted_ns / 1000000000, 'unixepoch') AS accepted,\n"
    "	json_extract(d.document, '$.sentence') AS sentence\n"
    "	FROM diet d LEFT JOIN host h ON h.id = d.host_id ORDER BY h.name, d.id;\n";

/* From 12 to 13: a sender's further addresses. */
static const char version_13[] =
    "ALTER TABLE xsp_session ADD COLUMN addresses TEXT;   -- in the sender's certificate, by "
    "blanks\n";

/* From 13 to 14: the names of fields count as descriptions of their host. Layouts with the same
 * names share them in the file, but each counts in full. */
static const char version_14[] =
    "INSERT INTO tier_size SELECT coalesce(m.host_id, 0), 6,\n"
    "	sum(64 + length(CAST(s.fields AS BLOB))) FROM layout l JOIN metadata m ON m.id = "
    "l.meta_id\n"
    "	JOIN fieldset s ON s.id = l.fieldset_id WHERE true GROUP BY 1\n"
    "	ON CONFLICT(host_id, tier) DO UPDATE SET bytes = bytes + excluded.bytes;\n";

/*
 * From 14 to 15: incidents of routes, and their acceptance by operators. The incidents of a route
 * follow its history (nw_batch_route); acceptances are input of the history.
 */
static const char version_15[] =
    "CREATE TABLE incident (              -- sessions of a route that were slower than usual\n"
    "	route      TEXT NOT NULL,\n"
    "	program    TEXT NOT NULL,         -- '' where unknown\n"
    "	session_id INTEGER NOT NULL,      -- its first session\n"
    "	kind       TEXT NOT NULL,         -- 'step' or 'drift'\n"
    "	state      TEXT NOT NULL,         -- 'open', 'ended' or 'accepted'\n"
    "	begin_ns   INTEGER NOT NULL,      -- begin of its first session\n"
    "	end_ns     INTEGER,               -- begin of the first session after it; NULL: none so "
    "far\n"
    "	document   TEXT NOT NULL,         -- JSON, see narrows-result(5), incident\n"
    "	PRIMARY KEY (route, program, session_id, kind)\n"
    ") WITHOUT ROWID;\n"
    "CREATE INDEX incident_by_begin ON incident(begin_ns);\n"
    "CREATE INDEX incident_open ON incident(begin_ns) WHERE state = 'open';\n"
    "CREATE TABLE acceptance (            -- an operator takes the rate of an incident as usual\n"
    "	route      TEXT NOT NULL,\n"
    "	program    TEXT NOT NULL,\n"
    "	t_ns       INTEGER NOT NULL,      -- time of the acceptance\n"
    "	session_id INTEGER NOT NULL,      -- first session of the incident at that time\n"
    "	who        TEXT NOT NULL,\n"
    "	why        TEXT NOT NULL,\n"
    "	PRIMARY KEY (route, program, t_ns)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TRIGGER route_forgotten AFTER DELETE ON route\n"
    "	BEGIN DELETE FROM incident WHERE route = old.route AND program = old.program;\n"
    "	DELETE FROM acceptance WHERE route = old.route AND program = old.program; END;\n"
    "CREATE VIEW v_incident AS            -- one line per incident, newest first\n"
    "	SELECT route, program, session_id AS session, kind, state,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', begin_ns / 1000000000, 'unixepoch') AS began,\n"
    "	strftime('%Y-%m-%dT%H:%M:%SZ', end_ns / 1000000000, 'unixepoch') AS ended,\n"
    "	json_extract(document, '$.ratio') AS ratio,\n"
    "	json_extract(document, '$.sentence') AS sentence\n"
    "	FROM incident ORDER BY begin_ns DESC;\n";

/*
 * From 15 to 16: the bounds of an incident's begin are columns, so that other routes are asked
 * without their documents; an open step keeps the sessions that show the incident; and the natural
 * experiments of the fleet have a document.
 */
static const char version_16[] =
    "ALTER TABLE incident ADD COLUMN from_ns INTEGER NOT NULL DEFAULT 0;   -- begin of the last\n"
    "	-- session surely before it\n"
    "ALTER TABLE incident ADD COLUMN to_ns INTEGER NOT NULL DEFAULT 0;   -- begin of the first\n"
    "	-- session surely in it\n"
    "ALTER TABLE incident ADD COLUMN sessions TEXT;   -- JSON, of an open step: the sessions that\n"
    "	-- show it: [number, begin in ns, bytes/s, bytes, stage]; NULL: none\n"
    "UPDATE incident SET from_ns = CAST(json_extract(document, '$.from_ns') AS INTEGER),\n"
    "	to_ns = CAST(json_extract(document, '$.to_ns') AS INTEGER)\n"
    "	WHERE json_valid(document) AND json_extract(document, '$.from_ns') IS NOT NULL\n"
    "	AND json_extract(document, '$.to_ns') IS NOT NULL;\n"
    "CREATE TABLE experiment (            -- natural experiments of the fleet; one row\n"
    "	id       INTEGER PRIMARY KEY CHECK(id = 1),\n"
    "	made_ns  INTEGER NOT NULL,        -- time of the analysis\n"
    "	document TEXT NOT NULL            -- JSON, see narrows-result(5), experiments\n"
    ");\n";

/*
 * From 16 to 17: what lists of series, labels and values are made of, so that no list reads all
 * metadata. A metadata counts as soon as it has a layout. first_id and last_id may be those of
 * metadata that are gone: no metadata that counts is outside.
 */
static const char version_17[] =
    "CREATE TABLE label (                 -- labels of series (Prometheus): host, session, and the "
    "keys of subjects\n"
    "	name     TEXT NOT NULL,           -- '_' for bytes that no name has there\n"
    "	value    TEXT NOT NULL,\n"
    "	n        INTEGER NOT NULL,        -- metadata with this value\n"
    "	first_id INTEGER NOT NULL,        -- all of them are from this metadata\n"
    "	last_id  INTEGER NOT NULL,        -- to this one\n"
    "	PRIMARY KEY (name, value)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE metric (                -- fields of an event type that arrive together\n"
    "	id          INTEGER PRIMARY KEY,\n"
    "	event_type  TEXT NOT NULL,        -- '': unknown\n"
    "	fieldset_id INTEGER NOT NULL REFERENCES fieldset(id),\n"
    "	n           INTEGER NOT NULL,     -- layouts\n"
    "	first_id    INTEGER NOT NULL,     -- their metadata, as in label\n"
    "	last_id     INTEGER NOT NULL,\n"
    "	UNIQUE (fieldset_id, event_type)\n"
    ");\n"
    "INSERT INTO label SELECT j.key, j.value, count(*), min(m.id), max(m.id)\n"
    "	FROM metadata m LEFT JOIN host h ON h.id = m.host_id\n"
    "	CROSS JOIN json_each(narrows_labels(h.name, m.session_id, m.subject)) j\n"
    "	WHERE EXISTS (SELECT 1 FROM layout l WHERE l.meta_id = m.id) GROUP BY 1, 2;\n"
    "INSERT INTO metric(event_type, fieldset_id, n, first_id, last_id)\n"
    "	SELECT coalesce(m.event_type, ''), l.fieldset_id, count(*), min(m.id), max(m.id)\n"
    "	FROM layout l JOIN metadata m ON m.id = l.meta_id GROUP BY 1, 2;\n"
    "CREATE TRIGGER label_unused AFTER UPDATE ON label WHEN new.n <= 0\n"
    "	BEGIN DELETE FROM label WHERE name = new.name AND value = new.value; END;\n"
    "CREATE TRIGGER metric_unused AFTER UPDATE ON metric WHEN new.n <= 0\n"
    "	BEGIN DELETE FROM metric WHERE id = new.id; END;\n";

/*
 * From 17 to 18: active tests of paths, as pScheduler runs them (narrows/activetest.h). Ends are
 * named as the test names them; store_tests_between() finds the hosts behind.
 */
static const char version_18[] =
    "CREATE TABLE active_test (           -- a test that sent bytes or packets of its own\n"
    "	id          INTEGER PRIMARY KEY,\n"
    "	run         TEXT NOT NULL UNIQUE, -- UUID of the run; a test is kept once\n"
    "	kind        TEXT NOT NULL,        -- throughput, latency, latencybg, rtt or trace\n"
    "	tool        TEXT NOT NULL,        -- '': unknown\n"
    "	source      TEXT NOT NULL,        -- name in lower case, or numeric address\n"
    "	destination TEXT NOT NULL,\n"
    "	start_ns    INTEGER NOT NULL,\n"
    "	end_ns      INTEGER NOT NULL,\n"
    "	succeeded   INTEGER NOT NULL,     -- 0: the test failed\n"
    "	error       TEXT NOT NULL,        -- of a failed test; '': not said\n"
    "	fields      TEXT NOT NULL,        -- JSON object: quantities by name; the table field has\n"
    "	                                  -- their units, by the kind of the test\n"
    "	details     TEXT                  -- JSON object of lists: intervals, histograms, hops\n"
    ");\n"
    "CREATE INDEX active_test_by_pair ON active_test(source, destination, end_ns);\n"
    "CREATE INDEX active_test_by_kind ON active_test(kind);\n"
    "CREATE VIEW v_active_test AS         -- one line per quantity of a test, newest test first\n"
    "	SELECT t.run, strftime('%Y-%m-%dT%H:%M:%SZ', t.start_ns / 1000000000, 'unixepoch') AS "
    "started,\n"
    "	t.kind, t.tool, t.source, t.destination, t.succeeded, f.key AS field, f.value,\n"
    "	(SELECT u.unit FROM field u WHERE u.field_glob = f.key AND\n"
    "		'" NW_TYPE_ACTIVE
    "' || t.kind GLOB u.event_glob AND u.unit IS NOT NULL ORDER BY u.rank LIMIT 1) AS unit\n"
    "	FROM active_test t LEFT JOIN json_each(t.fields) f ORDER BY t.end_ns DESC, t.id DESC;\n";

const char *const schema_migrations[STORE_SCHEMA_VERSION] = { version_1, version_2, version_3,
	version_4, version_5, version_6, version_7, version_8, version_9, version_10, version_11,
	version_12, version_13, version_14, version_15, version_16, version_17, version_18 };

int
schema_identify(sqlite3 *db, int64_t *version, char why[STORE_WHY_BYTES])
{
	int64_t application, objects = 0;
	int rc;

	if ((rc = db_int(db, "PRAGMA application_id", &application)) != NW_OK ||
	    (rc = db_int(db, "PRAGMA user_version", version)) != NW_OK ||
	    (rc = db_int(db, "SELECT count(*) FROM sqlite_schema", &objects)) != NW_OK) {
		db_why(db, why, STORE_WHY_BYTES);
		return rc;
	}
	if (application == 0 && *version == 0 && objects == 0)
		return NW_OK;
	if (application != SCHEMA_APPLICATION_ID || *version < 1) {
		snprintf(why, STORE_WHY_BYTES, "not a narrows store");
		return NW_ECORRUPT;
	}
	if (*version > STORE_SCHEMA_VERSION) {
		snprintf(why, STORE_WHY_BYTES,
		    "made by a newer narrows: schema %lld, this program knows %d",
		    (long long)*version, STORE_SCHEMA_VERSION);
		return NW_EVERSION;
	}
	return NW_OK;
}

int
schema_check(sqlite3 *db, char why[STORE_WHY_BYTES])
{
	int64_t version;
	int rc;

	if ((rc = schema_identify(db, &version, why)) != NW_OK)
		return rc;
	if (version == 0) {
		snprintf(why, STORE_WHY_BYTES, "an empty file, not a narrows store");
		return NW_ECORRUPT;
	}
	if (version < STORE_SCHEMA_VERSION) {
		snprintf(why, STORE_WHY_BYTES,
		    "made by an older narrows: schema %lld; start narrowsd on it once",
		    (long long)version);
		return NW_EVERSION;
	}
	return NW_OK;
}
