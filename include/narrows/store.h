/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time-series store: one SQLite file, one writer thread, readers on connections of their own.
 *
 * Writing: fill a batch and store_submit() the batch; the writer thread commits many batches in one
 * transaction and hands batches back through an eventfd. A batch that its completion calls stored
 * is on disk. Callers give ids (one thread owns each counter, starting from store_next_ids()), so
 * no caller waits for the database to give a name.
 *
 * Reading: a store_reader sees whole commits only. A reader belongs to one thread at a time.
 *
 * Text handed in is copied. Text in records handed out is on loan until the callback or the next
 * call on that reader.
 */
#ifndef NARROWS_STORE_H
#define NARROWS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/activetest.h"
#include "narrows/event.h"

enum { STORE_SCHEMA_VERSION = 18, STORE_WHY_BYTES = 256 };
enum { STORE_SETTINGS_MAX = 16384 };
/* Raw rows, and the buckets of old rows: of 10 s, of a minute, of an hour. */
enum store_tier { STORE_ROWS, STORE_10S, STORE_1MIN, STORE_1H, STORE_TIERS };

/* --- records; a text field is NULL when unknown, a time is 0 before the event --- */

struct nw_host_rec {
	int64_t id;
	const char *name;      /* unique */
	const char *info_json; /* facts from the host: software, kernel, ... */
	int64_t first_seen_wall_ns, last_seen_wall_ns;
};

/* end_reason of a protocol session that was open when the box was killed. */
#define STORE_BOX_ENDED "the box ended"

/* A protocol session, open to close. */
struct nw_xsp_rec {
	int64_t id;
	int64_t host_id;
	int64_t session_id;      /* 0: a host's own series (BLiPP), no transfer */
	const char *sess_id_hex; /* 32 digits */
	const char *peer;        /* address/port */
	const char *software;
	const char *provider; /* stable id of the sender, NULL for original peers */
	int64_t opened_wall_ns, closed_wall_ns;
	uint64_t docs, samples, rejected, bytes;
	uint64_t dropped; /* documents lost by the provider before sending, as the provider says */
	const char *end_reason;
	const char *owner;     /* sender, as of its provider ids; NULL: a file, or not known */
	const char *addresses; /* that the sender's certificate lists, by blanks; NULL: none */
};

/* A transfer or a run, on all of its hosts. */
struct nw_session_rec {
	int64_t id;
	const char *task_id; /* XSP sessions with the same task id belong together */
	const char *program;
	int64_t opened_wall_ns, closed_wall_ns, last_data_wall_ns;
	bool pinned; /* read only: see store_pin() */
	/* read only: known by what programs announce alone (narrows/announce.h) */
	bool announced;
};

struct nw_meta_rec {
	int64_t id;
	int64_t session_id; /* 0: belongs to the host alone */
	int64_t host_id, xsp_id;
	const char *mid, *pid, *event_type, *subject_json, *params_json;
	int64_t first_wall_ns;
	const uint8_t *raw; /* as received */
	size_t raw_len;
};

/* Fields of a metadata that arrive together, at the same times. New fields make a new layout of the
 * same metadata. */
struct nw_layout_rec {
	int64_t id;
	int64_t meta_id;
	size_t n_fields;
	const char *const *fields;
};

struct nw_run_rec {
	int64_t id;
	int64_t session_id;
	const char *kind; /* "verdict" */
	int64_t started_wall_ns, took_ns;
	const char *version;
	const char *outcome; /* "ok" or why not */
	/* read only: the verdict of a run that a later run replaced; replaced_wall_ns 0
	 * otherwise */
	int64_t replaced_wall_ns;
	const char *why, *stage, *sentence;
	double bytes_per_s;
};

/* The result document of a session, and its summary for lists. A later result replaces an earlier
 * one. */
struct nw_result_rec {
	int64_t session_id, run_id;
	const char *json;
	const char *route, *program;
	const char *stage; /* NULL: cannot tell */
	const char *confidence;
	double effect; /* NaN: unknown */
	const char *sentence;
	double bytes, bytes_per_s; /* NaN: unknown */
	int64_t start_wall_ns, duration_ns;
	double usual;       /* usual rate of the route over this rate; NaN: too few sessions */
	const char *label;  /* user's name for the session, or NULL */
	double exit_status; /* of the program, above 128 for a signal; NaN: unknown */
	bool imported;      /* read only: another box made the result */
};

/* An incident of a route. Route, program, first session and kind are its name. */
struct nw_incident_rec {
	const char *route, *program;        /* "" where unknown */
	int64_t session_id;                 /* the first session */
	const char *kind, *state;           /* "step" or "drift"; "open", "ended" or "accepted" */
	int64_t begin_wall_ns, end_wall_ns; /* end 0: no session after it so far */
	/* begins of the last session surely before the incident, and of the first surely in it */
	int64_t from_wall_ns, to_wall_ns;
	/* of an open step: the sessions that show the incident, for the time after they expire
	 * (analyze/verdict/usual/past.h has the form); NULL: none are kept */
	const char *sessions;
	const char *json; /* narrows-result(5), incident */
};

