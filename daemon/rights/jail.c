/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/rights/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "narrows/err.h"

/* --- capabilities --- */

static const struct {
	unsigned bit;
	const char *word;
} keepable[] = { { CAP_NET_BIND_SERVICE, "net_bind_service" },
	{ CAP_DAC_OVERRIDE, "dac_override" } };

static uint64_t
capabilities_needed(const struct jail_opts *o)
{
	return (o->low_port ? UINT64_C(1) << CAP_NET_BIND_SERVICE : 0) |
	    (o->foreign_dir ? UINT64_C(1) << CAP_DAC_OVERRIDE : 0);
}

static void
capabilities_say(uint64_t have, char out[64])
{
	size_t i, n = 0;

	snprintf(out, 64, "none");
	for (i = 0; i < sizeof(keepable) / sizeof(keepable[0]); i++)
		if (have >> keepable[i].bit & 1)
			n += (size_t)snprintf(
			    out + n, 64 - n, "%s%s", n > 0 ? "," : "", keepable[i].word);
}

/* Programs that the box starts get none at all: the bounding set goes, too. */
static int
capabilities_drop(uint64_t needed, struct jail *out)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uint64_t have;
	unsigned bit;

	if (syscall(SYS_capget, &head, data) != 0)
		return NW_EIO;
	have = (data[0].permitted | (uint64_t)data[1].permitted << 32) & needed;
	/* a change of user makes capabilities ineffective; the bounding set asks for CAP_SETPCAP */
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	(void)syscall(SYS_capset, &head, data);
	for (bit = 0; bit < 64 && prctl(PR_CAPBSET_READ, bit, 0, 0, 0) >= 0; bit++)
		(void)prctl(PR_CAPBSET_DROP, bit, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = (uint32_t)have;
	data[1].effective = data[1].permitted = (uint32_t)(have >> 32);
	if (syscall(SYS_capset, &head, data) != 0)
		return NW_EIO;
	capabilities_say(have, out->capabilities);
	return NW_OK;
}

/* --- Landlock: files, outgoing connections, signals --- */

/* Rights by the version of the interface; older headers lack the later names. */
#define FS_V1      ((UINT64_C(1) << 13) - 1)
#define FS_REFER   (UINT64_C(1) << 13) /* version 2 */
#define FS_TRUNC   (UINT64_C(1) << 14) /* version 3 */
#define NET_TCP    (UINT64_C(1) << 1)  /* version 4: to connect */
#define SCOPE_KILL (UINT64_C(1) << 1)  /* version 6: signals */
#define FS_READ    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_RUN     (FS_READ | LANDLOCK_ACCESS_FS_EXECUTE)
#define FS_FILE                                                      \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | \
	    LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNC)
#define FS_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

struct ruleset {
	uint64_t fs, net, scoped;
};

static const struct {
	const char *path;
	uint64_t rights;
} common[] = {
	/* chronyc, its libraries, time zones, locales */
	{ "/usr", FS_RUN },
	{ "/bin", FS_RUN },
	{ "/lib", FS_RUN },
	{ "/lib64", FS_RUN },
	{ "/etc/ld.so.cache", FS_READ },
	{ "/etc/ld.so.preload", FS_READ },
	{ "/etc/localtime", FS_READ },
	/* the names of hosts and users */
	{ "/etc/resolv.conf", FS_READ },
	{ "/etc/nsswitch.conf", FS_READ },
	{ "/etc/host.conf", FS_READ },
	{ "/etc/gai.conf", FS_READ },
	{ "/etc/hosts", FS_READ },
	{ "/etc/services", FS_READ },
	{ "/etc/passwd", FS_READ },
	{ "/etc/group", FS_READ },
	{ "/proc/self", FS_READ },
	{ "/sys/devices/system/cpu", FS_READ },
	{ "/dev/null", FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE },
	{ "/dev/random", FS_READ },
	{ "/dev/urandom", FS_READ },
};

/* A missing path needs no rule. */
static void
path_allow(int ruleset, uint64_t handled, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { 0 };
	struct stat st;

	if (path == NULL || (rule.parent_fd = open(path, O_PATH | O_CLOEXEC)) < 0)
		return;
	rule.allowed_access = rights & handled;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_FILE;
	(void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

/* chronyc may stand in any directory of PATH, and the program's own file serves its debugger. */
static void
programs_allow(int ruleset, uint64_t handled)
{
	const char *path = getenv("PATH"), *p = path == NULL ? "" : path;
	char dir[PATH_MAX];
	size_t len;

	for (; *p != '\0'; p += len, p += strspn(p, ":")) {
		len = strcspn(p, ":");
		if (*p == '/' && len > 1 && len < sizeof(dir)) {
			snprintf(dir, sizeof(dir), "%.*s", (int)len, p);
			path_allow(ruleset, handled, dir, FS_RUN);
		}
	}
	path_allow(ruleset, handled, "/proc/self/exe", FS_READ);
}

static int
ruleset_new(struct ruleset *attr)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* asks for the version */);

	if (version < 1)
		return -1;
	attr->fs = FS_V1 | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNC : 0);
	attr->net = version >= 4 ? NET_TCP : 0;
	attr->scoped = version >= 6 ? SCOPE_KILL : 0;
	/* an older kernel takes a longer structure if the rest is 0 */
	return (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);
}

