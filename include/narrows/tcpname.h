/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that RFC 4898 has for the fields of a TCP connection, whichever agent sends them: blipp for
 * a followed connection, nwrun, nwflow and GridFTP's driver for their own. One table
 * (base/tcpname.c) serves blipp's list of metrics, the API and the session page.
 */
#ifndef NARROWS_TCPNAME_H
#define NARROWS_TCPNAME_H

struct nw_tcp_name {
	const char *field;    /* as the agents send it */
	const char *rfc4898;  /* without the prefix tcpEStats and the table's name */
	const char *tcp_info; /* member of the kernel's struct tcp_info, or the way to the value */
};

/* The row of a field, or NULL where RFC 4898 has no such variable. Any thread. */
const struct nw_tcp_name *nw_tcp_name(const char *field);
/* The name alone; "" without one. */
const char *nw_tcp_rfc4898(const char *field);

#endif
