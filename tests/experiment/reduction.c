/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * experiment-reduction [-s SEED] OUTDIR [RECORDING]
 *
 * Repeats Figures 2 to 6 of the paper by its method and by ours, and writes OUTDIR/figN-*.csv and
 * .svg, and OUTDIR/report.txt, which says where the two agree. RECORDING is the directory of the
 * recording of a busy machine; without it, its figures are left out. Exit status 1: a file cannot
 * be written or read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/experiment/experiment.h"

enum { THRESHOLDS = 21, RANDOM_SETS = 20, CHUNKS_MAX = 64 };

uint64_t noise_state;

/* What the paper says of a figure; NaN where it says nothing. */
struct told {
	double sdr, random, main;
};

/* Means over the verification chunks of a figure, and of a method. */
struct outcome {
	size_t n_kept, n_drivers_kept, n_drivers;
	double sdr, adjusted, random, main, out_of_sample;
	double noise; /* R2 to expect of as many terms of noise */
	bool holds;
	double worth_r2;
};

struct run {
	const char *dir;
	FILE *report;
	bool good;
};

static struct nw_reduce_options
options_of(const struct trial_data *d, bool ours)
{
	struct nw_reduce_options o = ours ? nw_reduce_better() : nw_reduce_faithful();

	if (d->quadratic)
		o.eliminate.quadratic = NW_QUADRATIC_CENTERED;
	o.n_random = RANDOM_SETS;
	return o;
}

/* The first `n_train` chunks are for training. */
static void
chunks_fill(const struct trial_data *d, size_t n_train, struct nw_chunk chunk[CHUNKS_MAX])
{
	for (size_t i = 0; i < d->n_chunks; i++)
		chunk[i] = (struct nw_chunk){ d->n_rows * i / d->n_chunks,
			d->n_rows * (i + 1) / d->n_chunks,
			i < n_train ? NW_CHUNK_TRAIN : NW_CHUNK_VERIFY };
}

static struct nw_table
table_of(const struct trial_data *d)
{
	return (struct nw_table){ d->x, d->n_columns, data_column(d, d->n_columns), d->n_rows };
}

static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "experiment-reduction: %s: error %d\n", what, rc);
	exit(1);
}

/* --- Figures 2 and 4: R2 and reduction degree by threshold --- */
static const struct nw_scan_point *
point_at(const struct nw_reduction *r, double threshold)
{
	for (size_t i = 0; i < r->n_scan; i++)
		if (fabs(r->scan[i].threshold - threshold) < 1e-9)
			return &r->scan[i];
	return NULL;
}

static void
report_point(struct run *run, const struct nw_reduction *r, double threshold, const char *paper)
{
	const struct nw_scan_point *p = point_at(r, threshold);

	if (p != NULL)
		fprintf(run->report,
		    "  threshold %.2f: %zu of %zu metrics, RD %.3f, R2 %.3f, adjusted %.3f, out of "
		    "sample %.3f%s%s\n",
		    threshold, p->n_selected, r->n_metrics, p->reduction_degree, p->r2, p->adj_r2,
		    p->out_of_sample_r2, *paper != '\0' ? "; the paper: " : "", paper);
}

static void
thresholds_draw(struct run *run, const struct trial_data *d, size_t n_train, const char *file,
    const char *title, const char *const paper[3])
{
	static const double shown[3] = { 0.7, 0.75, 0.95 };
	struct nw_reduce_options o = options_of(d, false);
	struct nw_chunk chunk[CHUNKS_MAX];
	struct nw_table t = table_of(d);
	struct figure f = { .file = file, .title = title, .across = "threshold", .n_lines = 4 };
	double threshold[THRESHOLDS];
	struct nw_reduction r;

	for (size_t i = 0; i < THRESHOLDS; i++)
		threshold[i] = 0.05 * (double)i;
	chunks_fill(d, n_train, chunk);
	for (size_t i = n_train; i < d->n_chunks; i++)
		chunk[i].role = NW_CHUNK_IGNORE;
	o.threshold = threshold;
	o.n_thresholds = THRESHOLDS;
	o.folds = 5;
	o.n_random = 0;
	must(nw_reduce(&t, chunk, d->n_chunks, &o, &r), title);
	f.n_points = r.n_scan;
	f.line[0].name = "R2";
	f.line[1].name = "reduction degree";
	f.line[2].name = "R2 adjusted";
	f.line[3].name = "R2 out of sample";
	for (size_t i = 0; i < r.n_scan; i++) {
		f.x[i] = r.scan[i].threshold;
		f.line[0].y[i] = r.scan[i].r2;
		f.line[1].y[i] = r.scan[i].reduction_degree;
		f.line[2].y[i] = r.scan[i].adj_r2;
		f.line[3].y[i] = r.scan[i].out_of_sample_r2;
	}
	run->good &= figure_write(run->dir, &f);
	fprintf(run->report, "\n%s (%s)\n", title, file);
	for (size_t i = 0; i < 3; i++)
		report_point(run, &r, shown[i], paper[i]);
	if (r.n_scan == THRESHOLDS && r.scan[THRESHOLDS - 1].status != NW_STATUS_OK)
		fprintf(run->report, "  threshold 1: the regression fails, as in the paper\n");
	nw_reduction_clear(&r);
}

