/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge/combined.h"
#include "analyze/verdict/judge/judge_in.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Most gain from lifting a single limit of two close limits. */
static const double GAIN_TIE_MAX = 1.5;
/* .. where a throttle is the second. */
static const double THROTTLE_TIE = 1.35;
/* The gain of lifting one of two limits is at most, or nearly, this. */
static const double GAIN_TIE = 1.25, GAIN_NEARLY = 1.15;
/* Least share of the time with a full network for a tie with the network by its gain. */
static const double NET_FULL = 0.5;
/* Measured: of a throttled disk that took turns with a full network the rate was 0.75 to 0.9 of the
 * throttle, and bytes waited in 0.33 to 0.55 of the looks; either lift gained 1.2 to 1.3. */
static const double TURNS_RATE = 0.7, TURNS_QUEUED = 0.3;
/* A throttle of so many times the rate of a disk leaves room, unless bytes waited in front of the
 * disk for this share of the looks. */
static const double THROTTLE_FAR = 1.35, QUEUED_MOSTLY = 0.5;
/* Of ties of a throttled disk with the network, the network delivered at most 1.8 times the mean
 * rate in its better windows; of many streams the shares of the time lie further apart, and the sum
 * of their rates tells little. */
static const double NET_ROOM_SURE = 2, NET_STREAMS_APART = 0.1;
/* Least share of the time for a resource at its limit. */
static const double SATURATED = 0.85;
/* With less of the time in flight the network limits nothing. */
static const double IDLE_NET = 0.1;
/* Waits of both ends confirm data in flight; a slow receiver keeps data in flight, too. */
static const double NET_HELD = 0.1, NET_HELD_SLOW = 0.35;
/* A disk behind readahead shows held time in so many of the windows only near its limit. */
static const double READ_PEAKS = 0.06, READ_HELD = 0.07, READ_MUCH = 0.12;
/* A disk behind dirty pages slows its writers for this share of the time near its limit, most of
 * all in slow windows; meanwhile the network has room. */
static const double WRITE_HELD = 0.14, WRITE_PACE = 0.95, WRITE_ROOM = 1.14;
/* .. or for this share, in windows that are hardly faster than the mean. */
static const double WRITE_MUCH = 0.24, WRITE_EVEN = 1.06;
/* Of the disks of two ends, the slower hides work of the other: a disk with these shares was as
 * slow in nearly all measured transfers, and a disk with half of them never was. */
static const double WRITE_BESIDE = 0.4, READ_HALF = 0.5, DISKS_BOTH = 1.2;
/* A network is not at its limit if it delivered faster than so many times the mean rate. */
static const double NET_ROOM = 1.6;
/* Measured beside builds on both processors, with an idle disk that held most of the time: behind a
 * token bucket of 1,000 Mbit/s the network was at work for 0.66 to 0.8 of the time in 6 of 7, and
 * without the bucket for 0.1 to 0.3. */
static const double NET_BESIDE = 0.6;
/* Without a processor for this share of the time, a program is the limit where the test is
 * undecided. With STARVED_DOUBT, any other answer is doubtful; with less, a disk already: the
 * kernel's own work for the disk waits, too. */
static const double STARVED = 0.5, STARVED_DOUBT = 0.3, STARVED_DISK = 0.15;
/* Beside an idle disk a program is the limit with this share of the time, so many times that of any
 * other stage. */
static const double BESIDE_HELD = 0.2, BESIDE_RATIO = 1.5;
/* Largest ratio of two shares of the time that are nearly equal. */
static const double TIE_RATIO = 1.15;
/* Unseen share of the bytes that lowers the confidence, unless the bytes are few. */
static const double UNSEEN_DOUBT = 0.02, UNSEEN_BYTES = 4e6;
/* Rows of time that excuse a wait for a processor: the network's for two ends, and a disk's. */
enum { EXCUSES = 2 + NW_STAGE_COUNT };

const struct evidence_process *
cpu_waiter(const struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *f, *most = NULL;

	for (f = e->processes; f < e->processes + e->n_processes; f++)
		if (f->program != NULL && starved_s(j, e, f) >= 0.1 * j->path.active_s &&
		    j->path.active_s > 0 &&
		    (most == NULL || starved_s(j, e, f) > starved_s(j, e, most)))
			most = f;
	return most;
}

double
starved_s(const struct judgement *j, const struct evidence *e, const struct evidence_process *p)
{
	return j->starved_s[p - e->processes];
}

bool
stage_kind_is_host(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_SENDER_HOST || kind == NW_STAGE_RECEIVER_HOST ||
	    kind == NW_STAGE_HOST;
}

static bool
is_throttled(const struct judgement *j, size_t stage)
{
	return resources_throttled(&j->resources, stage, resources_rate(&j->path, stage));
}