/* An operator takes the rate of an incident as usual, at a time. */
struct nw_acceptance_rec {
	const char *route, *program;
	int64_t session_id; /* the incident's first session */
	int64_t t_wall_ns;  /* to be kept: 0 is the time of the writing */
	const char *who, *why;
};

/* The history of a route: of the sessions of a program between the same hosts
 * (narrows/routehist.h). A later history of the same route and program replaces the record, and all
 * of the route's incidents. */
struct nw_route_rec {
	const char *route, *program; /* "" where unknown */
	int64_t made_wall_ns;
	int64_t n_sessions, newest_session_id;
	double bytes_per_s; /* usual rate; NaN: unknown */
	const char *stage;  /* of most verdicts, or NULL */
	const char *sentence;
	const char *json;
	const struct nw_incident_rec *incidents; /* for writing; readers have store_incidents() */
	size_t n_incidents;
};

/* Metrics worth keeping for a program on a route (narrows/keeplist.h). A later list of the same
 * route, program and response replaces the list. */
struct nw_keeplist_rec {
	const char *route, *program; /* "" where unknown */
	const char *response;        /* "delivered rate", "operation time", or a series */
	int64_t made_wall_ns, took_ns;
	bool headline; /* whether the metrics predict unseen rows, see nw_reduce_worth() */
	const char *sentence;
	const char *json;
};

/*
 * Series of a host that told nothing for long, to be sampled at a slower interval: proposed by the
 * box, accepted and ended by its operator (analyze/verdict/keep/diet_propose.c has the document).
 */
struct nw_diet_rec {
	int64_t id; /* read only: given by the store */
	int64_t host_id;
	const char *group; /* probe of the series; one proposal of a host and group is open */
	int64_t made_wall_ns;
	int64_t accepted_wall_ns; /* read only; 0: proposed */
	int64_t ended_wall_ns;    /* read only; 0: proposed or in force */
	int64_t carried_wall_ns;  /* read only; a series tells something again since; 0: none */
	const char *json;
};

/* A setting of a host from t_wall_ns on: a line of the history of its configuration. */
struct nw_setting_rec {
	int64_t host_id, t_wall_ns;
	const char *name;   /* the word before the first dot is the setting's group */
	const char *value;  /* NULL: the host has the setting no more */
	const char *before; /* read only: value until then, NULL if the host had none */
	bool first;         /* read only: the host told of the group for the first time */
};

/* --- batches: filled by one thread, then owned by the store --- */

struct nw_batch;
struct nw_batch *nw_batch_new(void);    /* NULL: no memory */
void nw_batch_free(struct nw_batch *b); /* a submitted batch belongs to the store */
size_t nw_batch_bytes(const struct nw_batch *b);

/* Each returns NW_OK, or NW_ENOMEM with the batch unchanged. Records of a batch are applied in
 * order. */
int nw_batch_host(struct nw_batch *b, const struct nw_host_rec *r); /* insert or update by id */
int nw_batch_xsp(struct nw_batch *b, const struct nw_xsp_rec *r);   /* insert or update by id */
/* insert or update by id */
int nw_batch_session(struct nw_batch *b, const struct nw_session_rec *r);
int nw_batch_meta(struct nw_batch *b, const struct nw_meta_rec *r);     /* insert */
int nw_batch_layout(struct nw_batch *b, const struct nw_layout_rec *r); /* insert */
int nw_batch_run(struct nw_batch *b, const struct nw_run_rec *r);       /* insert or update by id */
int nw_batch_result(struct nw_batch *b, const struct nw_result_rec *r); /* replace by session */
int nw_batch_keeplist(struct nw_batch *b, const struct nw_keeplist_rec *r);
/* Makes a proposal, or replaces a proposal. Accepted diets stay. */
int nw_batch_diet(struct nw_batch *b, const struct nw_diet_rec *r);
/* Deletes the host's proposals made before a time. */
int nw_batch_diet_trim(struct nw_batch *b, int64_t host_id, int64_t before_wall_ns);
/* Accepts a proposal; ends a diet in force, or refuses a proposal; notes that a series of a diet in
 * force tells something again. Nothing else changes. */
int nw_batch_diet_accept(struct nw_batch *b, int64_t id, int64_t now_wall_ns);
int nw_batch_diet_end(struct nw_batch *b, int64_t id, int64_t now_wall_ns);
int nw_batch_diet_carried(struct nw_batch *b, int64_t id, int64_t now_wall_ns);
/* What the scheduled reductions have said of each series of a host so far. */
int nw_batch_diet_seen(struct nw_batch *b, int64_t host_id, const char *json);
/* Writes a line of history if the value is not the value of that time. value: not NULL. */
int nw_batch_setting(struct nw_batch *b, const struct nw_setting_rec *r);
/*
 * To follow the settings of one document: whatever the host had at t_wall_ns with from <= name <
 * until, and what is no key of the JSON object names_json, is gone. Of a history that is too long
 * (STORE_SETTINGS_MAX lines of one host) the oldest lines go that have a successor, then the oldest
 * of all.
 */