static bool
landlock_enter(const struct jail_opts *o)
{
	struct ruleset attr;
	int fd = ruleset_new(&attr);
	bool done;
	size_t i;

	if (fd < 0)
		return false;
	for (i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		path_allow(fd, attr.fs, common[i].path, common[i].rights);
	programs_allow(fd, attr.fs);
	path_allow(fd, attr.fs, o->conf_path, FS_READ);
	path_allow(fd, attr.fs, o->state_dir, attr.fs & ~(FS_DEVICES | LANDLOCK_ACCESS_FS_EXECUTE));
	path_allow(fd, attr.fs, o->tls_dir, attr.fs & ~(FS_DEVICES | LANDLOCK_ACCESS_FS_EXECUTE));
	done = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
	close(fd);
	return done;
}

/* --- seccomp: a list of system calls that the box and chronyc never make --- */

#if defined(__x86_64__)
#define JAIL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define JAIL_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef JAIL_ARCH
static const int denied[] = {
/* other processes and other identities */
#ifndef __SANITIZE_ADDRESS__ /* its search for leaks stops the threads by ptrace */
	SYS_ptrace,
#endif
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kcmp,
	SYS_pidfd_getfd,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_capset,
	SYS_unshare,
	SYS_setns,
	/* rights and owners by name; the box narrows its own files by descriptor */
	SYS_fchmodat,
	SYS_fchownat,
#ifdef SYS_fchmodat2
	SYS_fchmodat2,
#endif
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
#endif
	/* file systems and devices */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_mknodat,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_swapon,
	SYS_swapoff,
	SYS_quotactl,
	SYS_fanotify_init,
#ifdef SYS_mknod
	SYS_mknod,
#endif
#ifdef SYS_ioperm
	SYS_ioperm,
	SYS_iopl,
	SYS_modify_ldt,
#endif
	/* the machine */
	SYS_reboot,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_acct,
	SYS_syslog,
	SYS_vhangup,
	/* parts of the kernel with many faults behind them */
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_personality,
};
static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
enum {
	N_DENIED = sizeof(denied) / sizeof(denied[0]),
	N_FAMILIES = sizeof(families) / sizeof(families[0]),
	FILTER_MAX = N_DENIED + N_FAMILIES + 24,
	ANSWER_REFUSE = SECCOMP_RET_ERRNO | EPERM,
	ANSWER_MISSING = SECCOMP_RET_ERRNO | ENOSYS
};
#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	    CLONE_NEWPID | CLONE_NEWNET)

struct program {
	struct sock_filter code[FILTER_MAX];
	unsigned short n;
};

static void
put(struct program *p, uint16_t op, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
	p->code[p->n++] = (struct sock_filter)BPF_JUMP(op, k, jump_true, jump_false);
}

static void
load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Answers if the loaded word equals k, else goes on. */
static void
answer_if(struct program *p, uint16_t test, uint32_t k, uint32_t answer)
{
	put(p, BPF_JMP | test | BPF_K, k, 0, 1);
	put(p, BPF_RET | BPF_K, answer, 0, 0);
}

/* Sockets of four families; clone() without new namespaces; clone3() is missing, so that the C
 * library takes clone(), whose flags a filter can read. */
static void
arguments_check(struct program *p)
{
	size_t i;

	answer_if(p, BPF_JEQ, SYS_clone3, ANSWER_MISSING);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	load(p, offsetof(struct seccomp_data, args[0]));
	answer_if(p, BPF_JSET, NEW_NAMESPACES, ANSWER_REFUSE);
	put(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 2 + 2 * N_FAMILIES);
	load(p, offsetof(struct seccomp_data, args[0]));
	for (i = 0; i < N_FAMILIES; i++)
		answer_if(p, BPF_JEQ, families[i], SECCOMP_RET_ALLOW);
	put(p, BPF_RET | BPF_K, ANSWER_REFUSE, 0, 0);
}

/* Loads the number of the system call. */
static void
begin(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, JAIL_ARCH, 1, 0);
	put(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	load(p, offsetof(struct seccomp_data, nr));
}

static bool
seccomp_enter(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog;
	size_t i;

	begin(&p);
#ifdef __x86_64__
	answer_if(&p, BPF_JGE, 0x40000000, ANSWER_REFUSE); /* the 32-bit pointers' numbers */
#endif
	for (i = 0; i < N_DENIED; i++)
		put(&p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied[i],
		    (uint8_t)(N_DENIED - 1 - i + 1), 0);
	put(&p, BPF_JMP | BPF_JA, 1, 0, 0);
	put(&p, BPF_RET | BPF_K, ANSWER_REFUSE, 0, 0);
	arguments_check(&p);
	put(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	prog = (struct sock_fprog){ .len = p.n, .filter = p.code };
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0;
}

/* A descriptor's file gets no bit that lends the owner's rights, and is not opened to all. */
enum { MODES_REFUSED = S_ISUID | S_ISGID | S_ISVTX | S_IWOTH };

static bool
seccomp_close(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog;

	begin(&p);
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
	load(&p, offsetof(struct seccomp_data, args[0]));
	answer_if(&p, BPF_JEQ, AF_UNIX, ANSWER_REFUSE);
	put(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 0, 3);
	load(&p, offsetof(struct seccomp_data, args[1]));
	answer_if(&p, BPF_JSET, MODES_REFUSED, ANSWER_REFUSE);
	put(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	prog = (struct sock_fprog){ .len = p.n, .filter = p.code };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0;
}
#else
/* The list has not been tried on this processor. */
static bool
seccomp_enter(void)
{
	return false;
}

static bool
seccomp_close(void)
{
	return false;
}
#endif

int
jail_enter(const struct jail_opts *o, struct jail *out)
{
	*out = (struct jail){ .landlock = false };
#ifndef NW_COVERAGE /* counts of executed lines are written beside the objects */
	if (capabilities_drop(capabilities_needed(o), out) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return NW_EIO;
	out->landlock = landlock_enter(o);
	out->seccomp = seccomp_enter();
#endif
	return NW_OK;
}

bool
jail_close(void)
{
#ifdef NW_COVERAGE
	return true;
#else
	return seccomp_close();
#endif
}
