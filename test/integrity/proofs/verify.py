"""Verifies what docs/proof.md specifies, written from that page alone, with the standard library only.

verify.py [--key VKEY|FILE]... FILE...      prints {"verdict", "items"} as JSON
verify.py --vectors VECTORS.JSON            prints the same for each case, as a list
"""
import base64, hashlib, json, math, os, re, sys, tempfile

MISSING = {"no_key", "no_export", "no_checkpoint", "key_changed_without_signature", "export_begins_later",
           "after_fault", "unknown_format", "unreadable"}
sys.setrecursionlimit(10_000)


class Finding(Exception):
    pass


def need(value, reason="malformed"):
    if not value:
        raise Finding(reason)
    return value


# Ed25519 (RFC 8032, section 5.1)

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def point_add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    x, y, z, t = f - e, h - g, h + g, f + e
    return (x * y % P, t * z % P, y * z % P, x * t % P)


def point_times(n, point):
    found = (0, 1, 1, 0)
    while n > 0:
        if n & 1:
            found = point_add(found, point)
        point = point_add(point, point)
        n >>= 1
    return found


def recover_x(y, sign):
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if square == 0:
        return None if sign else 0
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P != 0:
        return None
    return x if (x & 1) == sign else P - x


def point_of(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def is_signed(text, raw, signature):
    if len(signature) != 64:
        return False
    key, r, s = point_of(raw), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + raw + text).digest(), "little") % L
    a, b = point_times(s, BASE), point_add(r, point_times(h, key))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


# Strict and canonical JSON

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_string(text):
    return '"' + "".join(ESCAPES.get(c) or (c if c >= " " else "\\u%04x" % ord(c)) for c in text) + '"'


def json_number(value):
    need(math.isfinite(value))
    if value == 0:
        return "0"
    sign, (digits, exponent) = ("-" if value < 0 else ""), repr_parts(abs(value))
    n = exponent + len(digits)  # the point stands after n digits
    if len(digits) <= n <= 21:
        return sign + digits + "0" * (n - len(digits))
    if 0 < n <= 21:
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    tail = ("." + digits[1:]) if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if n > 0 else '-'}{abs(n - 1)}"


def repr_parts(value):
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits, power = whole + fraction, int(exponent or 0) - len(fraction)
    trimmed = digits.rstrip("0")
    return trimmed.lstrip("0"), power + len(digits) - len(trimmed)


def json_text(value, order):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, list):
        return "[" + ",".join(json_text(each, order) for each in value) + "]"
    return "{" + ",".join(json_string(name) + ":" + json_text(value[name], order) for name in order(value)) + "}"


def as_written(value):
    indexes = [name for name in value if re.fullmatch(r"0|[1-9]\d{0,9}", name) and int(name) < 2**32 - 1]
    return sorted(indexes, key=int) + [name for name in value if name not in indexes]


def canonical(value):
    return json_text(value, lambda names: sorted(names, key=lambda name: name.encode("utf-16-be"))).encode()


def strict_json(text):
    try:
        value = json.loads(text, parse_int=float, parse_float=float)
        need(json_text(value, as_written) == text)
        text.encode()
        canonical(value)
    except (ValueError, RecursionError, TypeError):
        raise Finding("malformed") from None
    return value


# Texts

def sha256(data):
    return hashlib.sha256(data).digest()


def bytes_of(text, length=None):
    need(isinstance(text, str))
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Finding("malformed") from None
    need(base64.b64encode(data).decode() == text and length in (None, len(data)))
    return data


def count_of(text):
    return int(need(re.fullmatch(r"0|[1-9][0-9]{0,14}", text))[0])


def is_count(value):
    return isinstance(value, float) and value >= 0 and value == int(value) and value < 2**53


def is_hash(value):
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def lines_of(path):
    with open(path, "rb") as file:
        for line in file:  # ends at line feeds only
            try:
                yield line.removesuffix(b"\n").decode()
            except UnicodeDecodeError:
                raise Finding("malformed") from None


# Trees

def leaf_hash(data):
    return sha256(b"\0" + data)


def node_hash(left, right):
    return sha256(b"\1" + left + right)


def left_of(size):
    left = 1
    while left * 2 < size:
        left *= 2
    return left