int nw_batch_settings_end(struct nw_batch *b, int64_t host_id, int64_t t_wall_ns, const char *from,
    const char *until, const char *names_json);
/* Beyond 2,000 routes, the routes with the fewest sessions go. */
int nw_batch_route(struct nw_batch *b, const struct nw_route_rec *r);
/* Replaces the natural experiments (narrows-result(5), experiments). */
int nw_batch_experiments(struct nw_batch *b, int64_t made_wall_ns, const char *json);
/*
 * Highest sequence number of a provider's documents in this and earlier batches. The numbers belong
 * to owner and provider together: equal ids of two owners are two providers.
 */
int
nw_batch_provider(struct nw_batch *b, const char *owner, const char *provider, uint64_t stored_seq);
/* n rows of a layout: n times, and n x n_fields values row by row. hist: a blob for a single row,
 * or NULL. No allocation once the batch has grown. */
int nw_batch_rows(struct nw_batch *b, int64_t layout_id, size_t n_fields, size_t n,
    const int64_t *t_wall_ns, const double *values, const uint8_t *hist, size_t hist_len);
/* An event of a session (0: of none) by a host, the sender. NW_EINVAL: no event that a block takes
 * (narrows/event.h). */
int nw_batch_event(
    struct nw_batch *b, int64_t session_id, int64_t host_id, const struct nw_event *event);
/* Two sessions turn out to be one: all of the first belongs to the second, and the first is
 * gone. */
int nw_batch_merge(struct nw_batch *b, int64_t from_id, int64_t into_id);
/* A closed session opens again: its verdict so far stays with its run. why: the opener. */
int
nw_batch_keep_result(struct nw_batch *b, int64_t session_id, int64_t now_wall_ns, const char *why);
/* The session has no verdict any more: the box judges the session when it starts. */
int nw_batch_drop_result(struct nw_batch *b, int64_t session_id);
/* Says that the session's series get no more rows, so that the rows are compacted at once. */
int nw_batch_seal(struct nw_batch *b, int64_t session_id);

/*
 * done runs from store_run_completions(). rc is NW_OK after the commit, else the reason why the
 * batch is lost: NW_ECONFLICT for a batch that contradicts the store (such a batch fails alone). A
 * batch is not lost for want of disk or memory: the store tries again every second while the queue
 * fills up, and reports NW_EIO or NW_ENOMEM only in store_close().
 */
void nw_batch_on_done(struct nw_batch *b, void (*done)(void *arg, int rc), void *arg);

/* --- the store --- */

struct store;
/* The upgrade of a file of an older version. Texts on loan during the call. */
struct store_upgrade {
	int from, to;       /* versions of the schema */
	const char *backup; /* path of the copy of the older file */
	int64_t took_ns;    /* of copy and upgrade; 0 before the beginning */
};

struct store_opts {
	uint32_t queue_max_bytes;   /* 64 MiB; over the limit store_submit() says NW_EFULL */
	int64_t commit_interval_ns; /* 100 ms: the longest a batch waits for company */
	bool sync_full;             /* fsync every commit (default), else at checkpoints */
	/*
	 * How old rows get (by their time, but never older than their metadata is here) before they
	 * become buckets of the next tier; the last are deleted. 0: for ever (default). Pinned
	 * sessions keep their rows.
	 */
	int64_t keep_ns[STORE_TIERS];
	/* Time after which events are deleted, counted from when they were stored; 0 keeps them
	 * for ever (default). Pinned sessions keep their events. */
	int64_t keep_events_ns;
	/*
	 * Time after which a closed session without pin is forgotten, with its verdict; but no
	 * session with connections that are open or ended within the hour. Later descriptions of a
	 * forgotten session belong to the host alone, and later rows are dropped (late_rows). 0
	 * keeps sessions for ever (default).
	 */
	int64_t keep_sessions_ns;
	/*
	 * Most bytes of file and WAL together; 0 sets no limit (default). At the limit the oldest
	 * rows without pin become buckets early, the oldest buckets are deleted, and the oldest
	 * sessions are forgotten (store/write/ceiling.h has the order). When all this makes too
	 * little room, commits fail and `trouble` begins with "size ceiling". A batch of more than
	 * a sixteenth of the limit may fail with NW_ETOOBIG.
	 */
	uint64_t max_bytes;
	/* A function for the log, called before and after a file of an older version is brought up
	 * to date, in the thread of store_open(); NULL: no function. */
	void (*on_upgrade)(const struct store_upgrade *u);
};
extern const struct store_opts store_opts_default;

struct store_ids {
	int64_t host, xsp, session, meta, layout, run;
}; /* the next free id of each table */

