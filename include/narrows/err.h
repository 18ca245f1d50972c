/* SPDX-License-Identifier: BSD-3-Clause */
/* Error codes of all rooms. Functions return NW_OK or a negative code; results go through
 * out-parameters. */
#ifndef NARROWS_ERR_H
#define NARROWS_ERR_H

enum {
	NW_OK = 0,
	NW_EAGAIN = -1, /* needs more bytes, or would block */
	NW_ENOMEM = -2,
	NW_EINVAL = -3,  /* the caller's argument is wrong */
	NW_EPROTO = -4,  /* the peer's bytes are wrong */
	NW_ETOOBIG = -5, /* over a limit */
	NW_EFULL = -6,   /* a bounded queue is full: try later */
	NW_EIO = -7,     /* the operating system or the disk said no */
	NW_ENOTFOUND = -8,
	NW_ECONFLICT = -9, /* contradicts what is already there */
	NW_EUNSUPPORTED = -10,
	NW_ECLOSED = -11,  /* the other side is gone */
	NW_ECORRUPT = -12, /* stored bytes do not decode */
	NW_EVERSION = -13  /* made by a newer version */
};

/* Static text, never NULL. */
static inline const char *
nw_strerror(int code)
{
	switch (code) {
	case NW_OK: return "ok";
	case NW_EAGAIN: return "more data needed";
	case NW_ENOMEM: return "out of memory";
	case NW_EINVAL: return "invalid argument";
	case NW_EPROTO: return "protocol error";
	case NW_ETOOBIG: return "over the limit";
	case NW_EFULL: return "queue full";
	case NW_EIO: return "input/output error";
	case NW_ENOTFOUND: return "not found";
	case NW_ECONFLICT: return "conflict";
	case NW_EUNSUPPORTED: return "not supported";
	case NW_ECLOSED: return "closed";
	case NW_ECORRUPT: return "corrupt data";
	case NW_EVERSION: return "written by a newer version";
	}
	return "unknown error";
}

#endif