def root_of_path(leaf, index, size, path):
    need(index < size and (size > 1 or not path), "not_included")
    if size == 1:
        return leaf
    left = left_of(size)
    need(path, "not_included")
    if index < left:
        return node_hash(root_of_path(leaf, index, left, path[:-1]), path[-1])
    return node_hash(path[-1], root_of_path(leaf, index - left, size - left, path[:-1]))


def roots_of_proof(old, size, path, known):
    if old == size:
        need(len(path) == (0 if known else 1), "not_consistent")
        return (known, known) if known else (path[0], path[0])
    need(path, "not_consistent")
    left = left_of(size)
    if old <= left:
        first, second = roots_of_proof(old, left, path[:-1], known)
        return first, node_hash(second, path[-1])
    first, second = roots_of_proof(old - left, size - left, path[:-1], None)
    return node_hash(path[-1], first), node_hash(path[-1], second)


class Tree:
    def __init__(self):
        self.size, self.peaks = 0, []

    def append(self, data):
        node, n = leaf_hash(data), self.size
        while n & 1:
            node, n = node_hash(self.peaks.pop(), node), n >> 1
        self.peaks.append(node)
        self.size += 1

    def root(self):
        root = self.peaks[-1]
        for left in reversed(self.peaks[:-1]):
            root = node_hash(left, root)
        return root


# Keys and notes

SPKI = bytes.fromhex("302a300506032b6570032100")


def key_id(name, kind, raw):
    return sha256(name.encode() + b"\n" + bytes([kind]) + raw)[:4]


