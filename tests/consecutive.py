# SPDX-License-Identifier: BSD-3-Clause
"""make consecutive: many sessions after another, and what the box says of each, while they run and afterwards.

    consecutive.py BIN [COUNT]

Programs of several kinds, inside and outside, with changes on the way, failures and signals. Asserted for each session: a text
of the part so far says so in its first words, and no final text does; no sentence names a place twice in a row, or a way from a
host to itself; label and exit status are those of the run; nwrun's line is the report's sentence. Prints each breach.
"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

PACED = "import sys, time\nfor i in range(int(sys.argv[1])):\n    sys.stdout.buffer.write(bytes(400000)); time.sleep(float(sys.argv[2]))\n"
OVER = """import socket, threading
s = socket.create_server(("127.0.0.1", 0))
def send():
    c = s.accept()[0]
    c.sendall(bytes(60000000))
    c.close()
threading.Thread(target=send).start()
c, n = socket.create_connection(s.getsockname()), 0
while data := c.recv(65536):
    n += len(data)
print(n)
"""
# name, options of nwrun, command, exit status
KINDS = [
    ("copy", [], "cp {in} {out}", 0),
    ("direct", [], "dd if={in} of={out} bs=64k oflag=dsync count=60 status=none", 0),
    ("packer", [], "gzip -5 -c {in} >{out}", 0),
    ("pipeline", [], "cat {in} | gzip -1 | cat >{out}", 0),
    ("paced", [], "python3 {paced} 30 0.1 >{out}", 0),
    ("changes", [], "dd if={in} of={out} bs=4k oflag=dsync count=150 status=none; python3 {paced} 20 0.1 >>{out}; gzip -6 -c {in} >{out}", 0),
    ("fails", [], "head -c 3000000 {in} >{out}; exit 7", 7),
    ("fails-late", [], "python3 {paced} 25 0.1 >{out}; exit 3", 3),
    ("outside", ["-o"], "cp {in} {out}; sleep 0.3", 0),
    ("outside-fails", ["-o"], "cp {in} {out}; python3 {paced} 15 0.1 >{out}; exit 9", 9),
    ("short", [], "head -c 100000 {in} >{out}", 0),
    ("network", [], "python3 {over} >{out}; python3 {paced} 15 0.1 >>{out}", 0),
]
SO_FAR = re.compile(r"^(So far|Interim)", re.I)


def places_twice(text):
    """A place that a list names twice in a row, or a way from a host to itself."""
    text = re.sub(r"\s+", " ", text)
    twice = re.search(r"(?:the |a )?([a-z][^.,:;]{5,80}), then (?:the |a )?\1(?=[.,:; ])", text)
    itself = re.search(r"\bfrom (\S+) to \1(?=[\s.,:;])", text)
    return (twice or itself) and (twice or itself).group(0)


class Box:
    def __init__(self, bin_):
        self.bin, self.tmp = bin_, tempfile.mkdtemp(prefix="consecutive.")
        self.state = f"{self.tmp}/state"
        self.log = open(f"{self.tmp}/box.log", "w")
        self.box = subprocess.Popen([f"{bin_}/narrowsd", "-f", "/dev/null", "-d", "-o", f"state-dir={self.state}", "-o", "listen-xsp=127.0.0.1/0",
                                     "-o", "listen-http=127.0.0.1/0", "-o", "analysis-interval=1 s", "-o", "session-linger=1 s"], stderr=self.log)
        while not os.path.exists(f"{self.state}/narrowsd.run"):
            time.sleep(0.1)
        with open(f"{self.state}/narrowsd.run") as f:
            self.xsp = re.search(r"^xsp (.*)$", f.read(), re.M).group(1)
        with open("/dev/urandom", "rb") as r, open(f"{self.tmp}/in", "wb") as f:
            for _ in range(24):
                f.write(r.read(1 << 20))
        for name, text in ("paced", PACED), ("over", OVER):
            with open(f"{self.tmp}/{name}", "w") as f:
                f.write(text)

    def close(self):
        self.box.send_signal(signal.SIGTERM)
        self.box.wait(30)
        shutil.rmtree(self.tmp)

    def narrows(self, *argv):
        return subprocess.run([f"{self.bin}/narrows", "-s", self.state, *argv], capture_output=True, text=True).stdout

    def listed(self, label):
        for line in self.narrows("sessions", "--json", "-n", "60").splitlines():
            row = json.loads(line)
            if row.get("label") == label:
                return row
        return None

    def session(self, n):
        """Runs a session of a kind; returns its breaches."""
        name, options, command, status = KINDS[n % len(KINDS)]
        label, bad, last = f"{name}-{n}", [], None
        paths = {k: f"{self.tmp}/{k}" for k in ("in", "paced", "over")}
        for k in paths:
            command = command.replace("{" + k + "}", paths[k])
        command = command.replace("{out}", f"{self.tmp}/out-{n}")
        env = {**os.environ, "XDG_RUNTIME_DIR": f"{self.tmp}/run-{n}", "NARROWS_BOX": self.xsp}
        os.mkdir(env["XDG_RUNTIME_DIR"])
        with open(f"{self.tmp}/err-{n}", "w+") as err:
            p = subprocess.Popen([f"{self.bin}/nwrun", "--wait", *options, "-l", label, "sh", "-c", command], stdin=subprocess.DEVNULL, stderr=err, env=env)
            while p.poll() is None:
                time.sleep(0.8)
                row = self.listed(label)
                if row is not None and p.poll() is None:
                    last = row["id"]
                    bad += self.looked_at(last)
            err.seek(0)
            said = err.read().strip()
        if p.returncode != status:
            bad.append(f"status {p.returncode}, not {status}")
        bad += self.final(label, status, said)
        os.remove(f"{self.tmp}/out-{n}")
        return label, bad

    def looked_at(self, id_):
        """A document and a report of a session that may still run."""
        doc = json.loads(self.narrows("report", str(id_), "--json") or "{}")
        sentence, state = (doc.get("verdict") or {}).get("sentence"), (doc.get("session") or {}).get("state")
        if not sentence:
            return []
        bad = [f"interim: {t}" for t in [places_twice(sentence)] if t]
        if (state != "closed") != bool(SO_FAR.match(sentence)):
            bad.append(f"state {state}, sentence: {sentence}")
        return bad

    def final(self, label, status, said):
        end, row, doc = time.time() + 120, None, {}
        while time.time() < end:
            row = self.listed(label)
            doc = json.loads(self.narrows("report", str(row["id"]), "--json") or "{}") if row else {}
            if row and row.get("state") == "closed" and row.get("analysed") and (doc.get("session") or {}).get("state") == "closed":
                break
            time.sleep(0.3)
        else:
            return [f"no final verdict: {row}"]
        row = self.listed(label)  # a list that came before the document may have had the result so far
        sentence, bad, text = doc["verdict"]["sentence"], [], self.narrows("report", str(row["id"]))
        if SO_FAR.match(sentence) or re.search(r"^(So far|Interim)", text, re.M):
            bad.append(f"interim words in the final text: {text.splitlines()[:3]}")
        for t in places_twice(sentence), places_twice(text):
            if t:
                bad.append(f"named twice: {t}")
        if row.get("exit_status") != status:
            bad.append(f"exit status {row.get('exit_status')}, not {status}")
        lines = [l for l in said.splitlines() if l.startswith("nwrun: ")]
        if len(lines) != 1 or len(said.splitlines()) != 1:
            bad.append(f"nwrun's lines: {said!r}")
        elif "not judged yet" not in said and sentence not in said:
            bad.append(f"nwrun says {said!r}, the report {sentence!r}")
        return bad


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    box, broken, waited = Box(sys.argv[1]), 0, time.time()
    try:
        with ThreadPoolExecutor(2) as pool:
            for label, bad in pool.map(box.session, range(count)):
                broken += bool(bad)
                for b in dict.fromkeys(bad):
                    print(f"{label}: {b}", flush=True)
    finally:
        box.close()
    print(f"{count} sessions in {time.time() - waited:.0f} s, {broken} with a breach")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
