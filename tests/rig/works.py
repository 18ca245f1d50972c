# SPDX-License-Identifier: BSD-3-Clause
"""make works: real work over a link of 40 Mbit/s, and what the box says of it.

    works.py [--only REGEX] [--again] [--table] [--out DIR]

The table tests/rig/works has the works. Each ends as "right", "wrong", "no verdict", "program changed" (its status or result are
others than without nwrun) or "failed" (the work does not run here). Results are kept in DIR/works.jsonl (build/works), so that a
stopped run goes on; root.
"""
import argparse, json, os, re, shlex, shutil, signal, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import ADDRESS, Failed, World, run, until, write

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ("name", "how", "needs", "truth", "server", "work", "check")
TRUTH = {"network": {"network", "net.read", "net.write"}, "program": {"sender.host", "receiver.host", "host"},
         "disk": {"disk.read", "disk.write"}}
BYTES, LINK_MBIT, WORK_SECONDS = 20 << 20, 40, 120
CONTAINER = ["unshare", "--pid", "--fork", "--mount", "--mount-proc"]

SOURCES = {
    "goget.go": """package main
import ("io"; "net/http"; "os")
func main() {
	r, err := http.Get(os.Args[1])
	if err != nil { os.Exit(4) }
	out, _ := os.Create(os.Args[2])
	if _, err = io.Copy(out, r.Body); err != nil { os.Exit(5) }
}
""",
    "rustget.rs": """use std::{env, fs::File, io::{self, prelude::*, BufReader}, net::TcpStream};
fn main() -> io::Result<()> {
	let a: Vec<String> = env::args().collect();
	let mut s = TcpStream::connect(&a[1])?;
	write!(s, "GET {} HTTP/1.0\\r\\n\\r\\n", a[2])?;
	let mut r = BufReader::new(s);
	let mut line = String::new();
	while r.read_line(&mut line)? > 2 { line.clear() }
	io::copy(&mut r, &mut File::create(&a[3])?)?;
	Ok(())
}
""",
    "Get.java": """import java.net.URI;
import java.net.http.*;
import java.nio.file.Path;
public class Get {
	public static void main(String[] a) throws Exception {
		HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(),
			HttpResponse.BodyHandlers.ofFile(Path.of(a[1])));
		System.exit(0);
	}
}
""",
    "aget.py": """import asyncio, sys
async def main(host, port, path, to):
    r, w = await asyncio.open_connection(host, int(port))
    w.write(f"GET {path} HTTP/1.0\\r\\n\\r\\n".encode())
    await r.readuntil(b"\\r\\n\\r\\n")
    with open(to, "wb") as f:
        while data := await r.read(1 << 16):
            f.write(data)
asyncio.run(main(*sys.argv[1:]))
""",
    "postgres.sh": """d=$(mktemp -d)
chown 65534 "$d"
cd "$d"
exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'initdb -D "$0/d" -A trust -N -U u >/dev/null || exit 1
echo "host all all all trust" >>"$0/d/pg_hba.conf"
echo "create table t as select lpad(md5(a::text), 900, md5((a * 7)::text)) from generate_series(1, 20000) a;" |
	postgres --single -D "$0/d" postgres >/dev/null
exec postgres -D "$0/d" -h "$1" -p 5433 -k "$0"' "$d" "$1"
""",
}
BUILDS = {"goget": ("go", ["go", "build", "-o", "goget", "goget.go"]), "rustget": ("rustc", ["rustc", "-O", "rustget.rs"]),
          "Get.class": ("javac", ["javac", "Get.java"])}


def works_read():
    with open(f"{HERE}/works") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return [dict(zip(COLUMNS, r, strict=True)) for r in rows]


def is_compound(line):
    """Returns true if the line is more than one command: nwrun then measures the shell and its children."""
    return any(re.fullmatch(r"[();<>|&]+", word) for word in shlex.shlex(line, posix=True, punctuation_chars=True))


