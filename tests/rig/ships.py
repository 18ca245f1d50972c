# SPDX-License-Identifier: BSD-3-Clause
"""make truth SHIPS: rows of programs that leave the host by ssh, and a map of a file over sshfs; the slow link is moved.

    ships.py [--only REGEX] [--no-lift]

Rows are tar | ssh, ssh | tar, and pg_dump | zstd | ssh; the ssh server stands in a network namespace behind a link. Slow is the link
(tc, 40 or 10 Mbit/s), a compressor, the far reader or the near writer. A mapped file is read over sshfs through the link. The truth is
the construction, on a machine at rest: a busy processor is a limit of its own. Each case is lifted, too: the time without the slow link
tells the gain. Prints a line per case and the sums: right, silent, wrong, wrong and sure. Needs root, sshd, sshfs, zstd and PostgreSQL;
what is missing is left out.
"""
import argparse, glob, os, re, shutil, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loops import Box

NAMESPACE, DEVICE, NEAR, FAR, MBIT = "nw-ships", "nwships0", "10.231.7.1", "10.231.7.2", 40


def call(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)


class Far:
    """An ssh server in a network namespace, behind a link."""

    def __init__(self, tmp):
        self.tmp, self.port = tmp, 2231
        subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True)
        call("ip", "netns", "add", NAMESPACE)
        call("ip", "link", "add", DEVICE, "type", "veth", "peer", "name", "far0", "netns", NAMESPACE)
        call("ip", "addr", "add", NEAR + "/30", "dev", DEVICE)
        call("ip", "link", "set", DEVICE, "up")
        for words in (["addr", "add", FAR + "/30", "dev", "far0"], ["link", "set", "far0", "up"], ["link", "set", "lo", "up"]):
            call("ip", "-n", NAMESPACE, *words)
        for key in ("host", "user"):
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{tmp}/{key}")
        shutil.copy(tmp + "/user.pub", tmp + "/keys")
        os.makedirs("/run/sshd", exist_ok=True)
        open(tmp + "/sshd.conf", "w").write(f"Port {self.port}\nListenAddress {FAR}\nHostKey {tmp}/host\nAuthorizedKeysFile {tmp}/keys\n"
                                            "StrictModes no\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\nPidFile none\n")
        self.run = subprocess.Popen(["ip", "netns", "exec", NAMESPACE, "/usr/sbin/sshd", "-D", "-f", tmp + "/sshd.conf"])
        self.options = ["-p", str(self.port), "-i", tmp + "/user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                        "-o", "LogLevel=ERROR", "-o", "Compression=no"]
        for _ in range(50):
            if subprocess.run(["ssh", *self.options, FAR, "true"], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)

    def ssh(self):
        return " ".join(["ssh", *self.options, FAR])

    def limit(self, mbit):
        for words in (["dev", DEVICE], ["-n", NAMESPACE, "dev", "far0"]):
            at, dev = ([words[0], words[1]], words[3]) if words[0] == "-n" else ([], words[1])
            subprocess.run(["tc", *at, "qdisc", "del", "dev", dev, "root"], capture_output=True)
            if mbit:
                call("tc", *at, "qdisc", "add", "dev", dev, "root", "tbf", "rate", f"{mbit}mbit", "burst", "32k", "latency", "40ms")

    def end(self):
        self.run.terminate()
        self.run.wait()
        subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True)
        subprocess.run(["ip", "link", "del", DEVICE], capture_output=True)


class Postgres:
    """A cluster of the system's PostgreSQL with one table of random bytes."""

    def __init__(self, tmp):
        self.bin = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [None])[-1]
        if self.bin is None or not shutil.which("pg_dump"):
            self.bin = None
            return
        self.data, self.there = tmp + "/pg", tmp + "/pgsock"
        os.makedirs(self.there)
        os.chmod(tmp, 0o755)
        shutil.chown(self.there, "postgres")
        self.as_user(f"{self.bin}/initdb -D {self.there}/data -A trust >/dev/null")
        self.as_user(f"{self.bin}/pg_ctl -D {self.there}/data -w -o '-k {self.there} -c listen_addresses= -c fsync=off' start >/dev/null")
        self.as_user(f"""psql -q -h {self.there} postgres -c "create table t as select i, md5(i::text) || md5((i * 7)::text) || """
                     f"""md5((i * 13)::text) as x from generate_series(1, 120000) i" """)

    def as_user(self, line):
        return subprocess.run(["su", "postgres", "-s", "/bin/sh", "-c", line], check=True, cwd="/")

    def end(self):
        if self.bin:
            self.as_user(f"{self.bin}/pg_ctl -D {self.there}/data -m fast stop >/dev/null")


SLOW_READER = "python3 -c 'import os, time\nwhile d := os.read(0, 65536): time.sleep(len(d) / 4e6)'"
SLOW_WRITER = "python3 -c 'import os, time\nfor i in range(250): time.sleep(65536 / 4e6); os.write(1, os.urandom(65536))'"