struct store_stats { /* a consistent copy */
	uint64_t queued_batches, queued_bytes;
	/* how long batches have waited without any commit; 0 while nothing waits */
	int64_t stalled_ns;
	uint64_t commits, batches, rows, samples, events, failed_batches;
	int64_t last_commit_wall_ns, last_commit_took_ns;
	uint64_t file_bytes;              /* file and WAL */
	uint64_t max_bytes;               /* their ceiling; 0: none */
	uint64_t tier_bytes[STORE_TIERS]; /* compressed, in chunks and roll-ups */
	uint64_t event_bytes;             /* compressed */
	/* rows of each tier that became buckets of the next tier, since the start */
	uint64_t rolled_rows[STORE_TIERS];
	uint64_t expired_rows[STORE_TIERS]; /* rows deleted, of each tier */
	uint64_t forgotten_sessions;        /* since the start */
	/* rows for forgotten sessions, dropped */
	uint64_t late_rows;
	/* chunks and histograms found damaged during a roll-up or removal */
	uint64_t lost_chunks, lost_hists;
	/* acknowledged commits that were missing when the store was opened: the write-ahead log
	 * was lost or damaged */
	uint64_t lost_commits;
	double days_left; /* until the ceiling, at the rate since the start; NaN: not known */
	/* reason why commits fail now ("disk full", ...); empty while commits succeed */
	char trouble[STORE_WHY_BYTES];
};

/*
 * Opens or creates the file and starts the writer. NW_EVERSION: made by a newer version.
 * NW_ECORRUPT: not a store. why gets the reason in words.
 */
int store_open(
    const char *path, const struct store_opts *opts, struct store **out, char why[STORE_WHY_BYTES]);
/* Commits the queue, stops the writer, runs pending completions. */
void store_close(struct store *st);
void store_next_ids(const struct store *st, struct store_ids *out);

/* Any thread. The store owns b from now on, except after NW_EFULL, when b stays the caller's. */
int store_submit(struct store *st, struct nw_batch *b);
/*
 * Waits until everything submitted before is committed or has failed. NW_EIO: disk or memory are
 * short and it is still queued. Any thread but a completion.
 */
int store_sync(struct store *st);
/* Readable when store_run_completions() has work, and when the queue has room again after
 * NW_EFULL. */
int store_completion_fd(const struct store *st);
void store_run_completions(struct store *st);                    /* one thread */
void store_get_stats(struct store *st, struct store_stats *out); /* any thread */

/* A pinned session keeps its present rows, and those of its hosts from its time. Any process with
 * the right to write may pin, whether the store is open or not. NW_ENOTFOUND: no such session. */
int store_pin(const char *path, int64_t session_id, bool pinned, char why[STORE_WHY_BYTES]);

/* An annotation of a session's lifelines. */
struct nw_note_rec {
	int64_t id, session_id;
	int64_t t_wall_ns;        /* time described by the note */
	const char *line;         /* ids of a lifeline, or "" */
	const char *point, *text; /* point of the path, or "" */
	int64_t made_wall_ns;
};
/* First character of the line of a note that is about no lifeline. */
#define STORE_NOTE_OTHER '='
/* Line of a note on the session's verdict; the point is "yes" (right) or "no". */
#define STORE_NOTE_VERDICT "=verdict"
/* Line of a note on what the box of another site, the point, measured of the session. */
#define STORE_NOTE_PARTNER "=partner"
enum { STORE_NOTE_BYTES = 2000, STORE_NOTES_MAX = 1000 }; /* of a text; of a session */
/* Keeps a note with its session; *id gets its number. Any process with the right to write may, as
 * with store_pin(). NW_ENOTFOUND: no such session, or the session has STORE_NOTES_MAX. NW_ETOOBIG:
 * a text is longer than STORE_NOTE_BYTES. */
int store_note_add(
    const char *path, const struct nw_note_rec *note, int64_t *id, char why[STORE_WHY_BYTES]);
/* The same for a serving thread: NW_EIO during another process's long write. */
int store_note_add_soon(
    const char *path, const struct nw_note_rec *note, int64_t *id, char why[STORE_WHY_BYTES]);
/* NW_ENOTFOUND: no such note. */
int store_note_drop(const char *path, int64_t id, char why[STORE_WHY_BYTES]);

enum { STORE_ACCEPTANCE_BYTES = 500, STORE_ACCEPTANCES_MAX = 1000 }; /* of a text; of a route */
/* Keeps the acceptance of an open step of a route, as store_note_add(); the history of the route
 * follows with its next analysis. NW_ENOTFOUND: no such open incident. NW_ETOOBIG: a text is longer
 * than STORE_ACCEPTANCE_BYTES. */
int store_acceptance_add(
    const char *path, const struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES]);
/* The same for a serving thread: NW_EIO during another process's long write. */
int store_acceptance_add_soon(
    const char *path, const struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES]);

enum { STORE_TESTS_MAX = 50000 }; /* of a kind; the tests stored first go first */
/* Keeps active tests, all or none, as store_note_add(). A run that the store has is left as it is;
 * *added counts the others. NW_ENOMEM, NW_EIO. */