/* Whether a stage is a disk whose device had nothing to do. */
static bool
is_idle_disk(const struct judgement *j, size_t stage)
{
	return stage < j->path.n && j->path.stage[stage].kind == NW_STAGE_DISK_WRITE &&
	    resources_written_idle(&j->resources, stage);
}

/* Whether the processors of a stage's host were all busy, or a program waited long for one. */
static bool
is_short_of_processors(const struct judgement *j, const struct evidence *e, size_t stage)
{
	const struct evidence_process *waiter = cpu_waiter(j, e);
	double busy = mean_known(e->hosts[j->path.stage[stage].host].cpu_busy, e->n_windows);

	return busy >= SATURATED ||
	    (waiter != NULL && starved_s(j, e, waiter) >= STARVED_DISK * j->path.active_s);
}

/* Whether a throttle far above the disk's rate hardly ever let bytes wait. */
static bool
has_room(const struct judgement *j, size_t stage)
{
	return resources_rate(&j->path, stage) * THROTTLE_FAR <= j->resources.throttle[stage] &&
	    j->resources.queued[stage] < QUEUED_MOSTLY;
}

/* Whether a stage besides the limit is at its own limit, by evidence that buffers do not hide. */
static bool
is_saturated(const struct judgement *j, const struct evidence *e, size_t stage)
{
	const struct resources *r = &j->resources;
	enum nw_stage_kind kind = j->path.stage[stage].kind,
			   limit = j->path.stage[j->limit.stage].kind;
	double held = 1 - j->limit.tests[stage].group.mean;

	/* Page faults inside send(2) leave segments half filled, and so in flight. */
	if (stage_kind_is_net(kind))
		return resources_net(r) >= SATURATED && !j->path.stage[j->limit.stage].mapped &&
		    !(r->room > NET_ROOM) &&
		    held >= (nw_stage_kind_writes(limit) ? NET_HELD_SLOW : NET_HELD);
	if (has_room(j, stage) ||
	    (!nw_stage_kind_is_storage(kind) && resources_read_idle(r, stage) &&
		is_short_of_processors(j, e, stage)))
		return false;
	if (nw_stage_kind_reads(kind) && stage_kind_is_net(limit) && held >= READ_HELD &&
	    (r->peaks[stage] >= READ_PEAKS || held >= READ_MUCH))
		return true;
	if (is_idle_disk(j, stage))
		return false;
	if (nw_stage_kind_writes(kind) && stage_kind_is_net(limit))
		return (held >= WRITE_MUCH && r->pace[stage] <= WRITE_EVEN) ||
		    (held >= WRITE_HELD && r->pace[stage] <= WRITE_PACE && !(r->room < WRITE_ROOM));
	if (j->path.has_receiver && held + limit_held(&j->limit) >= DISKS_BOTH &&
	    ((nw_stage_kind_writes(kind) && nw_stage_kind_reads(limit) && held >= WRITE_BESIDE) ||
		(nw_stage_kind_reads(kind) && nw_stage_kind_writes(limit) && held >= READ_HALF &&
		    !j->combined)))
		return true;
	if (kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE)
		return held >= READ_HELD && r->device[stage] >= SATURATED;
	return false;
}

/* Whether a stage reads from memory alone: what looks like a disk at work copies pages. */
static bool
is_cached(const struct judgement *j, const struct evidence *e, size_t stage)
{
	const struct nw_path_stage *s = &j->path.stage[stage];

	return s->kind == NW_STAGE_DISK_READ && evidence_reads_cached(e, &e->processes[s->process]);
}

/* Whether a stage and the limit are the disk and the network of the same calls, whose time tells
 * nothing of the one or the other. A throttle tells of the disk. */
static bool
shares_calls(const struct judgement *j, const struct evidence *e, size_t stage)
{
	return combined_is_pair(e, &j->path, &j->limit, j->limit.stage, stage) &&
	    !is_throttled(j, j->limit.stage) && !is_throttled(j, stage);
}

/* The stage that limits together with the slowest; number of stages if there is none. */
static size_t
second_find(const struct judgement *j, const struct evidence *e)
{
	const struct limit *l = &j->limit;
	size_t next = l->bottleneck.runner_up, i;
	double held = limit_held(l), held_next;

	if (l->n_windows < LIMIT_WINDOWS_MIN || !limit_is_held(l) ||
	    (l->known && stage_kind_is_host(j->path.stage[l->stage].kind)))
		return j->path.n;
	for (i = 0; i < j->path.n; i++)
		if (i != l->stage && !is_cached(j, e, i) && is_throttled(j, i))
			return i;
	for (i = 0; i < j->path.n; i++)
		if (i != l->stage && !shares_calls(j, e, i) && !is_cached(j, e, i) &&
		    is_saturated(j, e, i))
			return i;
	if (l->known || next >= j->path.n || shares_calls(j, e, next))
		return j->path.n;
	held_next = 1 - l->tests[next].group.mean;
	return held_next >= TIE_HELD && held <= TIE_RATIO * held_next ? next : j->path.n;
}

