/* SPDX-License-Identifier: BSD-3-Clause */
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>

#include "host/switch/poll.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"

struct polled_switch {
	struct switch_line line;
	void *session; /* of net-snmp's single-session calls */
};

/* 32-bit counters count on where they wrap. */
struct unwrapped {
	uint32_t last;
	uint64_t base;
	bool begun;
};

struct polled_port {
	struct port_line line;
	struct poller *poller;
	struct polled_switch *at;
	bool waiting;
	bool narrow; /* the switch has 32-bit octets only */
	int64_t asked_wall_ns;
	double uptime_s;
	struct unwrapped counts[POLL_FIELDS];
};

struct poller {
	struct polled_switch switches[SWITCHES_MAX];
	struct polled_port ports[PORTS_MAX];
	size_t n_switches, n_ports;
	int64_t timeout_ns;
	poll_answer_fn *answer;
	poll_failure_fn *failure;
	void *arg;
};

/* Below 1.3.6.1.2.1; the index of the port follows, but behind sysUpTime. */
static const struct where {
	enum poll_field field;
	oid at[6];
	size_t len;
} wide[] = {
	{ POLL_UPTIME_S, { 1, 3, 0 }, 3 }, { POLL_OCTETS_IN, { 31, 1, 1, 1, 6 }, 5 },
	{ POLL_OCTETS_OUT, { 31, 1, 1, 1, 10 }, 5 }, { POLL_SPEED_BIT_S, { 31, 1, 1, 1, 15 }, 5 },
	{ POLL_DISCARDS_IN, { 2, 2, 1, 13 }, 4 }, { POLL_ERRORS_IN, { 2, 2, 1, 14 }, 4 },
	{ POLL_DISCARDS_OUT, { 2, 2, 1, 19 }, 4 }, { POLL_ERRORS_OUT, { 2, 2, 1, 20 }, 4 },
	{ POLL_QUEUE_LENGTH, { 2, 2, 1, 21 }, 4 },
	{ POLL_FIELDS, { 31, 1, 1, 1, 1 }, 5 }, /* ifName */
};
static const struct where narrow[] = {
	{ POLL_OCTETS_IN, { 2, 2, 1, 10 }, 4 },
	{ POLL_OCTETS_OUT, { 2, 2, 1, 16 }, 4 },
};
enum { N_WIDE = sizeof(wide) / sizeof(wide[0]) };

static const struct where *
where_of(const struct polled_port *p, size_t i)
{
	return p->narrow && (i == 1 || i == 2) ? &narrow[i - 1] : &wide[i];
}

/* --- answers --- */

static double
count(struct unwrapped *u, uint32_t now)
{
	if (u->begun && now < u->last)
		u->base += UINT64_C(1) << 32;
	u->begun = true;
	u->last = now;
	return (double)(u->base + now);
}

static double
number(struct polled_port *p, enum poll_field field, const netsnmp_variable_list *v)
{
	switch (v->type) {
	case ASN_COUNTER64:
		if (v->val_len < sizeof(struct counter64))
			return NAN;
		return (double)((uint64_t)(v->val.counter64->high & 0xffffffff) << 32 |
		    (v->val.counter64->low & 0xffffffff));
	case ASN_COUNTER: return count(&p->counts[field], (uint32_t)*v->val.integer);
	case ASN_INTEGER:
	case ASN_GAUGE:
	case ASN_TIMETICKS: return (double)(uint32_t)*v->val.integer;
	}
	return NAN; /* also noSuchInstance and noSuchObject */
}

/* The values of an answer in the order of the question. Returns false for an answer to another
 * question. */
static bool
answer_read(struct polled_port *p, const netsnmp_pdu *pdu, struct poll_answer *out)
{
	const netsnmp_variable_list *v = pdu->variables;
	const struct where *w;
	size_t i, len;

	for (i = 0; i < POLL_FIELDS; i++)
		out->values[i] = NAN;
	out->port_name[0] = '\0';
	for (i = 0; i < N_WIDE; i++, v = v->next_variable) {
		w = where_of(p, i);
		if (v == NULL || v->name_length < 6 + w->len ||
		    memcmp(v->name + 6, w->at, w->len * sizeof(oid)) != 0)
			return false;
		if (w->field != POLL_FIELDS) {
			out->values[w->field] = number(p, w->field, v);
			continue;
		}
		len = v->type == ASN_OCTET_STR ? v->val_len : 0;
		len = len < sizeof(out->port_name) - 1 ? len : sizeof(out->port_name) - 1;
		memcpy(out->port_name, v->val.string, len);
		out->port_name[len] = '\0';
	}
	return true;
}