int store_tests_add(const char *path, const struct nw_active_test *tests, size_t n, size_t *added,
    char why[STORE_WHY_BYTES]);
/* The same for a serving thread: NW_EIO during another process's long write. */
int store_tests_add_soon(const char *path, const struct nw_active_test *tests, size_t n,
    size_t *added, char why[STORE_WHY_BYTES]);

/* --- reading --- */

struct store_reader;
int store_reader_open(const char *path, struct store_reader **out, char why[STORE_WHY_BYTES]);
void store_reader_close(struct store_reader *r);
/* All calls until store_reader_end() see one snapshot. Calls outside see the newest commit each. */
int store_reader_begin(struct store_reader *r);
void store_reader_end(struct store_reader *r);

/* Callbacks return 0 to go on, 1 to stop early (NW_OK), or a negative code, which is passed
 * through. */
typedef int store_host_fn(void *arg, const struct nw_host_rec *h);
typedef int store_xsp_fn(void *arg, const struct nw_xsp_rec *x);
typedef int store_session_fn(
    void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res_or_null);
typedef int store_unjudged_fn(void *arg, int64_t session_id, const char *owner);
typedef int store_meta_fn(void *arg, const struct nw_meta_rec *m);
typedef int store_layout_fn(void *arg, const struct nw_layout_rec *l);
typedef int store_text_fn(void *arg, const char *text);
/* Ids of metadata, first to last; none if last < first. */
struct store_span {
	int64_t first, last;
};
/* Fields of an event type that arrive together: a JSON array of names. */
struct nw_metric_rec {
	const char *event_type, *fields_json;
	struct store_span span; /* has all such metadata */
};
typedef int store_metric_fn(void *arg, const struct nw_metric_rec *m);
/* A place in the list of all struct nw_metric_rec; { 0 } is the begin. */
struct store_metric_place {
	int64_t rowid;
};
typedef int
store_provider_fn(void *arg, const char *owner, const char *provider, uint64_t stored_seq);
typedef int store_run_fn(void *arg, const struct nw_run_rec *run);
typedef int store_note_fn(void *arg, const struct nw_note_rec *note);
/* details are on loan, too. */
typedef int store_test_fn(void *arg, const struct nw_active_test *test);
/* A closed session of the path of a test. */
struct nw_beside_rec {
	int64_t session_id;
	const char *owner; /* of the first protocol session; "": not known */
	const char *route;
	int64_t start_wall_ns, end_wall_ns;
};
typedef int store_beside_fn(void *arg, const struct nw_beside_rec *session);
/* Tests of a kind with a tool from one end to another, as the tests name the ends. */
struct nw_test_pair_rec {
	const char *src, *dst, *tool; /* tool: "" where unknown */
	enum nw_test_kind kind;
	int64_t n, newest_wall_ns; /* end of the newest */
};
typedef int store_test_pair_fn(void *arg, const struct nw_test_pair_rec *pair);
typedef int store_keeplist_fn(void *arg, const struct nw_keeplist_rec *list);
typedef int store_diet_fn(void *arg, const struct nw_diet_rec *diet);
typedef int store_setting_fn(void *arg, const struct nw_setting_rec *s);
typedef int store_move_fn(void *arg, int64_t t_wall_ns);
typedef int store_route_fn(void *arg, const struct nw_route_rec *route);
typedef int store_incident_fn(void *arg, const struct nw_incident_rec *incident);
typedef int store_acceptance_fn(void *arg, const struct nw_acceptance_rec *a);

int store_hosts(struct store_reader *r, store_host_fn *fn, void *arg);
/* A host by its name. NW_ENOTFOUND */
int store_host_named(struct store_reader *r, const char *name, store_host_fn *fn, void *arg);
/* NW_ENOTFOUND */
int store_host_get(struct store_reader *r, int64_t id, store_host_fn *fn, void *arg);
int store_providers(struct store_reader *r, store_provider_fn *fn, void *arg);
/* Newest first, ids below before_id (0: from the newest). The result comes without json. */
int store_sessions(
    struct store_reader *r, int64_t before_id, size_t limit, store_session_fn *fn, void *arg);
/* Newest first, the ids of at most `max` of the newest `limit` sessions below before_id that were
 * open at some time from .. to; no time of an end stands for open. */
int store_sessions_during(struct store_reader *r, int64_t before_id, size_t limit,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t *id, size_t max, size_t *n);
/* Oldest first, ids above after_id; without json. */
int store_sessions_after(
    struct store_reader *r, int64_t after_id, size_t limit, store_session_fn *fn, void *arg);
/*
 * Closed sessions without a verdict on all of their data, oldest first: those without a result,
 * those that opened again since, and those whose result began less than linger_ns after the last
 * data. The owner is that of the session's first sender, "" if unknown. O(sessions).
 */
int store_sessions_unjudged(
    struct store_reader *r, int64_t linger_ns, size_t limit, store_unjudged_fn *fn, void *arg);
