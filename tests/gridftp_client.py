# SPDX-License-Identifier: BSD-3-Clause
# A third-party transfer in mode E by its control connections alone, with a task, which globus-url-copy cannot name.
# usage: gridftp_client.py SOURCE_HOST:PORT PATH DESTINATION_HOST:PORT PATH STREAMS TASK [BYTES [DISK_STACK]]
# BYTES: so many from the begin of the source, for one that has no end; 0: all.
import re, socket, sys


class Control:
    def __init__(self, place):
        host, port = place.rsplit(":", 1)
        self.file = socket.create_connection((host, int(port)), timeout=280).makefile("rw", newline="")
        self.reply()
        for line in "USER anonymous", "PASS a@b", "TYPE I", "MODE E":
            self.ask(line)

    def say(self, line):
        self.file.write(line + "\r\n")
        self.file.flush()

    def reply(self):
        """All lines of a reply; marks of progress (1xx) are passed over."""
        text = ""
        while True:
            line = self.file.readline()
            if not line:
                sys.exit("a server closed its control connection")
            text = text + line if line[0] != "1" else ""
            if re.match(r"[2-5]\d\d ", line):
                return text

    def ask(self, line):
        self.say(line)
        reply = self.reply()
        if reply[0] in "45":
            sys.exit(f"{line}: {reply.strip()}")
        return reply


source, path, destination, copy, streams, task = sys.argv[1:7]
bytes_, stack = (sys.argv[7:] + ["0", ""][len(sys.argv[7:]):])
source, destination = Control(source), Control(destination)
for c in source, destination:
    if task != "none":
        c.ask(f"SITE TASKID {task}")
    if stack:
        c.ask(f"SITE SETDISKSTACK {stack}")
source.ask(f"OPTS RETR Parallelism={streams},{streams},{streams};")
port = re.search(r"\((.*)\)", destination.ask("PASV")).group(1)
source.ask(f"PORT {port}")
destination.say(f"STOR {copy}")
source.say(f"RETR {path}" if bytes_ == "0" else f"ERET P 0 {bytes_} {path}")
for c in source, destination:
    last = c.reply()
    if last[0] != "2":
        sys.exit(last.strip())
for c in source, destination:
    c.ask("QUIT")