static void
answer_take(struct polled_port *p, const netsnmp_pdu *pdu)
{
	struct poll_answer a;

	a.t_wall_ns = p->asked_wall_ns + (nw_wall_ns() - p->asked_wall_ns) / 2;
	if (pdu->errstat != SNMP_ERR_NOERROR || !answer_read(p, pdu, &a)) {
		p->poller->failure(
		    p->poller->arg, &p->line, "the answer belongs to another question");
		return;
	}
	a.values[POLL_UPTIME_S] /= 100;
	a.values[POLL_SPEED_BIT_S] *= 1e6;
	if (a.values[POLL_UPTIME_S] < p->uptime_s) /* begun anew */
		memset(p->counts, 0, sizeof(p->counts));
	p->uptime_s = a.values[POLL_UPTIME_S];
	if (isnan(a.values[POLL_OCTETS_IN]) && !p->narrow) {
		p->narrow = true; /* the next question is for 32 bits */
		p->poller->failure(p->poller->arg, &p->line,
		    "there is no such port, or no 64-bit "
		    "counter");
		return;
	}
	p->poller->answer(p->poller->arg, &p->line, &a);
}

static int
on_answer(int operation, netsnmp_session *s, int id, netsnmp_pdu *pdu, void *arg)
{
	struct polled_port *p = arg;

	(void)s;
	(void)id;
	p->waiting = false;
	if (operation == NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE && pdu != NULL &&
	    pdu->command == SNMP_MSG_RESPONSE)
		answer_take(p, pdu);
	else if (operation == NETSNMP_CALLBACK_OP_TIMED_OUT)
		p->poller->failure(p->poller->arg, &p->line, "no answer");
	else
		p->poller->failure(p->poller->arg, &p->line, "refused: a wrong secret perhaps");
	return 1;
}

/* --- questions --- */

static void
port_ask(struct polled_port *p)
{
	netsnmp_pdu *pdu = snmp_pdu_create(SNMP_MSG_GET);
	oid name[16] = { 1, 3, 6, 1, 2, 1 };
	const struct where *w;
	size_t i, len;

	for (i = 0; pdu != NULL && i < N_WIDE; i++) {
		w = where_of(p, i);
		memcpy(name + 6, w->at, w->len * sizeof(oid));
		len = 6 + w->len;
		if (w->field != POLL_UPTIME_S)
			name[len++] = p->line.index;
		snmp_add_null_var(pdu, name, len);
	}
	p->asked_wall_ns = nw_wall_ns();
	p->waiting = true;
	if (pdu != NULL && snmp_sess_async_send(p->at->session, pdu, on_answer, p) != 0)
		return;
	if (pdu != NULL)
		snmp_free_pdu(pdu);
	p->waiting = false;
	p->poller->failure(p->poller->arg, &p->line, "the question cannot be sent");
}

void
poller_ask(struct poller *p)
{
	size_t i;

	for (i = 0; i < p->n_ports; i++)
		if (!p->ports[i].waiting)
			port_ask(&p->ports[i]);
}

void
poller_select(struct poller *p, int *n_fds, fd_set *fds, struct timeval *timeout)
{
	int block = 0;
	size_t i;

	for (i = 0; i < p->n_switches; i++)
		snmp_sess_select_info(p->switches[i].session, n_fds, fds, timeout, &block);
}

void
poller_run(struct poller *p, fd_set *fds)
{
	size_t i;

	for (i = 0; i < p->n_switches; i++) {
		snmp_sess_read(p->switches[i].session, fds);
		snmp_sess_timeout(p->switches[i].session);
	}
}

size_t
poller_waiting(const struct poller *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->n_ports; i++)
		n += p->ports[i].waiting;
	return n;
}

/* --- sessions --- */

