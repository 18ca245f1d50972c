/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process and its threads get, change and give back their slots in the region. */
#include "host/nwrun/preload/preload.h"
#include "host/nwrun/preload/title.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/lib/procfile.h"
#include "host/nwrun/preload/old_version.h"

/* NULL where the functions are in a library of their own: a program without the library has no
 * threads. */
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
OLD_VERSION(pthread_key_create, pthread_key_create);
OLD_VERSION(pthread_key_delete, pthread_key_delete);
OLD_VERSION(pthread_setspecific, pthread_setspecific);

#define GENERATION_TAKING UINT32_MAX
#define RUSAGE_BLOCK      512u

static struct state state_static;
struct state *state = &state_static;
struct nwshm *region;
struct tables *tables;
__thread struct self self __attribute__((tls_model("initial-exec")));

/* The chunks of thread slots beyond the first, mapped on demand. */
static char region_path[NWSHM_FILE_BYTES];
static uint64_t region_file_bytes;
static _Atomic(struct nwshm_thread *) chunk_map[NWSHM_CHUNKS];

/* key of the threads' own memory, plus one; 0: none was needed yet */
static _Atomic uint32_t thread_key;

/* Name and arguments of the image: read once, forked children inherit them. */
static char image_name[NWSHM_NAME_BYTES];
static char image_argv[NWSHM_ARGV_BYTES];

/* Returns false if the text had to be cut. Here, because a short program would touch the C
 * library's code for this alone. */
static bool
text_copy(char *out, size_t cap, const char *from)
{
	size_t n = 0;

	for (; from[n] != '\0' && n + 1 < cap; n++)
		out[n] = from[n];
	out[n] = '\0';
	return from[n] == '\0';
}

/* --- the region --- */

/* A program under a tight address space limit keeps all of it: measuring must not make malloc
 * fail. */
static bool
address_space_is_ample(size_t bytes)
{
	struct rlimit lim;

	if (sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, &lim) < 0)
		return true;
	return lim.rlim_cur == RLIM_INFINITY || lim.rlim_cur / 16 >= bytes;
}

