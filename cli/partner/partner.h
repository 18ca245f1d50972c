/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One transfer, two boxes. A session with the other end at the box of another site, a partner, gets
 * the windows of the other end, and the other box gets ours. Both judge the same measurements.
 *
 *	our box                                     the partner's
 *	session closes, far address in SITE's networks
 *	    -- connections, time (a question) -->   the asker's networks? a session with the
 *	                                            connection, its ends the other way round?
 *	    <-- windows of that session, signed --
 *	checked, cleaned, fed as hosts NAME@SITE
 *
 * Boxes know each other by the pins of their certificates, exchanged once by a token. The exchange
 * is TLS with a question and an answer, each a line of JSON; windows follow an answer.
 *
 * Blocking calls; one thread. Lack of memory is fatal. `why` has PARTNER_WHY_BYTES.
 */
#ifndef CLI_PARTNER_H
#define CLI_PARTNER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/announce.h"
#include "narrows/conftable.h"
#include "narrows/tls.h"
#include "narrows/token.h"

enum {
	PARTNER_WHY_BYTES = 512,
	PARTNER_ENDS_MAX = 64,            /* connections of a question */
	PARTNER_LINE_BYTES = 64 << 10,    /* a question, or the head of an answer or of windows */
	PARTNER_WINDOWS_BYTES = 64 << 20, /* windows of a session */
	PARTNER_AT_ONCE_MAX = 16,         /* questions in work */
	PARTNER_HELLO_MAX_S = 15,         /* until the question is there */
	PARTNER_MAX_S = 120               /* for all of a connection */
};

/* --- configuration: partner_conf.c --- */

struct partner_conf {
	char *site;    /* name of this box's site among partners */
	char *listen;  /* address/port for questions */
	char *address; /* host/port of this box for partners */
	char *dir;     /* key, certificate, partners, windows */
	int64_t interval_ns, patience_ns;
	uint64_t rate; /* questions of a partner in a minute */
	uint64_t keep_bytes;
};

int partner_conf_read(const char *path, struct partner_conf *c, char why[CONF_WHY_BYTES]);
void partner_conf_clear(struct partner_conf *c);
bool partner_is_site(const char *text);

/* --- trust: partner_book.c --- */

struct partner {
	char *site, *cert_pem, *address, *networks_text;
	uint8_t pin[NW_TLS_PIN_BYTES];
	struct nw_networks networks; /* of its hosts */
};
struct partners {
	struct partner *list;
	size_t n;
};

/* Makes the directory, and this box's key and certificate if none exist. NW_EIO. */
int partner_self(const struct partner_conf *c, char why[PARTNER_WHY_BYTES]);
/* The text of a file of the directory; free() it. NULL with why. */
char *partner_file(const struct partner_conf *c, const char *name, char why[PARTNER_WHY_BYTES]);
/* The partners of now. Clear also after a failure. */
int partners_read(const struct partner_conf *c, struct partners *out, char why[PARTNER_WHY_BYTES]);
void partners_clear(struct partners *p);
/* A token with which the box of a site becomes a partner, for an hour. NW_EINVAL, NW_EIO. */
int partner_invite(const struct partner_conf *c, const char *site, const char *networks,
    char token[TOKEN_TEXT_BYTES], char why[PARTNER_WHY_BYTES]);
/* Keeps a partner, in the place of an earlier one of the site. */
int partner_keep(const struct partner_conf *c, const char *site, const char *cert_pem,
    const char *address, const char *networks, char why[PARTNER_WHY_BYTES]);
/* Spends the invitation behind a secret for a site: keeps the partner. NW_ECONFLICT: none fits. */
int partner_redeem(const struct partner_conf *c, const char *secret, const char *site,
    const char *cert_pem, const char *address, char why[PARTNER_WHY_BYTES]);
/* NW_ENOTFOUND. */
int partner_remove(const struct partner_conf *c, const char *site, char why[PARTNER_WHY_BYTES]);