MAPS = "python3 -c 'import mmap, sys\nwith open(sys.argv[1], \"rb\") as f:\n m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n print(sum(m[::4096]))'"


def cases(far, pg, tmp):
    """name, shell line, the same without the slow link, Mbit/s of the link, stage or program that is slow."""
    ssh, tree, tar = far.ssh(), tmp + "/tree", f"tar cf - -C {tmp} tree"
    net, sink = "network", "cat >/dev/null"
    yield "tar-ssh-link", f"{tar} | {ssh} '{sink}'", None, MBIT, net
    yield "tar-xz-ssh-computes", f"{tar} | xz -T1 -2 | {ssh} '{sink}'", f"{tar} | {ssh} '{sink}'", None, "xz"
    yield "tar-ssh-far", f"{tar} | {ssh} \"{SLOW_READER}\"", f"{tar} | {ssh} '{sink}'", None, net
    yield "writer-ssh", f"{SLOW_WRITER} | {ssh} '{sink}'", None, None, "python3"
    yield "ssh-tar-link", f"{ssh} '{tar}' | tar xf - -C {tmp}/out", None, MBIT, net
    yield "ssh-tar-reader", f"{ssh} '{tar}' | {SLOW_READER}", f"{ssh} '{tar}' | {sink}", None, "python3"
    if os.path.exists(tmp + "/far/big"):
        yield "map-sshfs-link", f"{MAPS} {tmp}/far/big", None, MBIT / 4, net
    if pg.bin:
        dump = f"pg_dump -h {pg.there} -U postgres postgres"
        yield "pg-zstd-ssh-link", f"{dump} | zstd -q -1 | {ssh} '{sink}'", None, MBIT / 4, net
        yield "pg-zstd-ssh-computes", f"{dump} | zstd -q -15 --single-thread | {ssh} '{sink}'", f"{dump} | zstd -q -1 | {ssh} '{sink}'", None, "zstd"


def judge(doc, slow):
    v = doc["verdict"]
    if v["stage"] is None:
        return "silent"
    stage, words = v["stage"], v["sentence"].split(":")[0]
    far = stage in ("network", "net.read", "net.write") or (stage == "storage.read" and "a file system over the network" in v["sentence"])
    right = far if slow == "network" else stage.endswith("host") and slow in words
    return "right" if right else "wrong" if v["confidence"] == "low" else "sure"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--only", default="")
    a.add_argument("--no-lift", action="store_true")
    a = a.parse_args()
    if os.geteuid() != 0 or not os.path.exists("/usr/sbin/sshd"):
        print("SHIPS: needs root and an ssh server")
        return 0
    bins = os.path.abspath(os.environ.get("B", "build/release")) + "/bin"
    box, sums = Box(bins), {}
    os.makedirs(box.tmp + "/tree")
    os.makedirs(box.tmp + "/out")
    os.chmod(box.tmp, 0o755)
    for i in range(6):
        open(f"{box.tmp}/tree/{i}", "wb").write(os.urandom(2 << 20))
    open(box.tmp + "/big", "wb").write(os.urandom(10 << 20))
    far, pg = Far(box.tmp), Postgres(box.tmp)
    if shutil.which("sshfs"):
        os.makedirs(box.tmp + "/far")
        subprocess.run(["sshfs", "-p", str(far.port), "-o", f"IdentityFile={box.tmp}/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null",
                        f"{FAR}:{box.tmp}", box.tmp + "/far"], stderr=subprocess.DEVNULL)
    try:
        for name, line, lifted, mbit, slow in cases(far, pg, box.tmp):
            if not re.search(a.only, name):
                continue
            far.limit(mbit)
            begin = time.monotonic()
            subprocess.run([bins + "/nwrun", "-q", "-i", "0.1", "-t", name, "sh", "-c", line], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "NARROWS_BOX": box.address, "XDG_RUNTIME_DIR": box.tmp, "PATH": "/usr/bin:" + os.environ["PATH"]})
            took, gain = time.monotonic() - begin, None
            if not a.no_lift and (lifted or mbit):
                far.limit(None)
                begin = time.monotonic()
                subprocess.run(["sh", "-c", lifted or line], check=True, stdout=subprocess.DEVNULL)
                gain = took / (time.monotonic() - begin)
            doc = box.document(name)
            said = judge(doc, slow) if doc else "silent"
            sums[said] = sums.get(said, 0) + 1
            print(f"{said:7} {name:22} slow {slow:8} {took:5.1f} s, lifted {'-' if gain is None else f'{gain:.1f}'}: "
                  f"{doc and doc['verdict']['sentence']}", flush=True)
    finally:
        subprocess.run(["fusermount", "-uz", box.tmp + "/far"], capture_output=True)
        pg.end()
        far.end()
        box.end()
    print("SHIPS:", *(f"{k} {v}" for k, v in sorted(sums.items())), "of", sum(sums.values()))
    return sums.get("sure", 0) > 0


if __name__ == "__main__":
    sys.exit(main())