/* A number, changed by each commit of another connection than the reader's. */
int store_data_version(struct store_reader *r, int64_t *version);
/* NW_ENOTFOUND; with json */
/* A number that changes with the document of the session's result, found without unpacking the
 * document. NW_ENOTFOUND without a result. */
int store_result_stamp(struct store_reader *r, int64_t session_id, uint64_t *stamp);
int store_session_get(struct store_reader *r, int64_t id, store_session_fn *fn, void *arg);
int store_session_last(struct store_reader *r, int64_t *id); /* NW_ENOTFOUND */
int store_xsp_of_session(struct store_reader *r, int64_t session_id, store_xsp_fn *fn, void *arg);
/* Newest first. */
int store_xsp_of_host(
    struct store_reader *r, int64_t host_id, size_t limit, store_xsp_fn *fn, void *arg);
/* The latest connections of a host, at most `limit` of them, in short. */
struct nw_host_use {
	int64_t n_connections, n_open;
	int64_t n_sessions, newest_session_id; /* their sessions; the id is 0 without a session */
	int64_t last_wall_ns;                  /* latest begin or end of a connection */
};
int store_host_use(struct store_reader *r, int64_t host_id, size_t limit, struct nw_host_use *out);
/* NW_ENOTFOUND */
int store_xsp_get(struct store_reader *r, int64_t id, store_xsp_fn *fn, void *arg);
/* Sessions with a result of this route and program ("" where unknown), that began before a time,
 * latest first. The result comes without json. */
int store_sessions_of_route(struct store_reader *r, const char *route, const char *program,
    int64_t before_wall_ns, size_t limit, store_session_fn *fn, void *arg);
/* Routes in order of their newest sessions, newest first; without json. */
int store_routes(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg);
/* NW_ENOTFOUND; with json */
int store_route_get(
    struct store_reader *r, const char *route, const char *program, store_route_fn *fn, void *arg);
/* Routes and programs of results without a history, at most limit; json and numbers are not set. */
int store_routes_lacking(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg);
/* Routes with a history that is older than an acceptance; json and numbers are not set. */
int store_routes_stale(struct store_reader *r, size_t limit, store_route_fn *fn, void *arg);
struct nw_incident_select {
	const char *route, *program; /* NULL: any */
	const char *state;           /* NULL: any */
	int64_t session_id;          /* only incidents with this first session; 0: all */
	int64_t since_wall_ns;       /* only incidents open at the time, or ended later; 0: all */
	int64_t before_wall_ns;      /* only incidents that began before; 0: all */
	size_t limit;
};
/* Newest begin first. */
int store_incidents(
    struct store_reader *r, const struct nw_incident_select *s, store_incident_fn *fn, void *arg);
/* A route of the box, asked about the first slow sessions of another route. */
struct nw_vouch_rec {
	const char *route, *program; /* "" where unknown */
	bool spoke;                  /* the route had a session after the incident's first one */
	bool fell;                   /* a step of the route may have begun at the same time */
};
typedef int store_vouch_fn(void *arg, const struct nw_vouch_rec *v);
/* The routes that share a host with the incident's route; the route itself may be among them.
 * Session, from and to are those of the incident (struct nw_incident_rec). */
int store_vouching(struct store_reader *r, const char *from_host, const char *to_host,
    const struct nw_incident_rec *of, store_vouch_fn *fn, void *arg);
/* The number of open incidents. */
int store_incidents_open(struct store_reader *r, uint64_t *n);
/* Acceptances of a route's incidents, rising in time. */
int store_acceptances(struct store_reader *r, const char *route, const char *program,
    store_acceptance_fn *fn, void *arg);
/* The natural experiments of the fleet (narrows-result(5), experiments), the newest of their kind;
 * no call without any. */
typedef int store_experiments_fn(void *arg, int64_t made_wall_ns, const char *json);
int store_experiments(struct store_reader *r, store_experiments_fn *fn, void *arg);
/* Newest first. */
int store_keeplists(struct store_reader *r, store_keeplist_fn *fn, void *arg);
/* Diets of a host (0: of all), by host and id. */
int store_diets(struct store_reader *r, int64_t host_id, store_diet_fn *fn, void *arg);
/* The document of nw_batch_diet_seen() in `json`; NW_ENOTFOUND without one. */
int store_diet_seen(struct store_reader *r, int64_t host_id, store_diet_fn *fn, void *arg);
/* Rows of a layout in compressed chunks since a time, and their bytes there. */
/* How many rows of a layout with t0 <= t < t1 a query reads at most; rows that are not in chunks
 * yet are not counted, and chunks count as a whole. */
int store_rows_count(struct store_reader *r, int64_t layout_id, int64_t t0_wall_ns,
    int64_t t1_wall_ns, int64_t *n_rows);
int store_chunk_size(struct store_reader *r, int64_t layout_id, int64_t from_wall_ns,
    int64_t *n_rows, int64_t *n_bytes);
/* The name of a series of blipp in lists of metrics: "disk:partition:sda", "network:qdisc eth0".
 * NULL: not blipp's, or no memory. free() the name. */