/* Whether the kernel read from disk for a program about as much as the program moved, without a
 * call of the program. */
static bool
reads_unseen(const struct judgement *j, const struct evidence *e)
{
	enum nw_stage_kind kind = j->path.stage[j->limit.stage].kind;
	size_t i, process = j->path.stage[j->limit.stage].process;

	if (kind == NW_STAGE_RECEIVER_HOST || nw_stage_kind_writes(kind) ||
	    kind == NW_STAGE_NET_READ)
		return false;
	if (stage_kind_is_net(kind))
		process = j->path.sender_process;
	for (i = 0; i < j->path.n; i++)
		if (nw_stage_kind_reads(j->path.stage[i].kind))
			return false;
	return e->processes[process].storage_read_bytes > 0.5 * j->bytes;
}

/* Share of the kernel's count of bytes that no measured call moved. */
static double
unseen_share(const struct evidence *e)
{
	double seen, kernel;

	evidence_seen(e, &seen, &kernel);
	return kernel - seen > UNSEEN_BYTES ? 1 - seen / kernel : 0;
}

/* Whether a stage is a program that had no processor for most of the time. */
static bool
is_kept_waiting(const struct judgement *j, size_t stage)
{
	const struct nw_path_stage *s = &j->path.stage[stage];

	return stage < j->path.n && stage_kind_is_host(s->kind) &&
	    j->starved_s[s->process] >= STARVED * j->path.active_s;
}

/* Where the test is undecided, names a program that had no processor, if it is one of the slowest
 * two. */
static void
starved_decide(struct judgement *j)
{
	struct limit *l = &j->limit;
	size_t next = l->bottleneck.runner_up;

	if (l->known || !limit_is_held(l) || l->n_windows < LIMIT_WINDOWS_MIN)
		return;
	if (!is_kept_waiting(j, l->stage) && !is_kept_waiting(j, next))
		return;
	if (!is_kept_waiting(j, l->stage))
		l->stage = next;
	l->known = true;
	l->claim = LIMIT_ACCOUNT;
}

/* The program that held the bytes clearly longer than any stage besides the idle disk; number of
 * stages if there is none. */
static size_t
program_beside(const struct judgement *j)
{
	size_t i, most = j->path.n;
	double held, first = 0, next = 0;

	for (i = 0; i < j->path.n; i++) {
		if (i == j->limit.stage)
			continue;
		held = 1 - j->limit.tests[i].group.mean;
		if (held > first) {
			next = first;
			first = held;
			most = i;
		} else
			next = fmax(next, held);
	}
	return most < j->path.n && stage_kind_is_host(j->path.stage[most].kind) &&
		first >= BESIDE_HELD && first >= BESIDE_RATIO * next
	    ? most
	    : j->path.n;
}

/* The network, where the kernel's account shows the network at work beside the idle disk; number of
 * stages if there is none. */
static size_t
network_beside(const struct judgement *j)
{
	size_t i;

	for (i = 0; i < j->path.n; i++)
		if (stage_kind_is_net(j->path.stage[i].kind) &&
		    resources_net(&j->resources) >= NET_BESIDE && !(j->resources.room > NET_ROOM))
			return i;
	return j->path.n;
}

/*
 * The kernel slows writers down until pages are written, and needs a processor for both. Where
 * processors are short and hardly a byte waits for the device, the disk is not the limit: the
 * limit is the network at work beside the writers, or the program busy beside them, or unknown.
 */
static void
idle_disk_decide(struct judgement *j, const struct evidence *e)
{
	struct limit *l = &j->limit;
	size_t beside = network_beside(j), next = l->bottleneck.runner_up;
	bool first = is_idle_disk(j, l->stage);

	if (!limit_is_held(l))
		return;
	if (!first && (l->known || l->stage != beside || !is_idle_disk(j, next)))
		return;
	if (!is_short_of_processors(j, e, first ? l->stage : next))
		return;
	if (beside == j->path.n) {
		j->idle_disk = true;
		beside = program_beside(j);
	}
	l->known = beside < j->path.n && l->n_windows >= LIMIT_WINDOWS_MIN;
	if (!l->known)
		return;
	l->stage = beside;
	l->claim = LIMIT_ACCOUNT;
}

/* Whether a stage is at the end named by the kernels. */
static bool
stage_is_named(enum nw_stage_kind kind, enum nw_says says)
{
	switch (says) {
	case NW_SAYS_SENDING_END:
		return nw_stage_kind_reads(kind) || kind == NW_STAGE_SENDER_HOST ||
		    kind == NW_STAGE_HOST;
	case NW_SAYS_RECEIVING_END:
		return nw_stage_kind_writes(kind) || kind == NW_STAGE_RECEIVER_HOST ||
		    kind == NW_STAGE_HOST;
	case NW_SAYS_NETWORK: return stage_kind_is_net(kind);
	default: return false;
	}
}

