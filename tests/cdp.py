# SPDX-License-Identifier: BSD-3-Clause
"""Drives a browser by its debugging pipe for tests/browser.sh: cdp.py ANSWER EVENTS SECONDS BROWSER [ARGUMENT ...]

Each line of standard input is a method, a blank, and the parameters as JSON. The browser's answer goes to the file ANSWER, then a
line to standard output: "ok", or what went wrong. Events of the browser are appended to EVENTS, a line each. One process that
stays costs a tenth of the shell's greps. The end of standard input ends the browser.
"""
import json, os, select, subprocess, sys, time

answer, events, seconds, *command = sys.argv[1:]
to_read, to_write = os.pipe()
from_read, from_write = os.pipe()


def descriptors():
    """The browser's numbers for the pipe are 3 and 4."""
    ask, tell = os.dup2(to_read, 30), os.dup2(from_write, 31)
    os.dup2(ask, 3)
    os.dup2(tell, 4)


browser = subprocess.Popen(command + ["--remote-debugging-pipe"], preexec_fn=descriptors, close_fds=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(to_read)
os.close(from_write)
rest, session, number = b"", None, 0
log = open(events, "ab")


def messages():
    """Whole messages that came, at the end of the time None."""
    global rest
    until = time.monotonic() + float(seconds)
    while True:
        while b"\0" in rest:
            message, rest = rest.split(b"\0", 1)
            yield message
        if not select.select([from_read], [], [], max(0, until - time.monotonic()))[0]:
            return
        more = os.read(from_read, 1 << 20)
        if not more:
            return
        rest += more


for line in sys.stdin:
    method, parameters = line.rstrip("\n").split(" ", 1)
    number += 1
    told = "no answer to " + method
    try:
        question = {"id": number, "method": method, "params": json.loads(parameters)}
        if session:
            question["sessionId"] = session
        os.write(to_write, json.dumps(question).encode() + b"\0")
        for message in messages():
            if not message.startswith(b'{"id":%d,' % number):
                log.write(message + b"\n")
                log.flush()
                continue
            if method == "Target.attachToTarget":
                session = json.loads(message)["result"]["sessionId"]
            with open(answer, "wb") as f:
                f.write(message)
            told = "ok"
            break
    except (OSError, ValueError, KeyError) as e:
        told = f"{method}: {e}"
    print(told, flush=True)
browser.terminate()
browser.wait()