def parse_vkey(text):
    need(isinstance(text, str))
    name, number, coded = need(re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", text)).groups()
    data = bytes_of(coded, 33)
    need(data[0] in (1, 4) and key_id(name, data[0], data[1:]).hex() == number)
    return {"vkey": text, "name": name, "type": data[0], "raw": data[1:]}


def parse_note(note):
    need(isinstance(note, str) and note.endswith("\n") and not re.search(r"[\0-\x09\x0b-\x1f]", note))
    end = note.rfind("\n\n")
    need(end >= 0)
    signatures = []
    for line in note[end + 2:-1].split("\n"):
        name, coded = need(re.fullmatch(r"— ([^\s+]+) (\S+)", line)).groups()
        data = bytes_of(coded)
        signatures.append((name, data[:4], data[4:]))
    return note[:end + 1], signatures


def of_key(signatures, name, key):
    return [made for by, number, made in signatures if by == name and number == key_id(name, key["type"], key["raw"])]


def parse_origin(origin):
    found = need(re.fullmatch(r"(tillbook/[0-9a-f-]{36})(?:/cell-[1-9][0-9]{0,8}|/company-([1-9][0-9]{0,14})(?:/([1-9][0-9]*))?)?", origin))
    need(found[3] != "1")
    return {"origin": origin, "installation": found[1], "company": int(found[2]) if found[2] else None,
            "generation": int(found[3] or 1)}


def parse_checkpoint(text):
    lines = text.split("\n")
    need(len(lines) == 4 and lines[3] == "")
    return {"log": parse_origin(lines[0]), "size": need(count_of(lines[1])), "root": bytes_of(lines[2], 32), "text": text}


class Verifier:
    def __init__(self, keys):
        self.given = [key for key in keys if key["type"] == 1]
        self.witnesses = [key for key in keys if key["type"] == 4]
        self.ring, self.claims, self.logs, self.items = [], [], [], []

    def open_checkpoint(self, note):
        text, signatures = parse_note(note)
        checkpoint = parse_checkpoint(text)
        origin, installation = checkpoint["log"]["origin"], checkpoint["log"]["installation"]
        for witness in self.witnesses:
            for made in of_key(signatures, witness["name"], witness):
                cosigned = b"cosignature/v1\ntime %d\n" % int.from_bytes(made[:8], "big") + text.encode()
                need(len(made) == 72 and is_signed(cosigned, witness["raw"], made[8:]), "wrong_cosignature")
        known = [key for key in self.given + self.ring
                 if key["name"] is None or (key["name"] + "/").startswith(installation + "/")]
        for key in known:
            for made in of_key(signatures, origin, key):
                need(is_signed(text.encode(), key["raw"], made), "wrong_signature")
        need(known, "no_key")
        self.need_trusted([key for key in known if of_key(signatures, origin, key)])
        return checkpoint

    def need_trusted(self, keys):
        def is_given(key):
            return any(each["raw"] == key["raw"] for each in self.given)
        if self.given:
            trusted = {key["line"] for key in self.ring if is_given(key)}
        else:
            trusted = {self.ring[0]["line"]} if self.ring else set()
        need(any(is_given(key) for key in keys) or (keys and trusted), "unknown_key")
        need(any(is_given(key) or key.get("line") in trusted for key in keys), "key_changed_without_signature")

    def claim(self, item, log, key, value):
        self.claims.append({"item": item, "log": log, "key": key, "value": value})

    def claim_root(self, item, checkpoint):
        self.claim(item, checkpoint["log"], ("size", checkpoint["size"]), checkpoint["root"])

    # One reader for each kind of document

    def keys(self, item, entry):
        if any(key["note"] == entry["note"] for key in self.ring):
            return
        key, former, (text, signatures) = parse_vkey(entry["vkey"]), (self.ring or [None])[-1], parse_note(entry["note"])
        lines = text[:-1].split("\n")
        need(len(lines) >= 5)
        name, index, vkey, since, how, *before = lines
        how = need(re.fullmatch(r"(first|signed|unsigned)(?: (.+))?", how))[1]
        need(re.fullmatch(r"tillbook/[0-9a-f-]{36}/keys", name) and key["name"] == name and index == str(len(self.ring)))
        need(vkey == entry["vkey"] and since == entry["since"] and bytes_of(entry["public_key"]) == SPKI + key["raw"])
        need(how != "first" if former else how != "signed")
        need(before == ([former["vkey"]] if former else []))
        for signer in [key, former] if how == "signed" else [key]:
            made = of_key(signatures, name, signer)
            need(made and is_signed(text.encode(), signer["raw"], made[0]), "wrong_signature")
        self.ring.append({**key, "note": entry["note"], "line": former["line"] if how == "signed" else len(self.ring)})

    def checkpoint(self, item, document):
        self.claim_root(item, self.open_checkpoint(document if isinstance(document, str) else document["note"]))

    def receipt(self, item, receipt):
        need(receipt["version"] == 1)
        for part in [receipt] + ([receipt["cancellation"]] if "cancellation" in receipt else []):
            event = as_event(part["event"])
            need(is_its_hash(event), "wrong_hash")
            index, path, note, _ = parse_proof(part["proof"])
            checkpoint = self.open_checkpoint(note)
            need(event["stream"] == f"company-{checkpoint['log']['company']}", "not_included")
            need(event["revision"] == index and event["subject"] == receipt["event"]["subject"], "not_included")
            leaf = leaf_hash(bytes.fromhex(event["hash"]))
            need(root_of_path(leaf, index, checkpoint["size"], path) == checkpoint["root"], "not_included")
            self.claim_root(item, checkpoint)
            self.claim(item, checkpoint["log"], index, event["hash"])
        if "place" in receipt:
            self.place(item, receipt["place"])

    def place(self, item, document):
        index, path, note, extra = parse_proof(document if isinstance(document, str) else document["proof"])
        checkpoint = self.open_checkpoint(note)
        entry = parse_checkpoint(need(extra, "no_checkpoint"))
        root = root_of_path(leaf_hash(extra.encode()), index, checkpoint["size"], path)
        need(root == checkpoint["root"], "not_included")
        need(checkpoint["log"]["company"] is None and entry["log"]["company"] is not None)
        need(entry["log"]["installation"] == checkpoint["log"]["installation"])
        self.claim_root(item, checkpoint)
        self.claim_root(item, entry)

    def inclusion(self, item, proof):
        index, size = proof["revision"], proof["size"]
        need(is_count(index) and is_count(size) and is_hash(proof["hash"]))
        path, root = [bytes_of(each, 32) for each in proof["hashes"]], proof["root"]
        leaf = leaf_hash(bytes.fromhex(proof["hash"]))
        need(base64.b64encode(root_of_path(leaf, int(index), int(size), path)).decode() == root, "not_included")
        checkpoint = self.open_checkpoint(need(proof["checkpoint"], "no_checkpoint"))
        need(checkpoint["size"] == size and checkpoint["root"] == bytes_of(root, 32), "other_root")
        self.claim_root(item, checkpoint)
        self.claim(item, checkpoint["log"], int(index), proof["hash"])

    def consistency(self, item, proof):
        old, size = proof["from"], proof["to"]
        need(is_count(old) and is_count(size) and 0 < old <= size)
        path = [bytes_of(each, 32) for each in proof["hashes"]]
        roots = bytes_of(proof["from_root"], 32), bytes_of(proof["to_root"], 32)
        need(roots_of_proof(int(old), int(size), path, roots[0]) == roots, "not_consistent")
        def origins(at, root):
            return {claim["log"]["origin"] for claim in self.claims
                    if claim["key"] == ("size", int(at)) and claim["value"] == root}
        need(origins(old, roots[0]) & origins(size, roots[1]), "no_checkpoint")

    def entries(self, item, path):
        log = {"company": None, "from": 0, "fault": None, "hashes": {}, "roots": {}}
        tree = Tree()
        for line in lines_of(path):
            entry = strict_json(line)
            checkpoint = parse_checkpoint(entry["text"])
            need(entry["index"] == tree.size and entry["size"] == checkpoint["size"])
            need(entry["company_id"] == checkpoint["log"]["company"])
            self.claim_root(item, checkpoint)
            tree.append(entry["text"].encode())
            log["roots"][tree.size] = tree.root()
        self.logs.append(log)

    def export(self, item, path):
        log, tree = None, Tree()
        fault = None
        try:
            for line in lines_of(path):
                event = as_event(strict_json(line))
                revision = int(event["revision"])
                if log is None:
                    company = count_of(event["stream"].removeprefix("company-"))
                    log = {"company": company, "stream": event["stream"], "from": revision, "last": revision - 1,
                           "hash": event["previous_hash"] if revision else "0" * 64, "time": "", "hashes": {}, "roots": {}}
                    log["hashes"][revision - 1] = log["hash"]
                need(event["stream"] == log["stream"], "wrong_stream")
                need(revision == log["last"] + 1, "wrong_revision")
                need(is_its_hash(event), "wrong_hash")
                need(event["previous_hash"] == log["hash"], "broken_chain")
                need(event["recorded_at"] >= log["time"] or event["type"] == "CompanyClockCorrected", "time_goes_back")
                log.update(last=revision, hash=event["hash"], time=event["recorded_at"])
                log["hashes"][revision] = event["hash"]
                if log["from"] == 0:
                    tree.append(bytes.fromhex(event["hash"]))
                    log["roots"][tree.size] = tree.root()
        except Finding as finding:
            fault = str(finding)
        log = log or {"company": 0, "from": 0, "last": -1, "hash": "0" * 64, "hashes": {}, "roots": {}}
        log["fault"] = fault
        self.logs.append(log)
        need(fault is None, fault)

    def hold(self, claim):
        company, key = claim["log"]["company"], claim["key"]
        newest = max(each["log"]["generation"] for each in self.claims if each["log"]["company"] == company)
        held = [log for log in self.logs if log["company"] == company and claim["log"]["generation"] == newest]
        others = [log for log in self.logs if (log["company"] is None) == (company is None)]
        need(held or not others, "no_export")
        for log in held:
            is_root = isinstance(key, tuple)
            need(log["from"] == 0 if is_root else key >= log["from"] - 1, "export_begins_later")
            found = log["roots"].get(key[1]) if is_root else log["hashes"].get(key)
            need(found is not None, "after_fault" if log["fault"] else "truncated")
            need(found == claim["value"], "other_root" if is_root else "other_hash")

    # Files

    def note_reason(self, item, work):
        try:
            work()
        except Finding as finding:
            reason = str(finding)
        except (KeyError, TypeError, AttributeError, ValueError):
            reason = "malformed"
        else:
            return
        if item["reason"] is None or (item["reason"] in MISSING and reason not in MISSING):
            item["reason"] = reason

    def verify(self, paths):
        kinds = ["keys", "checkpoint", "receipt", "place", "inclusion", "consistency", "entries", "export"]
        files = [(kind_of(path), path) for path in paths]
        for kind, path in sorted(files, key=lambda file: kinds.index(file[0]) if file[0] in kinds else -1):
            for document in documents_of(kind, path):
                item = {"file": path, "kind": kind, "reason": None}
                self.items.append(item)
                if kind not in kinds:
                    item["reason"] = kind
                else:
                    self.note_reason(item, lambda: getattr(self, kind)(item, document))
        seen = {}
        for claim in self.claims:
            first = seen.setdefault((claim["log"]["origin"], claim["key"]), claim["value"])
            self.note_reason(claim["item"], lambda: need(first == claim["value"], "fork"))
            self.note_reason(claim["item"], lambda: self.hold(claim))
        reasons = {item["reason"] for item in self.items} - {None}
        if not self.items:
            return "undecided"
        return "sound" if not reasons else "undecided" if reasons <= MISSING else "wrong"


MEMBERS = {"actor", "data", "hash", "id", "idempotency", "origin", "previous_hash", "recorded_at", "request_id", "revision",
           "stream", "subject", "type", "version"}


def as_event(event):
    need(isinstance(event, dict) and set(event) == MEMBERS)
    need(is_hash(event["hash"]) and is_hash(event["previous_hash"]) and is_count(event["revision"]))
    need(isinstance(event["recorded_at"], str))
    need(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", event["recorded_at"]))
    return event


def is_its_hash(event):
    return sha256(canonical({name: value for name, value in event.items() if name != "hash"})).hex() == event["hash"]


def parse_proof(text):
    head, _, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    need(first == "c2sp.org/tlog-proof@v1" and lines)
    extra = bytes_of(lines.pop(0)[6:]).decode() if lines[0].startswith("extra ") else None
    need(lines and lines[0].startswith("index "))
    return count_of(lines[0][6:]), [bytes_of(line, 32) for line in lines[1:]], note, extra


def kind_of(path):
    try:
        first = next(lines_of(path), None)
    except OSError:
        return "unreadable"
    except Finding as finding:
        return str(finding)
    if first is None:
        return "export"
    for kind, pattern in [("keys", r'\{"(vkey|log)":'),
                          ("checkpoint", r'tillbook/|\{"note":|\{"data":\{"size":\d+,"root":'), ("receipt", r'\{"version":1,"event":'),
                          ("place", r'c2sp\.org/tlog-proof@v1$|\{"data":\{"size":\d+,"index":'), ("inclusion", r'(\{"data":)?\{"revision":\d+,"hash":'), ("consistency", r'(\{"data":)?\{"from":'), ("entries", r'\{"index":'),
                          ("export", r'\{"id":')]:
        if re.match(pattern, first):
            return kind
    return "unknown_format"


def documents_of(kind, path):
    if kind in ("entries", "export", "unreadable", "unknown_format", "malformed"):
        return [path]
    try:
        lines = list(lines_of(path))
    except Finding:
        return [None]
    if lines[0][:1] not in "{[":
        return ["".join(line + "\n" for line in lines)]
    documents = []
    for line in lines:
        try:
            value = strict_json(line)
        except Finding:
            value = None
        for name in ("keys", "data"):
            value = value[name] if isinstance(value, dict) and name in value else value
        documents += value if isinstance(value, list) else [value]
    return documents


def keys_of(text):
    text = open(text).read() if os.path.exists(text) else text
    if "-----BEGIN" not in text:
        return [parse_vkey(line) for line in text.strip().split("\n")]
    keys = [base64.b64decode(each) for each in re.findall(r"-----BEGIN PUBLIC KEY-----([^-]+)-----END", text)]
    need(all(len(spki) == 44 and spki[:12] == SPKI for spki in keys))
    return [{"name": None, "type": 1, "raw": spki[12:]} for spki in keys]


def run(keys, paths):
    verifier = Verifier(keys)
    verdict = verifier.verify(paths)
    return {"verdict": verdict, "items": verifier.items}


def run_vectors(path):
    vectors = json.load(open(path))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in vectors["files"].items():
            open(os.path.join(folder, name), "w", encoding="utf-8", newline="").write(text)
        for case in vectors["cases"]:
            found = run([parse_vkey(key) for key in case["keys"]], [os.path.join(folder, name) for name in case["files"]])
            reasons = {}
            for item in found["items"]:
                if item["reason"]:
                    reasons.setdefault(os.path.basename(item["file"]), item["reason"])
            yield {"title": case["title"], "verdict": found["verdict"], "found": reasons}


if __name__ == "__main__":
    arguments, keys, paths = sys.argv[1:], [], []
    if arguments[0] == "--vectors":
        print(json.dumps(list(run_vectors(arguments[1]))))
        sys.exit()
    while arguments:
        argument = arguments.pop(0)
        if argument == "--key":
            keys += keys_of(arguments.pop(0))
        else:
            paths.append(argument)
    report = run(keys, paths)
    print(json.dumps(report))
    sys.exit({"sound": 0, "wrong": 1, "undecided": 2}[report["verdict"]])