/* The slowest stage at the end that the kernels name; of a tie one of the two, if the other is at
 * another end. The number of stages if there is none. */
static size_t
named_find(const struct judgement *j)
{
	size_t i, slowest = j->path.n;

	for (i = 0; i < j->path.n; i++) {
		if (!stage_is_named(j->path.stage[i].kind, j->kernel.says) || is_idle_disk(j, i) ||
		    (j->second < j->path.n && i != j->limit.stage && i != j->second))
			continue;
		if (j->second < j->path.n && slowest < j->path.n)
			return j->path.n;
		if (slowest == j->path.n ||
		    j->limit.tests[i].group.mean < j->limit.tests[slowest].group.mean)
			slowest = i;
	}
	return slowest;
}

/* Where the test is undecided, or two stages seem to limit alike, the kernels saw bytes lie. */
static void
kernel_decide(struct judgement *j)
{
	struct limit *l = &j->limit;
	size_t named;

	if (l->known || j->unseen > UNSEEN_MOST || j->blind_reads ||
	    l->n_windows < LIMIT_WINDOWS_MIN || (named = named_find(j)) == j->path.n)
		return;
	l->stage = named;
	l->known = true;
	l->claim = LIMIT_ACCOUNT;
	j->second = j->path.n;
	j->by_kernel = true;
	j->idle_network = false;
}

/* Where the test is undecided, or two stages seem to limit alike, names the only disk at its
 * throttle, if the network delivered far more at times. */
static void
throttle_decide(struct judgement *j)
{
	const struct resources *r = &j->resources;
	struct limit *l = &j->limit;
	size_t i, n = 0, disk = j->path.n;

	for (i = 0; i < j->path.n; i++)
		if (is_throttled(j, i)) {
			disk = i;
			n++;
		}
	if (n != 1 || l->known || l->n_windows < LIMIT_WINDOWS_MIN || j->unseen > UNSEEN_MOST ||
	    j->blind_reads || !(r->room >= NET_ROOM_SURE) ||
	    r->net_high - r->net_low > NET_STREAMS_APART ||
	    !(stage_kind_is_net(j->path.stage[l->stage].kind) || l->stage == disk))
		return;
	l->stage = disk;
	l->known = true;
	l->claim = LIMIT_ACCOUNT;
	j->second = j->path.n;
	j->by_throttle = true;
	j->idle_network = false;
}

/* Where the test is undecided, or two stages seem to limit alike, the rates of stages alone may
 * tell which of the two worked longer. */
static void
replay_decide(struct judgement *j)
{
	struct limit *l = &j->limit;
	size_t second = j->second < j->path.n ? j->second : l->bottleneck.runner_up;
	enum replayed_says says;

	if (l->known || j->unseen > UNSEEN_MOST || j->blind_reads || j->idle_disk ||
	    l->n_windows < LIMIT_WINDOWS_MIN)
		return;
	says = replayed_compare(
	    &j->replayed, &j->path, l, &j->resources, j->bytes_per_s, l->stage, second);
	if (says == REPLAYED_NOTHING)
		return;
	j->by_replay = true;
	j->idle_network = false;
	if (says == REPLAYED_BOTH) {
		j->second = second;
		return;
	}
	if (says == REPLAYED_SECOND)
		l->stage = second;
	l->known = true;
	l->claim = LIMIT_ACCOUNT;
	j->second = j->path.n;
}

/* A program that pauses by itself for as long as it pleases: whatever waits beside, its own pace is
 * the limit. */
static void
pace_decide(struct judgement *j, const struct evidence *e)
{
	struct limit *l = &j->limit;

	pace_find(e, &j->path, l, j->starved_s, &j->pace);
	if (!j->pace.found || j->unseen > UNSEEN_MOST)
		return;
	if (!l->known || l->stage != j->pace.stage)
		l->claim = LIMIT_ACCOUNT;
	l->stage = j->pace.stage;
	l->known = true;
	j->second = j->path.n;
	j->by_kernel = j->by_throttle = j->by_replay = j->idle_network = j->idle_disk =
	    j->blind_reads = false;
}

/* Names the waiting program beside the other limit. */
static void
crowd_decide(struct judgement *j, const struct evidence *e)
{
	struct limit *l = &j->limit;

	if (j->pace.found || j->unseen > UNSEEN_MOST || j->blind_reads || j->idle_disk ||
	    j->by_throttle)
		return;
	crowd_find(e, &j->path, l, &j->resources, j->starved_s, &j->crowd);
	if (!j->crowd.limits)
		return;
	l->stage = j->crowd.stage;
	l->known = false;
	j->second = j->crowd.program;
	j->idle_network = false;
}