/* --- Figures 3, 5 and 6: selections on other chunks --- */
static void
drivers_count(const struct trial_data *d, const struct nw_reduction *r, struct outcome *out)
{
	const struct nw_elimination *e = &r->elimination;

	for (size_t j = 0; d->is_driver != NULL && j < d->n_columns; j++)
		out->n_drivers += d->is_driver[j];
	for (size_t k = 0; e->status == NW_STATUS_OK && k < e->n_metrics; k++)
		out->n_drivers_kept +=
		    d->is_driver != NULL && e->metric_kept[k] && d->is_driver[r->candidate[k]];
}

static void
verify_draw(struct run *run, const struct nw_reduction *r, const char *file, const char *title)
{
	struct figure f = { .file = file,
		.title = title,
		.across = "chunk",
		.n_lines = 4,
		.n_points = r->n_checks };

	f.line[0].name = "SDR";
	f.line[1].name = "RAND";
	f.line[2].name = "MAIN";
	f.line[3].name = "SDR, no new fit";
	for (size_t i = 0; i < r->n_checks && i < POINTS_MAX; i++) {
		f.x[i] = (double)(r->check[i].chunk + 1);
		f.line[0].y[i] = r->check[i].selected.r2;
		f.line[1].y[i] = r->check[i].random_mean_r2;
		f.line[2].y[i] = r->check[i].main.r2;
		f.line[3].y[i] = r->check[i].out_of_sample_r2;
	}
	run->good &= figure_write(run->dir, &f);
}

/* A selection of the training chunks, tried on all others; ours also has its gates. */
static struct outcome
verify(struct run *run, const struct trial_data *d, size_t n_train, bool ours, const char *file,
    const char *title)
{
	struct nw_reduce_options o = options_of(d, ours);
	size_t *main_set = calloc(d->n_columns + 1, sizeof(*main_set)), n_main = 0;
	struct nw_chunk chunk[CHUNKS_MAX];
	struct nw_table t = table_of(d), train = t;
	struct outcome out = { .worth_r2 = NAN };
	struct nw_reduction r;
	struct nw_worth w;

	if (main_set == NULL)
		abort();
	for (size_t j = 0; j < d->n_columns; j++)
		if (d->is_main[j])
			main_set[n_main++] = j;
	o.main = (struct nw_metric_set){ n_main, main_set };
	chunks_fill(d, n_train, chunk);
	must(nw_reduce(&t, chunk, d->n_chunks, &o, &r), title);
	verify_draw(run, &r, file, title);
	out.n_kept = r.elimination.n_metrics_kept;
	drivers_count(d, &r, &out);
	out.noise =
	    fmin(1, (double)r.elimination.n_kept / ((double)d->n_rows / (double)d->n_chunks - 1));
	out.sdr = r.mean.r2;
	out.adjusted = r.mean.adj_r2;
	out.random = r.mean.random_r2;
	out.main = r.mean.main_r2;
	out.out_of_sample = r.mean.out_of_sample_r2;
	nw_reduction_clear(&r);
	train.n_rows = chunk[n_train - 1].end_row;
	if (ours) {
		must(nw_reduce_worth(&train, &o, 60, &w), title);
		out.holds = w.holds;
		out.worth_r2 = w.r2;
	}
	free(main_set);
	return out;
}

static void
report_outcome(FILE *f, const char *method, const struct outcome *o)
{
	fprintf(f, "  %-14s %8zu %8.3f %9.3f %8.3f %8.3f %11.3f", method, o->n_kept, o->sdr,
	    o->adjusted, o->random, o->main, o->out_of_sample);
	if (o->n_drivers > 0)
		fprintf(f, "   %zu of %zu", o->n_drivers_kept, o->n_drivers);
	fprintf(f, "\n");
}

/* Where the two methods agree with the paper, and with each other, in sentences. */
static void
report_agreement(
    FILE *f, const struct told *paper, const struct outcome *its, const struct outcome *ours)
{
	if (isfinite(paper->sdr))
		fprintf(f, "  The paper's method %s the paper's order SDR above RAND%s.\n",
		    its->sdr > its->random ? "repeats" : "does not repeat",
		    its->sdr > its->main ? " and above MAIN" : ", but is below MAIN");
	fprintf(f,
	    "  Refitted, the paper's method explains %.2f and RAND %.2f; %zu terms of noise would "
	    "explain %.2f. Without a new fit it explains %.2f.\n",
	    its->sdr, its->random, its->n_kept, its->noise, its->out_of_sample);
	fprintf(f, "  Ours keeps %zu metrics instead of %zu, and explains %.2f without a new fit. ",
	    ours->n_kept, its->n_kept, ours->out_of_sample);
	if (ours->holds)
		fprintf(f, "It tells a headline: %.2f in stretches left out of the training.\n",
		    ours->worth_r2);
	else
		fprintf(f, "It tells no headline (%.2f in stretches left out of the training).\n",
		    ours->worth_r2);
	if (ours->holds == (ours->out_of_sample > 0))
		fprintf(f, "  The headline is right about the other chunks.\n");
	else
		fprintf(f, "  The headline is wrong about the other chunks.\n");
}