class Site:
    """What the works share: files, keys, servers on b, the variables of their commands."""

    def __init__(self, world):
        self.w = w = world
        w.link_write(*[dict(rate=LINK_MBIT, delay=2, loss=0, queue=256 << 10)] * 2)
        w.link.send_signal(signal.SIGHUP)
        self.t, self.fb, self.d = (f"{w.tmp}/{n}" for n in ("t", "fb", "d"))
        for d in self.t, self.fb, self.d:
            os.makedirs(d)
        self.files_make()
        self.programs_make()
        b = ADDRESS["b"]
        self.env = dict(S=f"{self.fb}/in", D=self.d, T=self.t, B=b, FB=self.fb, SSH=f"ssh -q -F {self.t}/ssh_config",
                        WEB=f"http://{b}:8080", TLS=f"https://{b}:8443", HOME=self.t, RCLONE_CONFIG=f"{self.t}/rclone.conf")
        self.servers_start(b)

    def files_make(self):
        with open("/dev/urandom", "rb") as r:
            for path, size in [(f"{self.fb}/in", BYTES)]:
                with open(path, "wb") as f:
                    f.write(r.read(size))
            os.makedirs(f"{self.fb}/many")
            for i in range(600):
                with open(f"{self.fb}/many/{i}", "wb") as f:
                    f.write(r.read(30000))
        with open(f"{self.t}/text", "w") as f:
            for i in range(500000):
                f.write(f"{i * 7919 % 1000003} line {i} of a text\n")
        run("sh", "-ec", f"cd {self.fb}; git init -q repo; cd repo; cp ../in .; git add in; "
            "git -c user.name=a -c user.email=a@b commit -qm a; git update-server-info", check=False)

    def programs_make(self):
        for name, text in SOURCES.items():
            write(f"{self.t}/{name}", text)
        env = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOCACHE": "/tmp/nwrig-go"}
        for name, (needs, argv) in BUILDS.items():
            if shutil.which(needs):
                run(*argv, cwd=self.t, env=env)

    def servers_start(self, b):
        t, w = self.t, self.w
        for key in "host", "user":
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{t}/{key}")
        write(f"{t}/sshd", f"ListenAddress {b}\nPort 2222\nHostKey {t}/host\nPidFile none\nAuthorizedKeysFile {t}/user.pub\n"
              "StrictModes no\nPermitRootLogin yes\nUsePAM no\nSubsystem sftp internal-sftp\n")
        write(f"{t}/ssh_config", f"Host *\nHostName {b}\nPort 2222\nUser root\nIdentityFile {t}/user\nIdentitiesOnly yes\n"
              f"StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        write(f"{t}/rclone.conf", "")
        os.makedirs("/run/sshd", exist_ok=True)
        w.start("b", ["/usr/sbin/sshd", "-D", "-e", "-f", f"{t}/sshd"], log="sshd.log")
        write(f"{t}/rsyncd.conf", f"use chroot = no\nuid = root\ngid = root\n[b]\npath = {self.fb}\n")
        w.start("b", ["rsync", "--daemon", "--no-detach", f"--address={b}", "--port=8730", f"--config={t}/rsyncd.conf"])
        if shutil.which("nginx") or os.path.exists("/usr/sbin/nginx"):
            run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=b", "-keyout", f"{t}/key",
                "-out", f"{t}/crt")
            temps = " ".join(f"{n}_temp_path {t}/{n};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            write(f"{t}/nginx", f"user root; daemon off; worker_processes 1; pid {t}/pid; error_log {t}/error; events {{}}\n"
                  f"http {{ access_log off; sendfile on; client_max_body_size 0; {temps} server {{ listen {b}:8080; listen {b}:8443 ssl; "
                  f"ssl_certificate {t}/crt; ssl_certificate_key {t}/key; root {self.fb}; dav_methods PUT DELETE MKCOL; }} }}\n")
            w.start("b", [shutil.which("nginx") or "/usr/sbin/nginx", "-p", t, "-c", f"{t}/nginx"], log="nginx.log")
            until(10, "nginx", lambda: w.listening("b", 8080))
        until(10, "sshd", lambda: w.listening("b", 2222))

    def clean(self):
        for top, keep in (self.fb, {"in", "many", "repo"}), (self.d, set()):
            for name in set(os.listdir(top)) - keep:
                path = f"{top}/{name}"
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)

    def command(self, work, task):
        """The work under nwrun, and by itself if there is no task."""
        nwrun = [] if task is None else [f"{self.w.bin}/nwrun", "-q", "-t", task, "-l", work["name"], "-H", "host-a", "-b", self.w.box_of("a")]
        if work["how"] == "outside" and nwrun:
            nwrun.append("-o")
        if work["how"] in ("around", "attach"):
            shell = ["sh", "-c", work["work"]]
            return [*nwrun, *CONTAINER, *shell] if work["how"] == "around" else shell
        container = {"pid": CONTAINER, "user": ["unshare", "-Ur", *CONTAINER[1:]],
                     "root": ["bwrap", "--ro-bind", "/", "/", "--bind", self.w.tmp, self.w.tmp, "--dev", "/dev", "--proc", "/proc",
                              "--unshare-pid", "--cap-add", "ALL"]}.get(work["how"], [])
        if is_compound(work["work"]):
            return [*container, *nwrun, "sh", "-c", work["work"]]
        return [*container, "sh", "-c", f'exec "$@" {work["work"]}', "sh", *(nwrun or ["env"])]

    def attach(self, work, task, pid):
        argv = [f"{self.w.bin}/nwrun", "-q", "-t", task, "-l", work["name"], "-H", "host-a", "-b", self.w.box_of("a"), "-p", pid]
        return self.w.start("a", argv, log="works.log", env=self.env)

    def do(self, work, task):
        """Seconds of the work; None if it fails."""
        self.clean()
        server = self.w.start("b", ["sh", "-c", f"exec {work['server']}"], log="works.log", env=self.env) if work["server"] != "-" else None
        watcher = None
        if server is not None:
            time.sleep(5)
        try:
            with open(f"{self.w.out}/works.log", "ab") as log:
                log.write(f"--- {work['name']} {task}\n".encode())
                log.flush()
                begin = time.monotonic()
                p = subprocess.Popen(self.w.inside("a", self.command(work, task)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env={**os.environ, **self.env})
                if work["how"] == "attach" and task is not None:
                    watcher = self.attach(work, task, p.pid)
                try:
                    status = p.wait(WORK_SECONDS)
                except subprocess.TimeoutExpired:
                    p.kill()
                    status = p.wait()
                seconds = time.monotonic() - begin
                good = subprocess.run(["sh", "-c", work["check"]], env={**os.environ, **self.env}, stdout=log, stderr=log).returncode == 0
            return seconds if status == 0 and good else None
        finally:
            for q in server, watcher:
                if q is not None:
                    self.w.end(q, 20, kindly=q is server)

    def judge(self, work):
        task = f"{work['name']}-{os.getpid()}-{int(time.time())}"
        row = dict(name=work["name"], how=work["how"], truth=work["truth"])
        if (seconds := self.do(work, task)) is None:
            row["outcome"] = "program changed" if self.do(work, None) is not None else "failed"
            return row
        row["seconds"] = round(seconds, 1)
        try:
            doc = self.w.result(task, 40)
        except Failed as e:
            return dict(row, outcome="no verdict", sentence=str(e))
        v, stage = doc["verdict"], doc["verdict"]["stage"]
        changed = [s["stage"] for s in (doc.get("changes") or {}).get("segments") or [] if s.get("stage")]
        candidates = set(v.get("candidates") or [])
        outcome = "no verdict" if stage is None else "right" if stage in TRUTH[work["truth"]] else "wrong"
        listed = doc["session"]
        row.update(outcome=outcome, stage=stage, confidence=v["confidence"], cause=v.get("cause"), sentence=v["sentence"],
                   candidates=sorted(candidates), changes=changed, label=listed.get("label"), exit_status=listed.get("exit_status"),
                   load=round(os.getloadavg()[0], 1))
        with open(f"{self.w.out}/documents.jsonl", "a") as f:
            f.write(json.dumps(dict(name=work["name"], document=doc)) + "\n")
        return row


def table(rows, absent):
    words = ("right", "wrong", "no verdict", "program changed", "failed")
    for r in rows:
        print(f"{r['outcome']:16s}{r['name']:22s}{r.get('stage') or '-':15s}{r.get('confidence') or '-':8s}{r.get('seconds', 0):6.1f} s  "
              f"{'' if r['outcome'] == 'right' else r.get('sentence', '')}")
    print(f"{len(rows)} works: " + ", ".join(f"{sum(r['outcome'] == w for r in rows)} {w}" for w in words))
    if absent:
        print("not here: " + ", ".join(f"{n} ({' '.join(m)})" for n, m in absent.items()))
    return all(r["outcome"] == "right" for r in rows)


def rows_read(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = [json.loads(line) for line in f if line.endswith("\n")]
    return {r["name"]: r for r in rows}


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    for flag in "again", "table":
        p.add_argument(f"--{flag}", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--out", default="build/works")
    p.add_argument("--build", default=os.environ.get("B", "build/release"))
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    path = f"{os.path.abspath(a.out)}/works.jsonl"
    rows = rows_read(path)
    todo = [w for w in works_read() if re.search(a.only, w["name"])]
    lacks = {w["name"]: [n for n in w["needs"].split(",") if not shutil.which(n) and not os.path.exists(f"/usr/sbin/{n}")] for w in todo}
    absent = {n: m for n, m in lacks.items() if m}
    todo = [w for w in todo if w["name"] not in absent]
    left = [w for w in todo if a.again or w["name"] not in rows]
    if left and not a.table:
        if os.getuid() != 0:
            print("the works need root, for name spaces")
            return 77
        for sig in signal.SIGTERM, signal.SIGHUP:
            signal.signal(sig, lambda *_: sys.exit(1))
        world = World(os.path.abspath(f"{a.build}/bin"), os.path.abspath(f"{a.build}/tests/rig"), os.path.abspath(a.out), 64 << 20)
        try:
            site = Site(world)
            for i, w in enumerate(left, 1):
                try:
                    row = site.judge(w)
                except (Failed, OSError, KeyError, ValueError) as e:
                    row = dict(name=w["name"], outcome="failed", sentence=f"{type(e).__name__}: {e}"[:300])
                rows[w["name"]] = row
                with open(path, "a") as f:
                    f.write(json.dumps(row) + "\n")
                print(f"{i}/{len(left)} {w['name']}: {row['outcome']} ({row.get('stage')}, {row.get('confidence')})", flush=True)
        finally:
            world.close()
    return 0 if table([rows[w["name"]] for w in todo if w["name"] in rows], absent) else 1


if __name__ == "__main__":
    sys.exit(main())