/* The limit, or none: the test, then the kernels' account, then time alone. */
static void
decide(struct judgement *j, const struct evidence *e)
{
	struct limit *l = &j->limit;
	enum nw_stage_kind kind;

	j->second = j->path.n;
	l->known = l->known && limit_is_held(l);
	j->combined = combined_decide(e, &j->path, &j->resources, l);
	if (l->stage >= j->path.n)
		return;
	starved_decide(j);
	idle_disk_decide(j, e);
	kind = j->path.stage[l->stage].kind;
	j->idle_network = (kind == NW_STAGE_NETWORK || kind == NW_STAGE_NET_WRITE) &&
	    j->resources.in_flight < IDLE_NET;
	j->unseen = unseen_share(e);
	j->blind_reads = stage_kind_is_net(kind) && reads_unseen(j, e);
	if (j->idle_network || j->unseen > UNSEEN_MOST || j->blind_reads)
		l->known = false;
	else
		j->second = second_find(j, e);
	if (j->second < j->path.n)
		l->known = false;
	throttle_decide(j);
	kernel_decide(j);
	replay_decide(j);
	pace_decide(j, e);
	crowd_decide(j, e);
	if (!l->known)
		l->claim = LIMIT_NONE;
}

/* Whether the limit is a program waiting for a processor. */
static bool
is_starved(const struct judgement *j)
{
	const struct nw_path_stage *s = &j->path.stage[j->limit.stage];

	return j->limit.known && !j->pace.found && stage_kind_is_host(s->kind) &&
	    j->starved_s[s->process] >= 0.3 * s->busy_share * j->path.active_s;
}

/* Whether a disk behind dirty pages and a full network took turns: the disk's rate, and the bytes
 * that waited, are those of a disk at its throttle but for the turns of the network. */
static bool
takes_turns(const struct judgement *j, size_t stage)
{
	const struct resources *r = &j->resources;

	return j->path.stage[stage].kind == NW_STAGE_DISK_WRITE &&
	    resources_rate(&j->path, stage) >= TURNS_RATE * r->throttle[stage] &&
	    r->queued[stage] >= TURNS_QUEUED && resources_net(r) >= SATURATED &&
	    1 - j->limit.tests[stage].group.mean >= WRITE_MUCH;
}

bool
judge_tie_is_sure(const struct judgement *j)
{
	return j->second < j->path.n && !j->crowd.limits &&
	    (j->by_gain || j->by_replay || is_throttled(j, j->second) ||
		takes_turns(j, j->second) ||
		gain_worked(&j->path, &j->limit, &j->resources, j->second) >= TIE_HELD);
}

/* Whether calls of the sender that read and send at once waited for the limit: their time bounds
 * nothing. Where they waited for the disk, the kernel's account tells the network's part. */
static bool
hides_others(const struct judgement *j)
{
	return j->combined && !nw_stage_kind_reads(j->path.stage[j->limit.stage].kind);
}

/* What lifting the limit gains; both limits of a tie must be lifted. */
static void
gain_set(struct judgement *j)
{
	bool lifts = j->limit.known && !j->idle_disk && !j->pace.found;
	double worked;

	j->gain = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = j->path.n };
	if (judge_tie_is_sure(j)) {
		worked = gain_worked(&j->path, &j->limit, &j->resources, j->second);
		j->gain.low = 1;
		j->gain.high = fmin(GAIN_TIE_MAX,
		    isfinite(j->resources.throttle[j->second]) ? THROTTLE_TIE
							       : fmax(1.1, 1.1 / worked));
		j->gain.next = j->second;
		j->gain.source =
		    isfinite(j->resources.throttle[j->second]) ? GAIN_THROTTLE : GAIN_STAGES;
	} else if (j->second < j->path.n)
		j->gain.next = j->second;
	else if (lifts && !hides_others(j))
		j->gain = gain_find(&j->path, &j->limit, &j->resources, j->limit.stage);
	else if (lifts)
		(void)gain_by_room(&j->path, &j->resources, j->limit.stage, &j->gain);
	if (lifts)
		replayed_gain(&j->replayed, &j->path, &j->limit, &j->resources, j->bytes_per_s,
		    j->limit.stage, &j->gain);
	if (lifts)
		gain_by_throttle(
		    &j->path, &j->limit, &j->resources, &j->replayed, j->limit.stage, &j->gain);
	if (is_starved(j)) { /* as may all programs on the same processors */
		j->gain.about = j->gain.high = NAN;
		j->gain.low = j->gain.low > 1 ? fmin(j->gain.low, GAIN_TIE_MAX) : NAN;
	}
	if (!isfinite(j->gain.low) && !isfinite(j->gain.high))
		j->gain.source = GAIN_UNKNOWN;
}

