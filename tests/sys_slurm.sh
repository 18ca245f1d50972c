#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of a real Slurm on loopback: by the script of narrows attach, and by the plug-in where a job asks for it, what nwrun measures in a
# step is a session with the job's number. Without either nothing is named, and no job fails.
[ -n "${SLURM_TEST_NETWORK:-}" ] || SLURM_TEST_NETWORK=own exec unshare --net sh "$0"
. tests/lib.sh

for p in munged slurmctld slurmd srun; do
	command -v $p >/dev/null || skip "no Slurm is installed: $p"
done
[ "$(id -u)" = 0 ] || skip "Slurm's daemons are started by root"

# Slurm asks for addresses of every interface but loopback, and the network is this script's own
ip link set lo up && ip link add slurm0 type veth peer name slurm1 && ip addr add 10.96.5.1/24 dev slurm0 && ip link set slurm0 up && ip link set slurm1 up ||
    skip "no network name space with an interface"
start_box -o session-linger=1s
s=$tmp/slurm
mkdir -p "$s/state" "$s/spool"
chmod 755 "$tmp" "$s" # jobs look for the script below
head -c 1024 /dev/urandom >"$s/key" && chmod 400 "$s/key"
munged --force --key-file="$s/key" --socket="$s/munge" --pid-file="$s/munge.pid" --log-file="$s/munge.log" --seed-file="$s/seed" 2>/dev/null || fail "munged"
pids="$pids $(cat "$s/munge.pid")"
export SLURM_CONF="$s/slurm.conf"
: >"$s/plugstack.conf"
configure() {
	cat >"$SLURM_CONF" <<CONF
ClusterName=narrows
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$s/munge
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
SlurmctldPidFile=$s/controller.pid
SlurmdPidFile=$s/slurmd.pid
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool
SlurmctldLogFile=$s/controller.log
SlurmdLogFile=$s/slurmd.log
PlugStackConfig=$s/plugstack.conf
NodeName=node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=p Nodes=node Default=YES State=UP
$*
CONF
}
start_slurm() {
	configure "$@"
	slurmctld -D -f "$SLURM_CONF" >"$s/out" 2>&1 &
	controller=$!
	slurmd -D -N node -f "$SLURM_CONF" >>"$s/out" 2>&1 &
	node=$!
	pids="$pids $controller $node"
	idle() { [ "$(timeout 5 sinfo -h -o %T)" = idle ]; }
	until_true 20 idle || fail "Slurm does not start: $(tail -n 5 "$s/out" "$s/controller.log" "$s/slurmd.log")"
}
end_slurm() {
	kill $node $controller
	wait $node $controller || :
}
# step [OPTION ...]: a measured copy by srun, the output of which is the task and label that the job has
cat >"$s/copy" <<COPY
#!/bin/sh
head -c 30000000 /dev/zero >"$s/copied" && echo "\${NARROWS_TASK:-none}, \${NARROWS_LABEL:-none}"
COPY
chmod 755 "$s/copy"
step() { timeout 60 srun "$@" "$bin/nwrun" -q "$s/copy" 2>"$s/err" || fail "srun $*: $(cat "$s/err")"; }

# --- the script of narrows attach ---
nw attach slurm --box 127.0.0.1 >"$s/prolog"
chmod 755 "$s/prolog"
start_slurm "TaskProlog=$s/prolog"
[ "$(step)" = "slurm-narrows-1.0, job 1 of root" ] || fail "a step by the script: $(step)"
printf '#!/bin/sh\n"%s/nwrun" -q "%s/copy" >"%s/batch"\nsrun "%s/copy" >>"%s/batch"\necho end >>"%s/batch"\n' "$bin" "$s" "$s" "$s" "$s" "$s" >"$s/job"
sbatch -o /dev/null "$s/job" >"$s/said" 2>&1 || fail "sbatch: $(cat "$s/said")"
ended() { grep -q end "$s/batch"; }
until_true 20 ended || fail "the batch job does not end: $(cat "$s/batch" "$s/slurmd.log")"
job=$(sed -n 's/.* job //p' "$s/said")
printf '%s\n' "slurm-narrows-$job.batch, job $job of root" "slurm-narrows-$job.0, job $job of root" end | cmp -s - "$s/batch" || fail "a batch job: $(cat "$s/batch")"
[ "$(NARROWS_TASK=own step)" = "own, none" ] || fail "a user's own task: $(NARROWS_TASK=own step)"
session() { nw sessions --json | grep '"task_id":"slurm-narrows-1.0"' | grep -q '"label":"job 1 of root"'; }
until_true 20 session || fail "no session of the job: $(nw sessions --json)"
end_slurm

# --- the plug-in ---
[ -f "$B/lib/narrows_spank.so" ] || { echo "untested: Slurm's plug-in, which needs Slurm's headers"; exit 0; }
echo "optional $(cd "$B/lib" && pwd)/narrows_spank.so" >"$s/plugstack.conf"
start_slurm
step | grep -qx '[0-9a-f-]\{36\}, none' || fail "nobody asked, and the job has a name"
step --narrows >"$s/task"
grep -qx 'slurm-narrows-[0-9]*\.0, job [0-9]* of root' "$s/task" || fail "a step by the plug-in: $(cat "$s/task")"
step --narrows="my work" | grep -qx 'slurm-narrows-[0-9]*\.0, my work' || fail "a label"
NARROWS_TASK=own step --narrows | grep -qx 'own, job [0-9]* of root' || fail "a user's own task beside the plug-in"
task=$(sed 's/,.*//' "$s/task")
session() { nw sessions --json | grep -q "\"task_id\":\"$task\""; }
until_true 20 session || fail "no session of $task: $(nw sessions --json)"
end_slurm