char *store_series_name(const struct nw_meta_rec *rec);
/* The use of a host's series in a stretch of time. */
struct store_named_cost {
	size_t n_series;         /* with rows */
	double rows, samples;    /* samples: values in the rows */
	double bytes_per_sample; /* in compressed chunks; NaN: nothing is compressed yet */
	int64_t first_wall_ns;   /* time of the first row; 0 without rows */
};
/* names NULL: all series of blipp. */
int store_named_cost(struct store_reader *r, int64_t host_id, const char *const *names,
    size_t n_names, int64_t t0_wall_ns, int64_t t1_wall_ns, struct store_named_cost *out);
/* The settings of a host as they stood at a time, by name; `before` and `first` are not filled. */
int store_config_at(
    struct store_reader *r, int64_t host_id, int64_t t_wall_ns, store_setting_fn *fn, void *arg);
/* The changes of a host's settings with from < t_wall_ns <= to, rising in time. */
int store_config_changes(struct store_reader *r, int64_t host_id, int64_t from_wall_ns,
    int64_t to_wall_ns, store_setting_fn *fn, void *arg);
/* Those of the changes that are not the first report of their setting. A host's first report has
 * hundreds of settings, so this is the question where only what moved matters. */
int store_config_again(struct store_reader *r, int64_t host_id, int64_t from_wall_ns,
    int64_t to_wall_ns, store_setting_fn *fn, void *arg);
/* Times of a setting's changes on all hosts until a time, rising; first reports are no changes. */
int store_config_moves(
    struct store_reader *r, const char *name, int64_t to_wall_ns, store_move_fn *fn, void *arg);
/* Rising in the time described by the notes. */
int store_notes(struct store_reader *r, int64_t session_id, store_note_fn *fn, void *arg);
/* Notes of all sessions with a line and point. */
/*
 * Tests from one measured host to another that ended from one time on and before another, newest
 * first. A test's end is the host if the end has the host's name, or an address that the host's
 * certificate lists or from which the host has spoken of late with its certificate; no address of
 * loopback.
 */
int store_tests_between(struct store_reader *r, const char *src_host, const char *dst_host,
    int64_t from_wall_ns, int64_t to_wall_ns, size_t limit, store_test_fn *fn, void *arg);
/* Tests that came later than the test `id` (0: all), in the order of arrival. */
int
store_tests_after(struct store_reader *r, int64_t id, size_t limit, store_test_fn *fn, void *arg);
/* Closed sessions that were measured here, between the hosts of a test's ends as above, and that
 * the test overlaps if the test is longer by apart_ns at both ends; newest first. */
int store_sessions_beside(struct store_reader *r, const struct nw_active_test *test,
    int64_t apart_ns, size_t limit, store_beside_fn *fn, void *arg);
/* The pairs of ends with tests, the pair with the newest test first. O(tests). */
int store_test_pairs(struct store_reader *r, size_t limit, store_test_pair_fn *fn, void *arg);
/* The tests of such a pair that ended from one time on and before another, oldest first. */
int store_tests_of_pair(struct store_reader *r, const struct nw_test_pair_rec *pair,
    int64_t from_wall_ns, int64_t to_wall_ns, size_t limit, store_test_fn *fn, void *arg);

/* The notes of all sessions of a route and program, rising in the time described. */
int store_notes_of_route(
    struct store_reader *r, const char *route, const char *program, store_note_fn *fn, void *arg);
int store_notes_count(struct store_reader *r, const char *line, const char *point, uint64_t *n);
int store_runs(struct store_reader *r, int64_t session_id, store_run_fn *fn, void *arg);
/*
 * Metadata of a session (session_id > 0) or of a host alone (session_id 0, host_id > 0; 0: of all
 * hosts), whose event type starts with event_prefix ("" or NULL: all), in id order. raw is not
 * filled.
 */
int store_metas(struct store_reader *r, int64_t session_id, int64_t host_id,
    const char *event_prefix, store_meta_fn *fn, void *arg);
/* One metadata, with raw; raw is NULL of metadata made by the box. NW_ENOTFOUND */
int store_meta_get(struct store_reader *r, int64_t id, store_meta_fn *fn, void *arg);
/*
 * Metadata of all sessions and hosts with after_id < id <= last_id, whose event type starts with
 * event_prefix ("": all), in id order; takes time in proportion to last_id - after_id at most. raw
 * is not filled.
 */
int store_metas_between(struct store_reader *r, int64_t after_id, int64_t last_id,
    const char *event_prefix, store_meta_fn *fn, void *arg);
/* Highest id of a metadata, 0 in a store without metadata. */
int store_meta_last(struct store_reader *r, int64_t *id);
int store_layouts(struct store_reader *r, int64_t meta_id, store_layout_fn *fn, void *arg);
/* Names of the labels of all subjects, and "host" and "session", at most `limit`, in the order of
 * their bytes (store/ground/label.h). */
