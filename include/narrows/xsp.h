/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of the original XSP client library, for programs written against that library. They
 * compile with this header (also as libxsp_client.h), link with libnarrows and run against any XSP
 * daemon. New programs will rather use provider.h.
 *
 * 0 or a positive number is success, -1 (0 where so stated) failure with errno set. Nothing prints,
 * exits or raises SIGPIPE. A session belongs to one thread at a time. xsp_why() tells the reason of
 * the last failure in words.
 *
 * Different from the original, on purpose:
 *  - every byte of a header is defined; the original sends pieces of its stack;
 *  - a message that the peer cannot take (above 65,360 bytes) is refused whole; the original sends
 *    a part of it;
 *  - connecting, acknowledgements and pings have 10 s, sending 60 s; SO_RCVTIMEO and SO_SNDTIMEO,
 *    set with xsp_setsockopt(), replace the times for receiving and sending. After a failed send
 *    the connection is closed;
 *  - messages that arrive while something else is waited for are kept for xsp_recv_msg();
 *  - authentication is ANON whatever XSP_USERNAME says. SSH, SSL and network paths fail with
 *    ENOTSUP: the original's SSL ends before the first message, and nothing that measures uses
 *    paths.
 */
#ifndef NARROWS_XSP_H
#define NARROWS_XSP_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "narrows/public.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The names and the typedefs are the original's. */
typedef struct xsp_sess libxspSess;
typedef struct xsp_sec_info libxspSecInfo;
typedef struct xsp_net_path libxspNetPath;
typedef struct xsp_net_path_rule libxspNetPathRule;
typedef struct libxsp_net_path_rule_crit {
	const char *iface, *src, *dst, *src_mask, *dst_mask, *l2_src, *l2_dst;
	uint16_t vlan, src_vlan, dst_vlan;
	uint32_t src_port, dst_port;
	uint64_t bandwidth, duration;
} libxspNetPathRuleCrit;

enum { XSP_HOP_NATIVE = 1 }; /* the hop speaks XSP */
enum xsp_sec { XSP_SEC_NONE = 0, XSP_SEC_SSH, XSP_SEC_SSL };
enum { XSP_SOCKET = 2 }; /* option level of the session; the level has no options here */
enum xsp_eid_types_t {
	XSP_EID_NULL = 0,
	XSP_EID_IPv4,
	XSP_EID_IPv6,
	XSP_EID_URN,
	XSP_EID_HRN,
	XSP_EID_HOPID,
	XSP_EID_DPID,
	XSP_EID_DPIDC
};
enum xsp_sess_net_path_actions_t {
	XSP_NET_PATH_CREATE = 0,
	XSP_NET_PATH_DELETE,
	XSP_NET_PATH_MODIFY,
	XSP_NET_PATH_QUERY
};

NW_PUBLIC int libxsp_init(void);         /* does nothing, always 0 */
NW_PUBLIC libxspSess *xsp_session(void); /* NULL: ENOMEM. Free with xsp_close() or xsp_close2() */

/* Adds "host/port" (at most 63 characters) at the end of the path; xsp_connect() connects to the
 * first. */
NW_PUBLIC int xsp_sess_appendchild(libxspSess *sess, const char *child, unsigned int flags);
/* Adds a hop below a named hop ("" is this program). 1: done, 0: there is no such parent
 * (ENOENT) or no memory. */
NW_PUBLIC int
xsp_sess_addchild(libxspSess *sess, const char *parent, const char *child, uint16_t flags);
/* Makes an empty record: nothing here needs security data. Never NULL */
NW_PUBLIC libxspSecInfo *xsp_sess_new_security(const char *username, const char *password,
    const char *key1, const char *key2, const char *keypass);
/* XSP_SEC_NONE only */
NW_PUBLIC int xsp_sess_set_security(libxspSess *sess, libxspSecInfo *sec, int type);

/* Connects to the first and only hop, authenticates, opens, waits for the acknowledgement. May
 * be called again after a failure. */
NW_PUBLIC int xsp_connect(libxspSess *sess);
NW_PUBLIC int xsp_close(libxspSess *sess); /* closes the socket, frees */
/* says SESS_CLOSE and waits up to 1 s for the peer to close */
NW_PUBLIC int xsp_close2(libxspSess *sess);
NW_PUBLIC int xsp_shutdown(libxspSess *sess, int how);

/* Sends one application message. Returns the bytes of the whole message, 0 on failure. EMSGSIZE:
 * above 65,360. */
NW_PUBLIC int xsp_send_msg(libxspSess *sess, const void *buf, uint64_t len, int opt_type);
/*
 * Waits for an application message. *ret_buf is allocated with one more byte than *len, a zero;
 * free() the buffer; NULL on failure. Returns the length; a message may be empty, then errno is 0.
 */
NW_PUBLIC int xsp_recv_msg(libxspSess *sess, void **ret_buf, uint64_t *len, int *ret_type);
NW_PUBLIC int xsp_wait_ack(libxspSess *sess); /* -1: refused (EPERM), or no answer */
NW_PUBLIC int xsp_send_ping(libxspSess *sess);
NW_PUBLIC int xsp_recv_ping(libxspSess *sess); /* waits for the answer */
NW_PUBLIC int xsp_signal_inf_data(libxspSess *sess);

/* The bytes of the control connection, as send(2) and recv(2). Bytes that are no message put the
 * peer out of step. */
NW_PUBLIC ssize_t xsp_send(libxspSess *sess, const void *buf, size_t len, int flags);
NW_PUBLIC ssize_t xsp_recv(libxspSess *sess, void *buf, size_t len, int flags);

/* Socket options may be set before there is a socket: xsp_connect() applies them. */
NW_PUBLIC int
xsp_setsockopt(libxspSess *sess, int level, int optname, const void *optval, socklen_t optlen);
NW_PUBLIC int
xsp_getsockopt(libxspSess *sess, int level, int optname, void *optval, socklen_t *optlen);
/* socket of the session; -1 without a connection. The socket stays the session's */
NW_PUBLIC int xsp_get_session_socket(libxspSess *sess);
/* Uses a socket with a session opened elsewhere; the session owns the socket from now on. */
NW_PUBLIC int xsp_set_session_socket(libxspSess *sess, int new_sd);
NW_PUBLIC int xsp_set_session_connected(libxspSess *sess); /* 0 when there is such a socket */
NW_PUBLIC int xsp_sess_cmp(libxspSess *sess1, libxspSess *sess2); /* 0: the same session id */

/* Network paths: every call fails with ENOTSUP. */
NW_PUBLIC libxspNetPath *xsp_sess_new_net_path(int action);
/* Later originals take data and its length as well: both forms are served. */
NW_PUBLIC libxspNetPathRule *xsp_sess_new_net_path_rule(libxspNetPath *path, const char *type, ...);
NW_PUBLIC int xsp_sess_set_net_path_rule_crit(libxspNetPathRule *rule, libxspNetPathRuleCrit *crit);
NW_PUBLIC int xsp_sess_set_net_path_rule_eid(libxspNetPathRule *rule, void *eid, int type);
NW_PUBLIC int xsp_sess_set_net_path_rule_op(libxspNetPathRule *rule, int op);
NW_PUBLIC int xsp_signal_path(libxspSess *sess, libxspNetPath *path);

/* Not in the original: why the last call failed. Good until the next call on the session. */
NW_PUBLIC const char *xsp_why(const libxspSess *sess);

#ifdef __cplusplus
}
#endif

#endif