/* --- windows: partner_windows.c --- */

/* A connection, by numeric addresses; `src` is the end of the box that speaks. */
struct partner_end {
	char src[64], dst[64];
	uint16_t sport, dport;
};

/*
 * Windows as they travel, and as files:
 *
 *	{"format":"narrows-windows/1","site":...,"to":...,"bytes":N,...}	LF
 *	N bytes: documents, as narrows export writes them
 *	signature of all bytes before, hexadecimal					LF
 */
struct windows {
	json_t *head;
	const char *docs; /* on loan from the bytes */
	size_t docs_len;
};

/* Takes over the reference of head, and sets its "bytes". free() the result; NULL with why. */
char *windows_seal(json_t *head, const char *docs, size_t docs_len, const char *key_pem,
    size_t *len, char why[PARTNER_WHY_BYTES]);
/* Opens windows of anybody. cert_pem NULL: the signature does not count. NW_EPROTO with why: cut,
 * changed, or not windows. */
int windows_open(const char *bytes, size_t len, const char *cert_pem, struct windows *out,
    char why[PARTNER_WHY_BYTES]);
void windows_close(struct windows *w);
/* Opens a file of windows of this site or of a partner, by the certificate of its site. *bytes has
 * what the windows are on loan from; free() it, also after a failure. NW_EIO, NW_EPROTO. */
int windows_file(const struct partner_conf *c, const char *path, char **bytes, struct windows *out,
    char why[PARTNER_WHY_BYTES]);

/* Connections as JSON, a list of [src, sport, dst, dport]; a new reference. */
json_t *ends_write(const struct partner_end *ends, size_t n);
/* From JSON of anybody; addresses are numeric, and come in their usual form. NW_EPROTO. */
int ends_read(const json_t *list, struct partner_end *ends, size_t *n);
bool end_in(const struct partner_end *ends, size_t n, const struct partner_end *e);
struct partner_end end_turned(const struct partner_end *e);

/* --- what of a partner's documents may enter: partner_clean.c --- */

struct clean {
	/* hosts become NAME@site; NULL: the documents are ours, and no series is left out */
	const char *site;
	const char *task;               /* of the session, for this box */
	const struct partner_end *ends; /* of the session, as the partner sees them */
	size_t n_ends;
	int64_t from_wall_ns, to_wall_ns;
	double boxes_bound_s; /* the larger bound of both boxes' clocks; 0: one is not known */
	/* results: clean documents, series, values, series left out */
	char *out, *host_out; /* host_out: series of hosts alone, if they stand apart */
	size_t out_len, host_out_len;
	bool apart;
	char *hosts; /* names, by ", " */
	uint64_t n_series, n_values, n_left_out;
};

/* Documents of anybody. Left out are series of other connections, settings, and rows outside of the
 * time; no document names a task of its own. NW_EPROTO with static *why. Clear also then. */
int clean_take(struct clean *c, const char *docs, size_t len, const char **why);
void clean_clear(struct clean *c);
/* Our documents for a partner: without those of hosts of partners. free() the result. */
char *clean_own(const char *docs, size_t len, size_t *out_len);

/* --- the store: partner_find.c --- */

/* Connections of a session in the kernels of its hosts, at most PARTNER_ENDS_MAX. */
int find_ends(const char *store_path, int64_t session, struct partner_end *ends, size_t *n,
    char why[PARTNER_WHY_BYTES]);
enum find_state { FIND_UNKNOWN, FIND_RUNNING, FIND_DONE };
struct found {
	enum find_state state;
	int64_t session, from_wall_ns, to_wall_ns;
};
/* The session of this box with a connection of the list, during the time. */
int find_session(const char *store_path, const struct partner_end *ends, size_t n, int64_t from,
    int64_t to, struct found *out, char why[PARTNER_WHY_BYTES]);