/* Where a lift would gain next to nothing, replays may tell which of the two stages limits alone.
 * Returns true if one of the two is named. */
static bool
little_by_replay(struct judgement *j)
{
	const size_t first = j->limit.stage, next = j->gain.next;
	enum replayed_says says = replayed_compare(
	    &j->replayed, &j->path, &j->limit, &j->resources, j->bytes_per_s, first, next);

	j->by_replay = says != REPLAYED_NOTHING;
	if (says == REPLAYED_BOTH || says == REPLAYED_NOTHING)
		return false;
	j->limit.stage = says == REPLAYED_SECOND ? next : first;
	j->limit.claim = LIMIT_ACCOUNT;
	gain_set(j);
	if (says == REPLAYED_FIRST) { /* the replay refutes the account that left no room */
		j->gain = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = j->path.n };
		replayed_gain(&j->replayed, &j->path, &j->limit, &j->resources, j->bytes_per_s,
		    first, &j->gain);
	}
	if (!(j->gain.high < GAIN_TIE))
		return true;
	j->limit.stage = first;
	j->gain.next = next;
	j->by_replay = false;
	return false;
}

/* A limit whose lift gains next to nothing limits together with the stage that would limit next. */
static void
little_decide(struct judgement *j)
{
	struct limit *l = &j->limit;

	if (!l->known || j->idle_disk || j->pace.found || j->gain.next >= j->path.n ||
	    j->gain.next == l->stage || !(j->gain.high < GAIN_TIE || j->gain.about < GAIN_NEARLY))
		return;
	/* the data of a slow sender fill the time of a long path, but not the path */
	if (stage_kind_is_net(j->path.stage[j->gain.next].kind) && !(j->net_full >= NET_FULL)) {
		j->gain = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = j->path.n };
		return;
	}
	if (little_by_replay(j))
		return;
	l->known = false;
	l->claim = LIMIT_NONE;
	j->second = j->gain.next;
	j->by_gain = true;
	j->gain.about = NAN;
	j->gain.low = 1;
}

void
judge_add_history(struct judgement *j, const struct gain_history *h)
{
	if (j->limit.known && !j->idle_disk)
		gain_by_history(h, j->bytes_per_s, j->path.n, &j->gain);
}

bool
judge_tie_is_steady(const struct judgement *j)
{
	const struct resources *r = &j->resources;

	return judge_tie_is_sure(j) && resources_net(r) >= SATURATED &&
	    (is_throttled(j, j->second) || is_throttled(j, j->limit.stage) ||
		takes_turns(j, j->second));
}

/* Whether a program waited long for a processor, but is not the limit. */
static bool
is_crowded(const struct judgement *j, const struct evidence *e)
{
	const struct evidence_process *waiter = cpu_waiter(j, e);
	enum nw_stage_kind kind = j->path.stage[j->limit.stage].kind;

	return waiter != NULL && !stage_kind_is_host(kind) &&
	    starved_s(j, e, waiter) >=
	    (stage_kind_is_net(kind) ? STARVED_DOUBT : STARVED_DISK) * j->path.active_s;
}

/* Whether a mapped file was read: readahead hides its disk up to the limit. */
static bool
reads_mapped(const struct nw_path *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->stage[i].mapped)
			return true;
	return false;
}

static void
confidence_set(struct judgement *j, const struct evidence *e)
{
	bool against = false, with = false;
	size_t i;

	for (i = 0; i < j->n_witnesses; i++) {
		if (j->witnesses[i].name == NW_WITNESS_CALIPERS)
			continue;
		against |= j->witnesses[i].agrees == AGREES_NOT;
		with |= j->witnesses[i].agrees == AGREES;
	}
	if (reads_unseen(j, e)) {
		against = true;
		REASON_SAY(j, read_without_calls_behind, CLAIM_NO_STAGE);
	}
	if (is_crowded(j, e)) {
		against = true;
		REASON_SAY(j, crowded, CLAIM_NO_STAGE, claim_text(cpu_waiter(j, e)->program),
		    claim_text(e->hosts[cpu_waiter(j, e)->host].name),
		    claim_number(fmin(1, starved_s(j, e, cpu_waiter(j, e)) / j->path.active_s)));
	}
	if (j->by_kernel)
		REASON_SAY(
		    j, kernels_decide, j->limit.stage, claim_text(nw_says_name(j->kernel.says)));
	if (j->unseen > UNSEEN_DOUBT)
		REASON_SAY(j, bytes_not_seen, CLAIM_NO_STAGE, claim_number(j->unseen));
	if (j->by_replay && !against && !replayed_is_brief(&j->replayed, j->path.n))
		j->confidence = "medium";
	else if (against || (j->limit.claim == LIMIT_ACCOUNT && !j->pace.found))
		j->confidence = "low";
	else if (with && limit_is_strong(&j->limit) && !reads_mapped(&j->path))
		j->confidence = j->unseen > UNSEEN_DOUBT ? "medium" : "high";
	else
		j->confidence = j->unseen > UNSEEN_DOUBT ? "low" : "medium";
	for (i = 0; i < j->n_witnesses && against; i++)
		if (j->witnesses[i].agrees == AGREES_NOT)
			break;
	if (against && i < j->n_witnesses)
		REASON_SAY(j, witness_against, CLAIM_NO_STAGE);
}