static void
compare(struct run *run, const struct trial_data *d, size_t n_train, int number, const char *file,
    const struct told *paper)
{
	char name[2][48], title[128];
	struct outcome its, ours;

	snprintf(name[0], sizeof(name[0]), "%s-paper", file);
	snprintf(name[1], sizeof(name[1]), "%s-ours", file);
	snprintf(title, sizeof(title), "Figure %d, the paper's method on %s", number, d->name);
	its = verify(run, d, n_train, false, name[0], title);
	snprintf(title, sizeof(title), "Figure %d, our method on %s", number, d->name);
	ours = verify(run, d, n_train, true, name[1], title);
	fprintf(run->report, "\nFigure %d on %s\n", number, d->name);
	fprintf(run->report, "  %-14s %8s %8s %9s %8s %8s %11s   %s\n", "", "metrics", "SDR",
	    "adjusted", "RAND", "MAIN", "no new fit", d->is_driver != NULL ? "drivers" : "");
	if (isfinite(paper->sdr))
		fprintf(run->report, "  %-14s %8s %8.3f %9s %8.3f %8.3f\n", "paper, printed", "",
		    paper->sdr, "", paper->random, paper->main);
	report_outcome(run->report, "paper's method", &its);
	report_outcome(run->report, "ours", &ours);
	report_agreement(run->report, paper, &its, &ours);
}

/* --- all --- */
static void
simulations(struct run *run)
{
	static const char *const cactus[3] = { "44 metrics, R2 0.90", "",
		"141 metrics, RD 0.78, R2 0.98" };
	static const char *const gridftp[3] = { "", "26 metrics, RD 0.88, R2 0.898",
		"47 metrics, RD 0.783, R2 0.920" };
	static const struct told figure_3 = { 0.907, 0.585, 0.457 },
				 figure_5 = { 0.947, 0.492, 0.739 },
				 figure_6 = { 0.935, 0.484, 0.692 };
	struct trial_data d = data_machines();

	thresholds_draw(
	    run, &d, 1, "fig2", "Figure 2, R2 and reduction degree by threshold", cactus);
	compare(run, &d, 1, 3, "fig3", &figure_3);
	data_clear(&d);
	d = data_transfers("a simulated server and client, 217 metrics", 12);
	thresholds_draw(run, &d, 2, "fig4", "Figure 4, the same with squares", gridftp);
	compare(run, &d, 2, 5, "fig5", &figure_5);
	data_clear(&d);
	d = data_transfers("24 simulated clients of one configuration", 26);
	compare(run, &d, 2, 6, "fig6", &figure_6);
	data_clear(&d);
}

static void
recording(struct run *run, const char *dir)
{
	static const char *const nothing[3] = { "", "", "" };
	static const struct told figure_3 = { 0.907, 0.585, 0.457 };
	struct trial_data d;

	if (!data_recording(dir, &d)) {
		run->good = false;
		return;
	}
	thresholds_draw(
	    run, &d, 1, "fig2-recording", "Figure 2 on the recording of a busy machine", nothing);
	compare(run, &d, 1, 3, "fig3-recording", &figure_3);
	data_clear(&d);
}

static FILE *
report_open(const char *dir)
{
	char path[512];
	FILE *f;

	(void)mkdir(dir, 0777);
	snprintf(path, sizeof(path), "%s/report.txt", dir);
	if ((f = fopen(path, "w")) == NULL)
		perror(path);
	else
		fprintf(f,
		    "Statistical data reduction: the paper's Figures 2 to 6, its method and "
		    "ours\n\nSDR, RAND, MAIN: R2 of the selection, of as many random metrics and "
		    "of "
		    "an expert's, fitted anew to\neach chunk (the paper's way). No new fit: R2 of "
		    "the training coefficients as they are. seed %llu\n",
		    (unsigned long long)noise_state);
	return f;
}

int
main(int argc, char **argv)
{
	struct run run = { .good = true };
	int opt;

	noise_state = 1;
	while ((opt = getopt(argc, argv, "s:")) != -1)
		if (opt == 's')
			noise_state = strtoull(optarg, NULL, 0);
		else
			return 2;
	if (optind >= argc || argc - optind > 2)
		return 2;
	run.dir = argv[optind];
	if ((run.report = report_open(run.dir)) == NULL)
		return 1;
	simulations(&run);
	if (argc - optind == 2 && *argv[optind + 1] != '\0')
		recording(&run, argv[optind + 1]);
	else
		fprintf(run.report,
		    "\nNo recording was given (RECORDING=DIR): its figures are left "
		    "out.\n");
	if (fclose(run.report) != 0)
		run.good = false;
	return !run.good;
}