int store_label_names(struct store_reader *r, size_t limit, store_text_fn *fn, void *arg);
/* Values of a label of subjects, of "host" or of "session" likewise. */
int store_label_values(
    struct store_reader *r, const char *name, size_t limit, store_text_fn *fn, void *arg);
/* Ids of metadata with series, at most `limit`, in the order of the ids. */
int store_series_ids(struct store_reader *r, size_t limit, store_text_fn *fn, void *arg);
/* Event types with their fields, at most `limit` behind *after, which becomes the last of them. */
int store_metrics(struct store_reader *r, struct store_metric_place *after, size_t limit,
    store_metric_fn *fn, void *arg);
/* Narrows *span: no metadata with the label's value lies outside. */
int store_label_span(
    struct store_reader *r, const char *name, const char *value, struct store_span *span);
/* The unit (UCUM) of a metadata's field, as v_series says; "" if the unit is not known, or if buf
 * is too small. */
int store_unit(struct store_reader *r, int64_t meta_id, const char *field, char *buf, size_t size);

/* --- events --- */

enum { STORE_SESSION_NONE = -1 };
struct nw_event_select {
	/* STORE_SESSION_NONE: of no session; 0: of any, and of none */
	int64_t session_id;
	int64_t host_id;                   /* the sender's; 0: any */
	int64_t from_wall_ns, to_wall_ns;  /* from <= t < to; both 0: all */
	const char *host, *program, *name; /* NULL: any; a name with * at its end is a beginning */
	const char *key, *value; /* an attribute, compared as text; key NULL: of any key */
};
struct nw_event_rec {
	int64_t session_id, host_id; /* session_id 0: none */
	struct nw_event event;       /* host: as the event says, else the sender's name */
};
typedef int store_event_fn(void *arg, const struct nw_event_rec *e);

/* Events in the order of their times. Memory grows with the rows of event_chunk that overlap in
 * time, up to a limit; more of them are read several times. */
int store_events(
    struct store_reader *r, const struct nw_event_select *s, store_event_fn *fn, void *arg);
/* How many events a session has (or STORE_SESSION_NONE, or 0 for all), and their span; n 0: none */
struct nw_event_span {
	int64_t n, first_wall_ns, last_wall_ns;
};
int store_event_span(struct store_reader *r, int64_t session_id, struct nw_event_span *out);

struct store_block { /* rows of a layout, rising in time; on loan */
	size_t n_rows, n_fields;
	const int64_t *t_wall_ns;
	const double *const *columns; /* n_fields pointers to n_rows values */
	const uint8_t *const *hist;   /* n_rows pointers, or NULL if no row has a histogram */
	const size_t *hist_len;
	/* length of the longest bucket of a row; 0 for raw rows */
	int64_t bucket_ns;
};
typedef int store_block_fn(void *arg, const struct store_block *b);
/* Rows of a layout with t0 <= t < t1, in time order over all blocks. Constant memory. Where rows
 * are gone, a row stands for a bucket of the finest tier left, at the time of the bucket's last
 * row: amounts are sums, gauges are means, counters keep their last value (narrows/field.h). */
int store_rows(struct store_reader *r, int64_t layout_id, int64_t t0_wall_ns, int64_t t1_wall_ns,
    store_block_fn *fn, void *arg);
/* The same with some fields only, at less cost: columns[f] of other fields is NULL, and there are
 * no histograms. */
int store_rows_of(struct store_reader *r, int64_t layout_id, const uint32_t *fields,
    size_t n_fields, int64_t t0_wall_ns, int64_t t1_wall_ns, store_block_fn *fn, void *arg);
/* Rows as if the rows had come once per step_ns (> 0), made from buckets as above. */
int store_rows_at(struct store_reader *r, int64_t layout_id, int64_t step_ns, int64_t t0_wall_ns,
    int64_t t1_wall_ns, store_block_fn *fn, void *arg);

struct store_bucket_block { /* statistics of fields over stretches of time, rising; on loan */
	size_t n_buckets, n_fields;
	const int64_t *t_wall_ns; /* of the last row in each */
	/* [n_fields] pointers to n_buckets values each, NULL of fields that were not asked for. n
	 * counts values other than NaN; min and max are NaN without such values; m2 is the sum of
	 * squared differences from the mean, sum / n. */
	const double *const *n, *const *sum, *const *min, *const *max, *const *m2;
};
typedef int store_bucket_fn(void *arg, const struct store_bucket_block *b);
/* Buckets that begin at multiples of step_ns since 1970, of rows with t0 <= t < t1, without empty
 * buckets. fields NULL: all. Where finer data is gone, a stored bucket longer than step_ns counts
 * whole in the bucket of its last row. */
int
store_buckets(struct store_reader *r, int64_t layout_id, const uint32_t *fields, size_t n_fields,
    int64_t t0_wall_ns, int64_t t1_wall_ns, int64_t step_ns, store_bucket_fn *fn, void *arg);
/* The newest row, without histogram. NW_ENOTFOUND: the layout has no rows. */
int store_last_row(struct store_reader *r, int64_t layout_id, store_block_fn *fn, void *arg);

#endif