struct poller *
poller_new(int64_t timeout_ns, poll_answer_fn *answer, poll_failure_fn *failure, void *arg)
{
	struct poller *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->timeout_ns = timeout_ns;
	p->answer = answer;
	p->failure = failure;
	p->arg = arg;
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_CONFIG_LOAD, 1);
	netsnmp_ds_set_string(
	    NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_PERSISTENT_DIR, "/dev/null/none");
	setenv("MIBS", "", 1);
	setenv("SNMPCONFPATH", "/dev/null/none", 1);
	snmp_disable_log();
	init_snmp("narrows");
	return p;
}

void
poller_free(struct poller *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->n_switches; i++)
		snmp_sess_close(p->switches[i].session);
	snmp_shutdown("narrows");
	free(p);
}

/* Numbers of the secrets' protocols, in the order of the enumerations. */
static bool
secret_set(const oid *const *protocols, const size_t *lens, int which, const char *secret,
    netsnmp_session *s, bool privacy)
{
	u_char *key = privacy ? s->securityPrivKey : s->securityAuthKey;
	size_t *len = privacy ? &s->securityPrivKeyLen : &s->securityAuthKeyLen;

	if (privacy) {
		s->securityPrivProto = (oid *)protocols[which];
		s->securityPrivProtoLen = lens[which];
	} else {
		s->securityAuthProto = (oid *)protocols[which];
		s->securityAuthProtoLen = lens[which];
	}
	*len = USM_PRIV_KU_LEN;
	return generate_Ku(s->securityAuthProto, (u_int)s->securityAuthProtoLen,
		   (const u_char *)secret, strlen(secret), key, len) == SNMPERR_SUCCESS;
}

static bool
secrets_set(const struct switch_line *l, netsnmp_session *s)
{
	static const oid *const auths[] = { NULL, usmHMACMD5AuthProtocol, usmHMACSHA1AuthProtocol,
		usmHMAC192SHA256AuthProtocol, usmHMAC384SHA512AuthProtocol };
	static const oid *const privacies[] = { NULL, usmDESPrivProtocol, usmAESPrivProtocol };
	static const size_t lens[] = { 0, 10, 10, 10, 10 };

	s->securityName = (char *)l->user;
	s->securityNameLen = strlen(l->user);
	s->securityLevel = SNMP_SEC_LEVEL_NOAUTH;
	if (l->auth == AUTH_NONE)
		return true;
	s->securityLevel = SNMP_SEC_LEVEL_AUTHNOPRIV;
	if (!secret_set(auths, lens, (int)l->auth, l->auth_secret, s, false))
		return false;
	if (l->privacy == PRIVACY_NONE)
		return true;
	s->securityLevel = SNMP_SEC_LEVEL_AUTHPRIV;
	return secret_set(privacies, lens, (int)l->privacy, l->privacy_secret, s, true);
}

int
poller_switch(struct poller *p, const struct switch_line *line)
{
	struct polled_switch *at = &p->switches[p->n_switches];
	netsnmp_session s;

	if (p->n_switches == SWITCHES_MAX)
		return NW_EFULL;
	at->line = *line;
	snmp_sess_init(&s);
	s.peername = at->line.address;
	s.version = line->v3 ? SNMP_VERSION_3 : SNMP_VERSION_2c;
	s.timeout = p->timeout_ns / 1000;
	s.retries = 0;
	if (!line->v3) {
		s.community = (u_char *)at->line.user;
		s.community_len = strlen(at->line.user);
	} else if (!secrets_set(&at->line, &s)) {
		return NW_EINVAL;
	}
	if ((at->session = snmp_sess_open(&s)) == NULL)
		return NW_EIO;
	p->n_switches++;
	return NW_OK;
}

int
poller_port(struct poller *p, const struct port_line *line)
{
	struct polled_port *port = &p->ports[p->n_ports];
	size_t i;

	for (i = 0; i < p->n_switches && strcmp(p->switches[i].line.name, line->name) != 0; i++)
		continue;
	if (i == p->n_switches)
		return NW_ENOTFOUND;
	if (p->n_ports == PORTS_MAX)
		return NW_EFULL;
	port->line = *line;
	port->poller = p;
	port->at = &p->switches[i];
	p->n_ports++;
	return NW_OK;
}