/* The processes in the form of the path; free() the array. */
static struct nw_process *
processes_view(const struct evidence *e)
{
	struct nw_process *v = xcalloc(e->n_processes + 1, sizeof(*v));
	const struct evidence_process *p;
	size_t i;
	int op;

	for (i = 0; i < e->n_processes; i++) {
		p = &e->processes[i];
		v[i].host = p->host;
		v[i].begin_s = (double)(p->first_wall_ns - e->t0_wall_ns) * 1e-9;
		v[i].end_s = (double)(p->last_wall_ns - e->t0_wall_ns) * 1e-9;
		v[i].far_read = evidence_mount_of(e, p->host, false) != NULL;
		v[i].far_write = evidence_mount_of(e, p->host, true) != NULL;
		v[i].one_thread = p->pid >= 0 && p->threads <= 1;
		v[i].maps = p->unseen_by != NULL && strcmp(p->unseen_by, "memory-map") == 0;
		for (op = 0; op < NW_OP_COUNT; op++) {
			v[i].bytes[op] = p->bytes[op];
			v[i].busy_s[op] = p->busy_s[op];
			v[i].wait_s[op] = p->wait_s[op];
		}
		for (op = 0; op < 2; op++) {
			v[i].pipe_bytes[op] = p->pipe_bytes[op];
			v[i].pipe_s[op] = p->pipe_s[op];
		}
		v[i].cpu_s = p->cpu;
		v[i].starved_s = p->starved;
		v[i].blocked_s = p->blocked;
		v[i].stored_bytes = p->stored;
	}
	return v;
}

/* The processes of an end: on the end's host, or the end itself where both ends are on one host. */
static bool
is_of_end(const struct nw_path *p, const struct nw_process *v, size_t i, bool sending)
{
	if (p->sender_host == p->receiver_host)
		return i == (sending ? p->sender_process : p->receiver_process);
	return v[i].host == (sending ? p->sender_host : p->receiver_host);
}

/* Whether a process reads from a disk, or writes, more bytes than the reverse. */
static bool
moves_mostly(const struct evidence *e, const struct nw_process *v, enum nw_op op)
{
	double by[2] = { 0, 0 };
	size_t i;

	for (i = 0; i < e->n_windows; i++) {
		by[0] += v->bytes[NW_OP_DISK_READ] != NULL ? v->bytes[NW_OP_DISK_READ][i] : 0;
		by[1] += v->bytes[NW_OP_DISK_WRITE] != NULL ? v->bytes[NW_OP_DISK_WRITE][i] : 0;
	}
	return by[op == NW_OP_DISK_WRITE] > by[op != NW_OP_DISK_WRITE];
}

/* Adds the time in which the network was full to the processes of each end, and that in which a
 * disk was full to those of its host that use the disk. full[] has room for EXCUSES times n_windows
 * numbers; the second row is the network's for the sending end. Returns whether any process has
 * such time. */
static bool
processes_excuse(
    const struct evidence *e, const struct nw_path *p, struct nw_process *v, double *full)
{
	bool any = false, ends[2] = { p->has_receiver, p->has_sender };
	size_t i, stage;
	int way;

	for (way = 0; way < 2; way++, full += e->n_windows) {
		if (!ends[way] ||
		    (!resources_full(e, p, way == 1, full) &&
			(way == 1 || p->has_sender || !resources_drained(e, p, full))))
			continue;
		for (i = 0; i < e->n_processes; i++)
			if (is_of_end(p, v, i, way == 1)) {
				v[i].full_s = full;
				any = true;
			}
	}
	for (stage = 0; stage < p->n; stage++, full += e->n_windows) {
		enum nw_op op = p->stage[stage].kind == NW_STAGE_DISK_WRITE ? NW_OP_DISK_WRITE
									    : NW_OP_DISK_READ;

		if (!resources_disk_full(e, p, stage, full))
			continue;
		for (i = 0; i < e->n_processes; i++)
			if (v[i].host == p->stage[stage].host && moves_mostly(e, &v[i], op)) {
				v[i].disk_full_s = full;
				any = true;
			}
	}
	return any;
}

