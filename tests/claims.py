# SPDX-License-Identifier: BSD-3-Clause
"""claims.py NARROWS CLAIMS.DEF DOCUMENT: the check of claims finds nothing in the document of a real session, and finds every
planted contradiction: a changed value of each record, a changed sentence, each line REFUTED, REFUTED_ALWAYS, SHARES and WORDS of the
table. Without one of its clauses a line finds nothing."""
import copy, json, re, subprocess, sys

narrows, table, document = sys.argv[1:]
text = re.sub(r"/\*.*?\*/", "", open(table).read(), flags=re.S)
rows = []
for name, inside in re.findall(r"^(CLAIM|REFUTED_ALWAYS|REFUTED|SHARES|WORDS)\(((?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*)\)", text, flags=re.M):
    inside = re.sub(r'"\s*"', "", inside)
    rows.append((name, [bare or quoted for quoted, bare in re.findall(r'"((?:[^"\\]|\\.)*)"|([^",\s]+)', inside)]))
assert len(rows) == len(re.findall(r"^(?:CLAIM|REFUTED|REFUTED_ALWAYS|SHARES|WORDS)\(", text, flags=re.M)), "a line of the table is not read"
kinds = {r[0]: r[1] for name, r in rows if name == "CLAIM"}
TEXTS = {"place", "Place", "words"}
real = json.load(open(document))


def slots(kind):
    return re.findall(r"\{(\w+):(\w+)(?:=([^}]*))?\}", kinds[kind])


def record(doc, kind):
    """The planted claim of a kind, made where there is none."""
    for c in doc["claims"]:
        if c["of"] == "planted." + kind:
            return c
    doc["claims"].append({"kind": kind, "of": "planted." + kind, "stage": 0,
                          "values": [[n, "a place" if t in TEXTS else 2.0] for n, t, _ in slots(kind)]})
    return doc["claims"][-1]


def holder(doc, own, path):
    """The object and key of a path; objects and lists on the way are made."""
    parts = path.split(".")
    if parts[0] in ("", "claim"):
        c = record(doc, own if parts[0] == "" else parts[1])
        if len(parts) == 2 and parts[0] == "claim":
            return None, None
        return next(v for v in c["values"] if v[0] == parts[-1]), 1
    if parts[0] == "stage":
        record(doc, own)
        parts = ["bottleneck", "stages", "0"] + parts[1:]
    at = doc
    for part, behind in zip(parts[:-1], parts[1:]):
        if isinstance(at, list) and not part.isdigit():
            at.append({}) if not at else None
            del at[1:]
            at = at[0]
        key = int(part) if isinstance(at, list) else part
        while isinstance(at, list) and len(at) <= key:
            at.append({})
        if isinstance(at, dict) and at.get(key) is None:
            at[key] = [] if behind.isdigit() else {}
        at = at[key]
    if isinstance(at, list) and not parts[-1].isdigit():
        at.append({}) if not at else None
        del at[1:]
        at = at[0]
    key = int(parts[-1]) if isinstance(at, list) else parts[-1]
    while isinstance(at, list) and len(at) <= key:
        at.append(None)
    return at, key


def assign(doc, own, expression, value):
    """Gives an expression a value by the first path in it; other paths are neutral."""
    terms = re.split(r"([-+*])", expression)
    paths = [t for t in terms[::2] if not re.match(r"\d", t)]
    where, key = holder(doc, own, paths[0])
    if where is None:
        return
    if len(terms) > 1:
        assert isinstance(value, float), expression
        for i in range(2, len(terms), 2):
            if terms[i] != paths[0] and not re.match(r"\d", terms[i]):
                at, k = holder(doc, own, terms[i])
                at[k] = 1.0 if terms[i - 1] == "*" else 0.0
        for x in (value, -value, value - 1, 1 - value):
            where[key] = float(x)
            total = None
            for i in range(0, len(terms), 2):
                v = float(terms[i]) if re.match(r"\d", terms[i]) else float(x) if terms[i] == paths[0] else \
                    1.0 if terms[i - 1] == "*" else 0.0
                total = v if total is None else {"+": total + v, "-": total - v, "*": total * v}[terms[i - 1]]
            if abs(total - value) < 1e-9:
                return
        raise AssertionError(expression)
    where[key] = (value == "true") if value in ("true", "false") else value


def remove(doc, own, path):
    if path.startswith("claim."):
        kind = path.split(".")[1]
        doc["claims"] = [c for c in doc["claims"] if c["kind"] != kind]
        return
    where, key = holder(doc, own, path)
    if isinstance(where, list) and where[0] == path.split(".")[-1] and key == 1:
        where[1] = "nothing" if isinstance(where[1], str) else None
    else:
        where[key] = None


def clause_split(clause):
    return re.match(r"([^=!<>]+)(?:([=!<>]+)(.*))?$", clause).groups()


