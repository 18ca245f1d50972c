/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plug-in for Slurm (spank(7)): "srun --narrows[=LABEL] ..." gives each task of a step the
 * variables by which nwrun names a session, so that all nodes of the step are one session with the
 * job's number. Slurm loads one plug-in for each of its releases, and the plug-in links no library
 * of Slurm. Nothing here fails a task: plugstack.conf calls the plug-in optional, and all calls
 * return success.
 */
#include <pwd.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "narrows/public.h"

enum { TEXT_BYTES = 256, STEP_WORDS = 16 };

/* The names by which Slurm finds a plug-in. */
#pragma GCC visibility push(default)
SPANK_PLUGIN(narrows, 1)
#pragma GCC visibility pop

static bool is_wanted;
static char label[TEXT_BYTES]; /* empty: the job's number and user */

static int
on_option(int value, const char *text, int is_remote)
{
	(void)value, (void)is_remote;
	is_wanted = true;
	snprintf(label, sizeof(label), "%s", text != NULL ? text : "");
	return ESPANK_SUCCESS;
}

NW_PUBLIC int
slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	static struct spank_option option = { .name = (char *)"narrows",
		.arginfo = (char *)"LABEL",
		.usage = (char *)"Name sessions of nwrun by the job, or by LABEL.",
		.has_arg = 2, /* may have one */
		.cb = on_option };

	(void)argc, (void)argv;
	(void)spank_option_register(spank, &option);
	return ESPANK_SUCCESS;
}

/* The steps that are no number of srun's (a batch script, an allocation's shell) are the last
 * numbers of 32 bits. */
static void
step_text(uint32_t step, char out[STEP_WORDS])
{
	if (step >= UINT32_MAX - 15)
		snprintf(out, STEP_WORDS, "batch");
	else
		snprintf(out, STEP_WORDS, "%u", step);
}

/* In the task, as its user, before the program. The user's own values stay, but not those of the
 * script or step of the same job in which the step was started. */
NW_PUBLIC int
slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	char before[TEXT_BYTES], task[TEXT_BYTES], cluster[TEXT_BYTES / 2] = "cluster",
									step_word[STEP_WORDS];
	const struct passwd *user;
	uint32_t job, step;
	uid_t uid;
	bool has, ours, given = label[0] != '\0';

	(void)argc, (void)argv;
	if (!is_wanted || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	if (spank_getenv(spank, "SLURM_CLUSTER_NAME", cluster, sizeof(cluster)) != ESPANK_SUCCESS)
		strcpy(cluster, "cluster");
	step_text(step, step_word);
	snprintf(task, sizeof(task), "slurm-%s-%u.%s", cluster, job, step_word);
	has = spank_getenv(spank, "NARROWS_TASK", before, sizeof(before)) == ESPANK_SUCCESS;
	ours = has && strncmp(before, task, strlen(task) - strlen(step_word)) == 0;
	user = getpwuid(uid);
	if (!given && user != NULL)
		snprintf(label, sizeof(label), "job %u of %.64s", job, user->pw_name);
	else if (!given)
		snprintf(label, sizeof(label), "job %u of %u", job, (unsigned)uid);
	(void)spank_setenv(spank, "NARROWS_TASK", task, !has || ours);
	(void)spank_setenv(spank, "NARROWS_LABEL", label, given || ours);
	return ESPANK_SUCCESS;
}