/* Calls fn for sessions that are closed and were judged after a run, in the order of runs. */
typedef void find_fn(void *arg, int64_t run, const struct found *f);
int find_judged(
    const char *store_path, int64_t after_run, find_fn *fn, void *arg, char why[PARTNER_WHY_BYTES]);
/* Our documents of a session. free() the result; NULL with why. */
char *find_documents(
    const char *store_path, const struct found *f, size_t *len, char why[PARTNER_WHY_BYTES]);

/* --- feeding: partner_judge.c --- */

struct documents {
	const char *name, *bytes;
	size_t len;
	bool of_session; /* else of hosts alone */
};
/* Feeds documents, by import_to_box() or import_to_store(), to a box or a store. NW_EPROTO, NW_EIO,
 * ... */
struct import;
struct import_done;
struct progress;
typedef int
documents_to_fn(struct import *im, const char *where, struct progress *p, struct import_done *done);
int documents_put(
    const struct documents *d, documents_to_fn *to, const char *where, char why[PARTNER_WHY_BYTES]);

/* --- the exchange: partner_talk.c, partner_serve.c, partner_ask.c --- */

struct partner_env {
	const struct partner_conf *conf;
	const char *state_dir, *store_path;
	/* XSP address of the running box of state_dir, or NULL; free() the text */
	char *(*xsp_address)(const char *state_dir);
	volatile sig_atomic_t *stop;
};

struct dial;
/* A context with this box's certificate. */
int talk_context(const struct partner_conf *c, bool server, struct nw_tls_ctx **out,
    char why[PARTNER_WHY_BYTES]);
/* Asks the box at an address, which must have the pin, and gets the head of its answer, and of an
 * answer with "bytes" the bytes; free() *body. NW_EIO: no answer. NW_EPROTO, NW_ETOOBIG. */
int talk_ask(const struct partner_conf *c, const char *address, const uint8_t *pin,
    const json_t *question, json_t **answer, char **body, size_t *body_len,
    char why[PARTNER_WHY_BYTES]);
/* Reads a line of a peer; free() it. NULL: no whole line came. *rest gets bytes behind the line. */
char *talk_line(struct dial *d, char **rest, size_t *rest_len, const char **why);
bool talk_send(struct dial *d, const json_t *head, const char *body, size_t len);

/* Becomes a partner of the box at an address. */
int partner_join(const struct partner_conf *c, const char *address, const char *token,
    const char *networks, char why[PARTNER_WHY_BYTES]);
/* Answers questions and asks partners until *stop; `ready` gets the address as bound. */
int partner_run(
    const struct partner_env *env, void (*ready)(const char *address), char why[PARTNER_WHY_BYTES]);
/* Looks once for sessions to ask about, and asks. */
int partner_look(const struct partner_env *env, char why[PARTNER_WHY_BYTES]);
/* Answers and closes a connection. allow: whether the rate of the partner of a pin has room; NULL:
 * of strangers. */
void partner_answer(const struct partner_env *env, int fd, bool (*allow)(const uint8_t *pin));
/* The state of the box's clock, {"synchronised":...,"bound_s":...}; null: nothing. A new
 * reference. */
json_t *partner_clock(const struct partner_env *env);
/* --- the verdict again: partner_judge.c --- */

/* Judges the windows of both sites in a store of its own, without history, and makes the result
 * document; free() it. NW_EPROTO: changed windows, or of two transfers. NW_EIO. */
int partner_judge(const struct partner_conf *c, const char *const path[2], char **document,
    char why[PARTNER_WHY_BYTES]);
/* The bound of a clock of partner_clock(), in seconds; NAN: none is known. */
double partner_bound(const json_t *clock);
/* The larger of two bounds; 0: a clock has none. */
double partner_larger_bound(double a, double b);
/* A file of windows: DIR/windows/SESSION.SITE.KIND. */
void windows_keep(const struct partner_conf *c, int64_t session, const char *site, const char *kind,
    const char *bytes, size_t len);

#endif