def meet(doc, own, clause):
    if clause.startswith("!"):
        return remove(doc, own, clause[1:])
    path, op, right = clause_split(clause)
    if op is None:
        at, key = holder(doc, own, path)
        if at is not None and (at[key] is None if isinstance(at, list) else at.get(key) is None):
            at[key] = 1.0
        return
    if right.startswith("@"):
        texts = op in ("=", "!=") and not re.search(r"[-+*]", clause)
        if texts:
            assign(doc, own, right[1:], "same")
            assign(doc, own, path, "same" if op == "=" else "other")
            return
        assign(doc, own, right[1:], 5.0)
        right = "5"
    if re.match(r"\d", right):
        v = float(right)
        assign(doc, own, path, {"=": v, "!=": v + 1, "<": v - 0.01, "<=": v, ">": v + 0.01, ">=": v}[op])
    else:
        assign(doc, own, path, right.split("|")[0] if op == "=" else "other")


def miss(doc, own, clause):
    if clause.startswith("!"):
        return meet(doc, own, clause[1:])
    remove(doc, own, re.split(r"[-+*]", clause_split(clause)[0])[0] if not re.match(r"\d", clause) else
           re.split(r"[-+*]", clause_split(clause)[0])[1])


plants = []  # document, message, whether the check must say so


def plant(doc, message, wanted=True):
    doc["session"]["id"] = len(plants) + 1
    plants.append((doc, message, wanted))


def holds_clause(doc, own, clauses, message):
    whole = copy.deepcopy(doc)
    if own:
        record(whole, own)
    for c in sorted(clauses, key=lambda c: c.startswith("!")):
        meet(whole, own, c)
    plant(whole, message)
    for c in clauses:
        part = copy.deepcopy(whole)
        miss(part, own, c)
        plant(part, message, False)


plant(copy.deepcopy(real), None)
assert len(real["claims"]) >= 3, real["claims"]
for i, c in enumerate(real["claims"]):
    for k, (name, value) in enumerate(c["values"]):
        doc = copy.deepcopy(real)
        doc["claims"][i]["values"][k][1] = value + "x" if isinstance(value, str) else value * 1.5 + 1
        plant(doc, c["of"])
        field = slots(c["kind"])[k][2]
        if field and not isinstance(value, str):
            plant(copy.deepcopy(doc), f"{c['kind']}: {name} differs from {field}")
    doc = copy.deepcopy(real)
    at, key = holder(doc, None, c["of"])
    at[key] += "o"
    plant(doc, c["of"] + ": is not the sentence of its records")
for name, args in rows:
    if name == "CLAIM":
        places = [s for s, t, _ in slots(args[0]) if t in ("place", "Place")]
        if len(places) > 1:
            doc = copy.deepcopy(real)
            record(doc, args[0])
            plant(doc, "names a place twice")
    elif name == "REFUTED":
        holds_clause(real, args[0], args[2].split(" & "), f"planted.{args[0]}: {args[1]}")
    elif name == "REFUTED_ALWAYS":
        holds_clause(real, None, args[1].split(" & "), args[0])
    elif name == "WORDS":
        for more in 0, 1:
            doc = copy.deepcopy(real)
            doc[args[0]] = "  word" * (int(args[1]) + more)
            plant(doc, f"{args[0]}: has more than {args[1]} words", bool(more))
    elif name == "SHARES":
        for total in float(args[2]) - 0.1, float(args[3]) + 0.1:
            doc = copy.deepcopy(real)
            parts = args[0].split(".")
            at = doc
            for i, p in enumerate(parts):
                at = at[0] if isinstance(at, list) else at
                last = i + 1 == len(parts)
                at[p] = [{args[1]: total / 2}, {args[1]: total / 2}] if last else ({} if i == 0 and p == "io" else at.get(p) or [{}])
                if i == 0 and p == "io":
                    at[p] = {}
                at = at[p]
            if total >= 0:
                plant(doc, f"{args[1]} of {args[0]} add up to")
got = subprocess.run([narrows, "report", "--check", "-"], input="".join(json.dumps(d) + "\n" for d, _, _ in plants), text=True,
                     capture_output=True)
assert got.returncode == 1, (got.returncode, got.stderr)
said = {}
for line in got.stdout.splitlines():
    m = re.match(r"session (\d+)[,:] (.*)", line)
    if m:
        said.setdefault(int(m.group(1)), []).append(m.group(2))
assert 1 not in said, ("contradictions in a real document", said[1])
bad = 0
for i, (doc, message, wanted) in enumerate(plants[1:], 2):
    found = any(message in s for s in said.get(i, []))
    if found != wanted:
        bad += 1
        print("not found:" if wanted else "found without a clause:", message, said.get(i))
sys.exit(bad > 0 or print(f"{len(plants)} documents"))