/* Maps a part of the region's file; NULL when the part cannot be had. */
static void *
region_map_part(const char *path, uint64_t from, size_t bytes)
{
	struct statx st;
	long fd, at = -1;

	if ((fd = sys(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
		return NULL;
	if (sys(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE, &st) == 0 &&
	    st.stx_size >= from + bytes && address_space_is_ample(bytes)) {
		region_file_bytes = st.stx_size;
		at = sys(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
	}
	sys(SYS_close, fd);
	return at < 0 && at > -NWSHM_PAGE ? NULL : (void *)at;
}

static struct nwshm *
region_map(const char *path)
{
	struct nwshm *r;

	if (!text_copy(region_path, sizeof(region_path), path) ||
	    (r = region_map_part(path, 0, NWSHM_FIRST_BYTES)) == NULL)
		return NULL;
	if (r->magic != NWSHM_MAGIC || r->version != NWSHM_VERSION || r->size_check != sizeof(*r)) {
		sys(SYS_munmap, r, NWSHM_FIRST_BYTES);
		return NULL;
	}
	return r;
}

/* The slots of a chunk; NULL when the file is too short for the chunk, or memory for the map. */
static struct nwshm_thread *
chunk_get(unsigned chunk)
{
	uint64_t from = sizeof(struct nwshm) + chunk * NWSHM_CHUNK_BYTES;
	struct nwshm_thread *slots, *none = NULL;

	if (chunk == 0)
		return region->thread;
	if ((slots = atomic_load(&chunk_map[chunk])) != NULL)
		return slots;
	if (sealed || from + NWSHM_CHUNK_BYTES > region_file_bytes ||
	    (slots = region_map_part(region_path, from, NWSHM_CHUNK_BYTES)) == NULL)
		return NULL;
	if (atomic_compare_exchange_strong(&chunk_map[chunk], &none, slots))
		return slots;
	sys(SYS_munmap, slots, NWSHM_CHUNK_BYTES); /* another thread was faster */
	return none;
}

static struct nwshm_thread *
thread_at(uint32_t index)
{
	struct nwshm_thread *slots = chunk_get(index / NWSHM_CHUNK_THREADS);

	return slots != NULL ? &slots[index % NWSHM_CHUNK_THREADS] : NULL;
}

/*
 * A full /dev/shm must not kill the program with SIGBUS: ask the kernel to write into each page
 * first. It answers with an error where we would get the signal.
 */
bool
region_touch(void *at, size_t bytes)
{
	char *page = at, *end = page + bytes;
	struct timespec *probe;

	if (sealed)
		return false;
	for (; page < end; page += NWSHM_PAGE) {
		probe = (struct timespec *)(page + NWSHM_PAGE - sizeof(*probe));
		if (sys(SYS_clock_gettime, CLOCK_MONOTONIC, probe) < 0)
			return false;
		*probe = (struct timespec){ 0, 0 };
	}
	return true;
}

/*
 * The state moves into the tables; other threads may still read the first place, which stays.
 * Older kernels cannot wipe: then the fork handler alone makes children take slots of their own.
 */
bool
tables_make(void)
{
	struct tables *t, *none = NULL;
	long at;

	if (likely(tables != NULL))
		return true;
	if (sealed || atomic_load(&state->generation) == GENERATION_TAKING)
		return false;
	at = sys(
	    SYS_mmap, NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -NWSHM_PAGE)
		return false;
	t = (struct tables *)at;
	t->state = state_static;
	if (!__atomic_compare_exchange_n(
		&tables, &none, t, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		sys(SYS_munmap, t, sizeof(*t)); /* another thread was faster */
		return true;
	}
	if (sys(SYS_madvise, t, NWSHM_PAGE, MADV_WIPEONFORK) == 0)
		__atomic_store_n(&state, &t->state, __ATOMIC_RELEASE);
	return true;
}

/* --- the process --- */

/* By the kernel: a short program would touch the pages of the vDSO for this alone. */
static int64_t
mono_ns(void)
{
	struct timespec t = { 0, 0 };

	sys(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
usage_read(struct nwshm_usage *u)
{
	struct rusage ru;

	u->cpu_known = !sealed && sys(SYS_getrusage, RUSAGE_SELF, &ru) == 0;
	if (u->cpu_known) {
		u->user_us = ru.ru_utime.tv_sec * 1000000 + ru.ru_utime.tv_usec;
		u->sys_us = ru.ru_stime.tv_sec * 1000000 + ru.ru_stime.tv_usec;
		u->read_bytes = (uint64_t)ru.ru_inblock * RUSAGE_BLOCK;
		u->write_bytes = (uint64_t)ru.ru_oublock * RUSAGE_BLOCK;
	}
	if (!sealed && sys(SYS_getrusage, RUSAGE_CHILDREN, &ru) == 0)
		u->children_faults = (uint64_t)ru.ru_minflt;
}

/* Bytes of the question at the start, which the kernel counts as the program's. */
static uint32_t asked_bytes;

/* The kernel counts our own reading as the program's from the next look on: what has been read by
 * then is known now. */
static void
usage_read_io(struct nwshm_usage *u, bool at_start)
{
	struct procfile_io io;
	char text[512];
	size_t len;

	u->io_known = sys_read_file("/proc/self/io", text, sizeof(text), &len) &&
	    procfile_parse_io(text, &io);
	if (u->io_known) {
		if (at_start)
			asked_bytes = (uint32_t)len;
		u->rchar = io.rchar + (at_start ? len : 0);
		u->wchar = io.wchar;
		u->read_bytes = io.read_bytes;
		u->write_bytes = io.write_bytes;
	}
}

/*
 * Trifles: the short processes of scripts, most of which are of a few programs, and move nothing.
 * To ask /proc at the start and at the end costs such a process more than the rest of nwrun.so, and
 * the answers are always the same: the bytes that the loader and the C library read. So two trifles
 * of a program ask, and the next take the answers of the second: before the first, nwrun.so has
 * looked into the program's file. Should a later one move bytes past all calls, in its little time,
 * then those bytes are in the count of the parent, to which the kernel adds the child's.
 *
 * A word of the region has a hash of the program's name, whether two have asked, the count at the
 * start (0: not known) and the count at the end.
 */
enum { TRIFLE_BITS = 20, TRIFLE_KEY_SHIFT = 2 * TRIFLE_BITS + 1, TRIFLE_US = 2000 };
#define TRIFLE_BYTES ((UINT64_C(1) << TRIFLE_BITS) - 1)
#define TRIFLE_TWICE (UINT64_C(1) << 2 * TRIFLE_BITS)

/* Whether the process has lived before this image, or as the child of a fork. */
static bool has_past;

static int64_t
cpu_us(const struct nwshm_usage *u)
{
	return u->user_us + u->sys_us;
}

static uint64_t
trifle_key(void)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; image_name[i] != '\0'; i++)
		hash = (hash ^ (uint8_t)image_name[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (hash ^ hash >> 32) << TRIFLE_KEY_SHIFT;
}

static _Atomic uint64_t *
trifle_at(uint64_t key)
{
	return &region->trifles[key >> TRIFLE_KEY_SHIFT & (NWSHM_TRIFLES - 1)];
}

/* The word of a program; 0: there is none. */
static uint64_t
trifle_get(uint64_t key)
{
	uint64_t word = atomic_load_explicit(trifle_at(key), memory_order_relaxed);

	return (word ^ key) >> TRIFLE_KEY_SHIFT == 0 ? word : 0;
}

/* One of the two counts of an earlier trifle of the program, by the shift; 0: not known. */
static uint64_t
trifle_bytes(unsigned shift)
{
	uint64_t word = trifle_get(trifle_key());

	return (word & TRIFLE_TWICE) != 0 ? word >> shift & TRIFLE_BYTES : 0;
}

static void
trifle_put(uint64_t from, uint64_t to)
{
	uint64_t key = trifle_key(), twice = trifle_get(key) != 0 ? TRIFLE_TWICE : 0;

	atomic_store_explicit(
	    trifle_at(key), key | twice | from << TRIFLE_BITS | to, memory_order_relaxed);
}

static void
usage_take_io(struct nwshm_usage *u, uint64_t rchar)
{
	u->rchar = rchar;
	u->wchar = 0;
	u->io_known = 1;
}

/* Only a process without a past has read what the loader reads, and no more. */
static void
usage_begin(struct nwshm_usage *u)
{
	uint64_t known = 0;

	usage_read(u);
	if (!has_past && u->cpu_known && cpu_us(u) < TRIFLE_US)
		known = trifle_bytes(TRIFLE_BITS);
	if (known != 0)
		usage_take_io(u, known);
	else
		usage_read_io(u, true);
}

/* A process without tables has done nothing that counts. */
static bool
is_trifle(const struct nwshm_proc *p)
{
	const struct nwshm_usage *from = &p->at_start, *to = &p->at_exit;

	return tables == NULL && !has_past &&
	    atomic_load_explicit(&p->ways, memory_order_relaxed) == 0 && from->cpu_known &&
	    to->cpu_known && cpu_us(to) - cpu_us(from) < TRIFLE_US &&
	    to->children_faults == from->children_faults && to->read_bytes == from->read_bytes &&
	    to->write_bytes == from->write_bytes;
}

static void
usage_end(struct nwshm_proc *p, uint64_t pending_bytes)
{
	struct nwshm_usage *u = &p->at_exit;
	const uint64_t asked = asked_bytes, from = p->at_start.rchar;
	uint64_t known;
	bool trifle;

	usage_read(u);
	trifle = pending_bytes == 0 && is_trifle(p);
	if (trifle && (known = trifle_bytes(0)) != 0) {
		usage_take_io(u, known);
		return;
	}
	usage_read_io(u, false);
	u->wchar += pending_bytes;
	if (trifle && u->io_known && p->at_start.io_known && u->wchar == 0 &&
	    u->rchar <= TRIFLE_BYTES && from <= u->rchar)
		trifle_put(from > asked ? from - asked : 0, u->rchar - asked);
}

/* The arguments are joined by blanks, and cut. */
static void
image_describe(int argc, char *const argv[])
{
	const char *from;
	size_t at = 0, i;

	title_make(
	    (const char *const *)argv, argc > 0 ? (size_t)argc : 0, image_name, sizeof(image_name));
	for (i = 0; i < (size_t)argc && at < sizeof(image_argv) - 1; i++) {
		if (i > 0)
			image_argv[at++] = ' ';
		for (from = argv[i]; *from != '\0' && at < sizeof(image_argv) - 1; from++)
			image_argv[at++] = *from;
	}
	image_argv[at] = '\0';
}

/* A process for which the collector's number leads to the collector's session is in the collector's
 * name space: that costs a hundredth of asking for the name space. */
static uint64_t
own_pid_ns(void)
{
	struct statx st;

	if (region->keeper_sid > 0 && sys(SYS_getsid, region->keeper_pid) == region->keeper_sid)
		return region->keeper_pid_ns;
	if (sealed || sys(SYS_statx, AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &st) < 0)
		return 0;
	return st.stx_ino;
}

static void
proc_describe(struct nwshm_proc *p)
{
	p->ppid = (int32_t)sys(SYS_getppid, 0);
	text_copy(p->name, sizeof(p->name), image_name);
	text_copy(p->argv, sizeof(p->argv), image_argv);
}

static bool
proc_has_threads(unsigned index)
{
	uint32_t used = nwshm_used_get(&region->threads_used, NWSHM_THREADS), i, owner;

	for (i = 0; i < used; i++) {
		owner = atomic_load_explicit(&region->thread_owner[i], memory_order_relaxed);
		if ((owner & ~NWSHM_OWNER_SETUP) == index + 1)
			return true;
	}
	return false;
}

/*
 * An earlier owner of this pid, on the other side of an exec or in an earlier life, is gone. But a
 * child that did nothing between fork and exec is not worth a life of its own: the image takes over
 * its slot.
 */
static struct nwshm_proc *
proc_succeed(int32_t pid, uint64_t pid_ns)
{
	struct nwshm_proc *p,
	    *heir = NULL, *end = region->proc + nwshm_used_get(&region->procs_used, NWSHM_PROCS);
	uint32_t live;

	for (p = region->proc; p < end; p++) {
		live = NWSHM_LIVE;
		if (p->pid != pid || p->pid_ns != pid_ns ||
		    atomic_load_explicit(&p->state, memory_order_acquire) != NWSHM_LIVE)
			continue;
		if (heir == NULL && !proc_has_threads((unsigned)(p - region->proc)))
			heir = p;
		else {
			atomic_compare_exchange_strong(&p->state, &live, NWSHM_ENDED);
			has_past = true;
		}
	}
	return heir;
}

static struct nwshm_proc *
proc_claim(void)
{
	uint32_t want, i;

	for (i = 0; i < NWSHM_PROCS &&
	     table_reaches(&region->procs_ready, i, &region->proc[i], sizeof(region->proc[i]));
	     i++) {
		want = NWSHM_FREE;
		if (atomic_load_explicit(&region->proc[i].state, memory_order_relaxed) !=
			NWSHM_FREE ||
		    !atomic_compare_exchange_strong(&region->proc[i].state, &want, NWSHM_SETUP))
			continue;
		nwshm_used(&region->procs_used, i);
		return &region->proc[i];
	}
	return NULL;
}

static struct nwshm_proc *
proc_start(bool forked)
{
	struct nwshm_proc *p;
	int32_t pid = (int32_t)sys(SYS_getpid, 0);
	uint64_t pid_ns = own_pid_ns();

	has_past = forked;
	if (!forked && (p = proc_succeed(pid, pid_ns)) != NULL) {
		has_past |= p->at_start.rchar != 0 || atomic_load(&p->images) != 0;
		atomic_fetch_add(&p->images, 1);
		proc_describe(p);
		atomic_fetch_add(&p->images, 1);
		return p;
	}
	if ((p = proc_claim()) == NULL)
		return NULL;
	p->pid = pid;
	p->start_ticks = 0;
	p->pid_ns = pid_ns;
	p->attach_mono_ns = mono_ns();
	proc_describe(p);
	atomic_store_explicit(&p->images, 0, memory_order_relaxed);
	atomic_store_explicit(&p->epoch, 1, memory_order_relaxed);
	atomic_store_explicit(&p->ways, 0, memory_order_relaxed);
	atomic_store_explicit(&p->mapped_bytes, 0, memory_order_relaxed);
	if (forked)
		p->at_start = (struct nwshm_usage){ .cpu_known = 1, .io_known = 1 };
	else
		usage_begin(&p->at_start);
	atomic_store_explicit(&p->state, NWSHM_LIVE, memory_order_release);
	return p;
}

void
process_attach(bool forked)
{
	struct nwshm_proc *p;
	uint32_t none = 0;

	if (region == NULL || sealed ||
	    !atomic_compare_exchange_strong(&state->generation, &none, GENERATION_TAKING))
		return;
	if (forked)
		fd_forget_all_on_fork();
	if ((p = proc_start(forked)) == NULL) {
		region = NULL; /* stays attached to nothing: later calls cost a comparison */
		return;
	}
	state->proc = p;
	state->index = (uint32_t)(p - region->proc);
	atomic_store_explicit(
	    &state->generation, atomic_fetch_add(&region->generation, 1) + 1, memory_order_release);
}

void
process_note_status(int status)
{
	struct nwshm_proc *p = state->proc;
	uint32_t g = atomic_load_explicit(&state->generation, memory_order_acquire);

	if (region == NULL || sealed || g == 0 || g == GENERATION_TAKING ||
	    sys(SYS_getpid, 0) != p->pid)
		return;
	p->exit_status = status & 0xff;
	atomic_store_explicit(&p->exit_told, 1, memory_order_release);
}

static void
on_program_exit(void *arg, int status)
{
	(void)arg;
	process_note_status(status);
}

/* Called where a process ends in an orderly way; the collector would be too late to look. Not in a
 * vfork child. */
void
process_record_exit(uint64_t pending_bytes)
{
	struct nwshm_proc *p = state->proc;
	uint32_t g = atomic_load_explicit(&state->generation, memory_order_acquire);

	if (region == NULL || sealed || g == 0 || g == GENERATION_TAKING ||
	    sys(SYS_getpid, 0) != p->pid)
		return;
	fd_closing_all();
	usage_end(p, pending_bytes);
	atomic_store_explicit(&p->exit_mono_ns, mono_ns(), memory_order_release);
}

/*
 * A vfork child borrows its parent's memory, but neither its descriptors nor its counters. The mark
 * stays on the thread until the parent has been seen to go on.
 */
bool
process_is_vfork_child(void)
{
	return region != NULL && state->proc != NULL && sys(SYS_getpid, 0) != state->proc->pid;
}

void
process_note_way(enum nwshm_way way, uint64_t mapped_bytes)
{
	uint32_t g = atomic_load_explicit(&state->generation, memory_order_acquire);

	if (region == NULL || g == 0 || g == GENERATION_TAKING || in_vfork_child())
		return;
	atomic_fetch_or(&state->proc->ways, way);
	atomic_fetch_add(&state->proc->mapped_bytes, mapped_bytes);
}

/* For nwrun itself, whose collector must not be measured, or waited for, by an outer nwrun. */
EXPORT void nwrun_detach(void);
EXPORT void
nwrun_detach(void)
{
	if (region == NULL)
		return;
	region = NULL;
	atomic_store(&state->generation, GENERATION_TAKING);
	self.generation = GENERATION_TAKING;
	self.slot = NULL;
}

/* --- threads --- */

/* An idle slot of the process first: its sums may go on growing in any thread. */
static struct nwshm_thread *
thread_claim_idle(int32_t tid)
{
	uint32_t used = nwshm_used_get(&region->threads_used, NWSHM_THREADS), i;
	struct nwshm_thread *t;
	int32_t idle;

	for (i = 0; i < used; i++) {
		idle = 0;
		if (atomic_load_explicit(&region->thread_owner[i], memory_order_relaxed) !=
			state->index + 1 ||
		    atomic_load_explicit(&region->thread_tid[i], memory_order_relaxed) != 0 ||
		    (t = thread_at(i)) == NULL ||
		    !atomic_compare_exchange_strong(&region->thread_tid[i], &idle, tid))
			continue;
		self.index = i;
		return t;
	}
	return NULL;
}

/* Returns true if the words of a slot exist. The word of the thread comes first, because the word
 * of the owner raises the count. */
static bool
thread_has_place(uint32_t i)
{
	_Atomic uint32_t none = 0;

	return i < atomic_load_explicit(&region->threads_ready, memory_order_relaxed) ||
	    (table_reaches(&none, i, &region->thread_tid[i], sizeof(region->thread_tid[i])) &&
		table_reaches(&region->threads_ready, i, &region->thread_owner[i],
		    sizeof(region->thread_owner[i])));
}

/* Takes a free slot. A slot without pages ends the search: the memory is full. */
static struct nwshm_thread *
thread_claim(int32_t tid)
{
	uint32_t owner = state->index + 1, i, want_owner;
	struct nwshm_thread *t = thread_claim_idle(tid);

	for (i = 0; t == NULL && i < NWSHM_THREADS && thread_has_place(i); i++) {
		want_owner = 0;
		if (atomic_load_explicit(&region->thread_owner[i], memory_order_relaxed) != 0 ||
		    !atomic_compare_exchange_strong(
			&region->thread_owner[i], &want_owner, owner | NWSHM_OWNER_SETUP))
			continue;
		if ((t = thread_at(i)) == NULL || !region_touch(t, NWSHM_PAGE)) {
			atomic_store(&region->thread_owner[i], 0);
			return NULL;
		}
		nwshm_used(&region->threads_used, i);
		atomic_store(&region->thread_tid[i], tid);
		atomic_store(&region->thread_owner[i], owner);
		self.index = i;
	}
	return t;
}

/* Runs when a thread ends; if a later destructor does I/O, the thread attaches once more. */
static void
on_thread_end(void *unused)
{
	(void)unused;
	if (region == NULL || self.slot == NULL ||
	    self.generation != atomic_load_explicit(&state->generation, memory_order_relaxed))
		return;
	atomic_store(&self.slot->inflight, 0);
	atomic_store(&self.slot->step_since, 0);
	atomic_store(&region->thread_tid[self.index], 0);
	self.slot = NULL;
	self.generation = 0;
}

/* The key, plus one; 0: there is none. */
static uint32_t
thread_key_get(void)
{
	uint32_t key = atomic_load(&thread_key);
	pthread_key_t mine;

	if (key != 0 || pthread_key_create == NULL || pthread_setspecific == NULL ||
	    pthread_key_create(&mine, on_thread_end) != 0)
		return key;
	if (atomic_compare_exchange_strong(&thread_key, &key, (uint32_t)mine + 1))
		return (uint32_t)mine + 1;
	pthread_key_delete(mine); /* another thread was faster */
	return key;
}

/* Arranges that a thread gives its slot back. The slot of a program's only thread ends with the
 * program. */
static void
thread_watch(void)
{
	uint32_t key;

	if (*single_threaded == 0 && (key = thread_key_get()) != 0)
		pthread_setspecific(key - 1, &self);
}

/* Without tables nothing but the number tells a child that was made past the fork handler. */
static void
process_check(void)
{
	uint32_t generation = atomic_load(&state->generation);

	if (tables == NULL && generation != GENERATION_TAKING && state->proc != NULL &&
	    sys(SYS_getpid, 0) != state->proc->pid)
		atomic_compare_exchange_strong(&state->generation, &generation, 0);
}

struct nwshm_thread *
thread_attach(void)
{
	uint32_t generation = atomic_load_explicit(&state->generation, memory_order_acquire);

	if (generation == GENERATION_TAKING || region == NULL || sealed)
		return NULL;
	if (self.in_vfork) {
		if (process_is_vfork_child())
			return NULL;
		self.in_vfork = false;
		if (self.slot != NULL) {
			self.generation = generation;
			return self.slot;
		}
	}
	process_check();
	if ((generation = atomic_load(&state->generation)) == 0) {
		process_attach(true);
		generation = atomic_load(&state->generation);
		if (generation == 0 || generation == GENERATION_TAKING)
			return NULL;
	}
	if (!direct)
		find_direct();
	self.slot = tables_make() ? thread_claim((int32_t)sys(SYS_gettid, 0)) : NULL;
	self.generation = generation;
	if (self.slot == NULL)
		/* a thread without a slot shows at least here */
		atomic_fetch_add(&state->proc->missed_ops, 1);
	else
		thread_watch();
	return self.slot;
}

/* --- life --- */

/* The mark of a library for pthread_atfork(3). The compiler's start files have the mark, too, but
 * make the loader search for functions that nwrun.so does not need. */
void *__dso_handle __attribute__((visibility("hidden")));

static void
on_fork_child(void)
{
	if (region == NULL || sealed)
		return;
	atomic_store(&state->generation, 0);
	process_attach(true);
}

static void
on_fork_parent(void)
{
	if (region != NULL)
		fd_pairs_shared();
}

/* The comparison is here for the reason of text_copy(). */
static const char *
environment_get(char *const *environment, const char *name)
{
	size_t n;

	for (; *environment != NULL; environment++) {
		for (n = 0; name[n] != '\0' && (*environment)[n] == name[n]; n++)
			;
		if (name[n] == '\0' && (*environment)[n] == '=')
			return *environment + n + 1;
	}
	return NULL;
}

/* What pthread_atfork(3) of the linker's library calls. Weak, as all functions of glibc alone. */
int
__register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);
#pragma weak __register_atfork
/* The C library gives the status to such handlers, too, and its own start has touched the code:
 * on_exit(3) lies elsewhere. */
int __cxa_atexit(void (*run)(void *arg, int status), void *arg, void *object);
#pragma weak __cxa_atexit

/*
 * Not at the program's start: most short programs never fork. A child that was made past fork()
 * gets a slot at its first operation.
 */
void
process_before_fork(void)
{
	static _Atomic bool registered;

	if (region != NULL && !atomic_exchange(&registered, true))
		__register_atfork(NULL, on_fork_parent, on_fork_child, __dso_handle);
}

/* The GNU C library gives constructors the arguments of main, others do not. */
__attribute__((constructor)) static void
preload_start(int argc, char *argv[], char *environment[])
{
	const char *path;
	int saved = errno;

	if (!is_at_home())
		return;
	find_start();
	path = environment_get(environment, NWSHM_ENV);
	if (path != NULL && (region = region_map(path)) != NULL) {
		image_describe(argc, argv);
		process_attach(false);
		__cxa_atexit(on_program_exit, NULL, NULL);
	}
	errno = saved;
}