/* Of each process the seconds without a processor that a processor would have saved. */
static double *
starved_find(const struct evidence *e, const struct nw_process *v, double window_s)
{
	double *starved = xcalloc(e->n_processes + 1, sizeof(*starved));
	size_t f, i;

	for (f = 0; f < e->n_processes; f++)
		if ((v[f].full_s == NULL && v[f].disk_full_s == NULL) || v[f].starved_s == NULL)
			starved[f] = e->processes[f].cpu_wait_s;
		else
			for (i = 0; i < e->n_windows; i++)
				starved[f] += nw_starved_harm(
				    v[f].starved_s[i], nw_full_s(&v[f], i), window_s);
	return starved;
}

/* The path, without what a full network or disk excuses. */
static int
path_find(const struct evidence *e, struct judgement *out)
{
	double *full = xcalloc(EXCUSES * e->n_windows + 1, sizeof(*full));
	struct nw_process *v = processes_view(e);
	double step_s = (double)e->step_ns * 1e-9, sum = 0;
	size_t i;
	int rc = nw_path_build(v, e->n_processes, e->n_windows, step_s, &out->path);

	if (rc == NW_OK && out->path.n > 0 && processes_excuse(e, &out->path, v, full)) {
		nw_path_clear(&out->path);
		rc = nw_path_build(v, e->n_processes, e->n_windows, step_s, &out->path);
	}
	out->starved_s = starved_find(e, v, step_s);
	out->net_full = NAN;
	for (i = 0; out->path.has_sender && i < e->n_windows; i++)
		sum += full[e->n_windows + i];
	if (sum > 0)
		out->net_full = fmin(1, sum / out->path.active_s);
	free(full);
	free(v);
	return rc;
}

/* Bytes, rate, route and program of the transfer. */
static void
transfer_describe(struct judgement *j, const struct evidence *e)
{
	evidence_extent(e, &j->path, &j->first_wall_ns, &j->last_wall_ns);
	j->duration_s = (double)(j->last_wall_ns - j->first_wall_ns) * 1e-9;
	j->bytes = round(j->path.bytes); /* bytes spread over windows add up with rounding errors */
	j->bytes_per_s = j->duration_s > 0 ? j->bytes / j->duration_s : NAN;
	j->route = route_text(e, &j->path);
	j->program = program_of(e, &j->path);
}

int
judge_decide(const struct evidence *e, const struct judge_params *params, struct judgement *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = path_find(e, out)) < 0 ||
	    (rc = limit_find(
		 &out->path, 0, e->n_windows, params->alpha, params->margin, &out->limit)) < 0) {
		judgement_clear(out);
		return rc;
	}
	transfer_describe(out, e);
	announced_find(out, e);
	resources_find(e, &out->path, 0, e->n_windows, &out->resources);
	kernelwaits_find(e, &out->path, &out->kernel);
	replayed_find(e, &out->path, &out->resources, out->bytes_per_s, &out->replayed);
	decide(out, e);
	gain_set(out);
	little_decide(out);
	return rc;
}

void
judge_say(const struct evidence *e, const struct judge_params *params, struct judgement *out)
{
	witnesses_hear(out, e);
	judgement_words(out, e, params);
	out->confidence = out->announced.known                ? "low"
	    : out->second == out->path.n                      ? "none"
	    : judge_tie_is_sure(out) || out->crowd.is_certain ? "medium"
							      : "low";
	if (out->limit.known)
		confidence_set(out, e);
}

int
judge(const struct evidence *e, const struct judge_params *params, struct judgement *out)
{
	int rc = judge_decide(e, params, out);

	if (rc == NW_OK)
		judge_say(e, params, out);
	return rc;
}

bool
judge_stage(const struct judgement *j, enum nw_stage_kind *out)
{
	if (j->announced.known)
		*out = j->announced.stage;
	else if (j->chained.known)
		*out = j->chained.stage;
	else if (j->limit.known)
		*out = j->path.stage[j->limit.stage].kind;
	else
		return false;
	return true;
}

void
judge_withdraw(struct judgement *j)
{
	j->limit.known = false;
	j->limit.claim = LIMIT_NONE;
	j->second = j->path.n;
	j->gain = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = j->path.n };
	j->pace.found = j->crowd.limits = j->by_kernel = j->by_gain = j->by_replay =
	    j->by_throttle = j->combined = j->idle_network = j->idle_disk = j->blind_reads = false;
}

void
judgement_clear(struct judgement *j)
{
	size_t i;

	nw_path_clear(&j->path);
	free(j->starved_s);
	free(j->words);
	free(j->sentence);
	free(j->route);
	claims_clear(&j->said);
	for (i = 0; i < j->n_reasons; i++) {
		free(j->reasons[i]);
		claims_clear(&j->because[i]);
	}
	for (i = 0; i < j->n_witnesses; i++) {
		free(j->witnesses[i].detail);
		claims_clear(&j->witnesses[i].told);
	}
	memset(j, 0, sizeof(*j));
}
