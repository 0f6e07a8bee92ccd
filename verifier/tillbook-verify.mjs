#!/usr/bin/env node
/**
 * Verifies what Tillbook's operators, customers and witnesses hand out, without Tillbook: Node 20.12 or later is all it needs.
 * docs/proof.md specifies every format; this is one reading of it, to be read from top to bottom.
 *
 *   node tillbook-verify.mjs [--json] [--key VKEY|FILE]… FILE…
 *
 * FILE: exports, checkpoints, receipts, proofs, places, rings of keys; which of them shows in their first line.
 * --key: a key that you trust, got in another way than the files (those of witnesses too): a vkey, a file of vkeys or PEMs.
 * Each thing is sound, wrong, or undecided where something is missing. Exit: 0 all sound, 1 anything wrong, 2 anything undecided.
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Reasons that leave a thing undecided; every other reason says what is wrong with it. */
const MISSING =
  /^(no_key|no_export|no_checkpoint|key_changed_without_signature|export_begins_later|after_fault|unknown_format|unreadable)$/
const VERDICTS = ['sound', 'undecided', 'wrong']
const gravityOf = (reason) => (reason === null ? 0 : MISSING.test(reason) ? 1 : 2)

class Finding extends Error {}
function need(value, reason = 'malformed') {
  if (!value) throw new Finding(reason)
  return value
}

// --- JSON, texts, hashes
const sha256 = (...parts) => hash('sha256', Buffer.concat(parts.map((part) => Buffer.from(part))), 'buffer')

/** RFC 8785: members in the order of their names, no blanks; numbers and texts as JSON.stringify writes them. */
function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`
}

/** The value of a text that all readers of JSON read alike: written again it is the same, without half a pair of surrogates. */
function strictJson(text) {
  const value = JSON.parse(text)
  need(JSON.stringify(value) === text && !(text.includes('\\ud') && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)))
  return value
}

/** The bytes of base64, which has to be the one text of those bytes. */
function bytesOf(text, length) {
  const bytes = Buffer.from(String(text), 'base64')
  need(bytes.toString('base64') === text && (length === undefined || bytes.length === length))
  return bytes
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const countOf = (text) => Number(need(/^(?:0|[1-9]\d{0,14})$/.exec(text)))
const isHash = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** Lines end with a line feed and nothing else, and are UTF-8. */
async function* linesOf(path) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  for await (const chunk of createReadStream(path, { highWaterMark: 1_048_576 })) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop()
    need(rest.length < 67_108_864)
    yield* lines
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}

// --- Merkle trees (RFC 6962, section 2.1)
const [LEAF, NODE] = [Buffer.of(0), Buffer.of(1)]
const leafHash = (data) => sha256(LEAF, data)
const nodeHash = (left, right) => hash('sha256', Buffer.concat([NODE, left, right]), 'buffer')

/** Leaves in the left subtree: the largest power of two below the size. */
const leftOf = (size) => (size > 2 ? 2 * leftOf(Math.ceil(size / 2)) : 1)

/** The root that the path of a leaf leads to (PATH in the RFC). */
function rootOfPath(leaf, index, size, path) {
  need(index < size && (size > 1 || path.length === 0), 'not_included')
  if (size === 1) return leaf
  const [left, other, rest] = [leftOf(size), need(path.at(-1), 'not_included'), path.slice(0, -1)]
  if (index < left) return nodeHash(rootOfPath(leaf, index, left, rest), other)
  return nodeHash(other, rootOfPath(leaf, index - left, size - left, rest))
}

/** The roots that a consistency proof leads to, of the tree and of its beginning (SUBPROOF), whose root is `known` to whoever asked. */
function rootsOfProof(from, size, path, known) {
  if (from === size) return need(path.length === (known ? 0 : 1), 'not_consistent') && Array(2).fill(known ?? path[0])
  const [left, other, rest] = [leftOf(size), need(path.at(-1), 'not_consistent'), path.slice(0, -1)]
  if (from > left) return rootsOfProof(from - left, size - left, rest, null).map((root) => nodeHash(other, root))
  const [old, now] = rootsOfProof(from, left, rest, known)
  return [old, nodeHash(now, other)]
}

// --- Keys and signed notes (C2SP)
const [SIGNS, COSIGNS] = [1, 4]
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const rawOf = (spki) => need(SPKI.equals(spki.subarray(0, 12))) && spki.subarray(12)
const keyIdOf = (name, { type, raw }) => sha256(`${name}\n`, Buffer.of(type), raw).toString('hex', 0, 4)

function isSigned(text, { raw }, signature) {
  const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  return signature.length === 64 && verify(null, Buffer.from(text), key, signature)
}

/** A key of `name+id+base64(type, key)`. */
export function parseVkey(vkey) {
  const [, name, id, coded] = need(/^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(vkey))
  const bytes = bytesOf(coded, 33)
  const key = { vkey, name, type: bytes[0], raw: bytes.subarray(1) }
  need([SIGNS, COSIGNS].includes(key.type) && keyIdOf(name, key) === id)
  return key
}

/** Text and signatures of a note, nothing of it verified. */
function parseNote(note) {
  const end = note.lastIndexOf('\n\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note has none but line feeds.
  need(end >= 0 && note.endsWith('\n') && !/[\0-\x09\x0b-\x1f]/.test(note))
  const lines = note.slice(end + 2, -1).split('\n')
  const parts = lines.map((line) => need(/^— ([^\s+]+) (\S+)$/u.exec(line)))
  return { text: note.slice(0, end + 1), signatures: parts.map(([, name, coded]) => [name, bytesOf(coded)]) }
}

/** The signatures that bear a name and a key's id under it: the key has to have made each of them. Of a witness, their times. */
function signaturesBy(key, name, { text, signatures }) {
  const own = signatures.filter(([by, bytes]) => by === name && bytes.toString('hex', 0, 4) === keyIdOf(name, key))
  return own.map(([, bytes]) => {
    if (key.type === SIGNS) return need(isSigned(text, key, bytes.subarray(4)), 'wrong_signature')
    const seconds = need(bytes.length === 76, 'wrong_cosignature') && bytes.readBigUInt64BE(4)
    need(isSigned(`cosignature/v1\ntime ${seconds}\n${text}`, key, bytes.subarray(12)), 'wrong_cosignature')
    return new Date(Number(seconds) * 1000).toISOString()
  })
}

/** Origin, size, root. The origin names a ledger and its generation (2: after a restore that lost what was signed), or an installation log (company null). */
function parseCheckpoint(text) {
  const [origin, size, root, ...rest] = text.split('\n')
  const pattern = /^(tillbook\/[0-9a-f-]{36})(?:\/cell-[1-9]\d{0,8}|\/company-([1-9]\d{0,14})(?:\/([2-9]|[1-9]\d+))?)?$/
  need(rest.length === 1 && rest[0] === '' && bytesOf(root, 32))
  const [, installation, company, generation = '1'] = need(pattern.exec(origin))
  const log = { origin, installation, company: company ? Number(company) : null, generation: Number(generation) }
  return { log, size: need(countOf(size)), root, text }
}

/** Opens a checkpoint's note: a key of the installation signed it under the name of its origin, and none that we know wrongly. */
function openCheckpoint(item, text, state) {
  const note = parseNote(text)
  const checkpoint = parseCheckpoint(note.text)
  const { origin, installation } = checkpoint.log
  item.about ??= `${origin} size ${checkpoint.size}`
  const seen = state.witnesses.flatMap((key) => signaturesBy(key, key.name, note).map((time) => `${key.name} ${time}`))
  if (seen.length > 0) item.witnesses = [...(item.witnesses ?? []), ...seen]
  const known = [...state.given, ...state.ring].filter((key) => `${key.name ?? origin}/`.startsWith(`${installation}/`))
  const signers = known.filter((key) => signaturesBy(key, origin, note).length > 0)
  need(known.length > 0, 'no_key')
  needTrusted(signers, state)
  return checkpoint
}

/** Keys of the ring are trusted that signatures join to a given one; where none was given, to the ring's first. */
function needTrusted(keys, { given, ring }) {
  const isGiven = (key) => given.some(({ raw }) => raw.equals(key.raw))
  const lines = given.length > 0 ? ring.filter(isGiven).map(({ line }) => line) : [0]
  need(keys.some(isGiven) || (keys.length > 0 && lines.length > 0), 'unknown_key')
  const isJoined = (key) => isGiven(key) || lines.includes(key.line)
  need(keys.some(isJoined), 'key_changed_without_signature')
}

// --- Claims of a log: the root that it has at a size, or the hash that it has at a revision (`key` is a number)
function claim({ claims, wanted, newest }, item, log, key, value) {
  newest.set(log.company, Math.max(newest.get(log.company) ?? 1, log.generation))
  wanted.add(`${log.company} ${key}`)
  claims.push({ item, log, key, value })
}
const claimRoot = (state, item, { log, size, root }) => claim(state, item, log, `size ${size}`, root)

/** Holds a claim against the logs of its ledger: an export is of the newest generation that anything claims. */
function hold({ log: { company, generation }, key, value }, { logs, newest }) {
  const held = logs.filter((log) => log.company === company && generation === newest.get(company))
  const isThereAny = logs.some((log) => (log.company === null) === (company === null))
  need(held.length > 0 || !isThereAny, 'no_export')
  for (const { kept, from, isFaulty } of held) {
    need(typeof key === 'number' ? key >= from - 1 : from === 0, 'export_begins_later')
    need(kept.has(key), isFaulty ? 'after_fault' : 'truncated')
    need(kept.get(key) === value, typeof key === 'number' ? 'other_hash' : 'other_root')
  }
}

// --- Logs: exports, the installation log
/** A log before its first event: the roots of the complete subtrees that it is made of, and what it kept of itself for claims. */
const createLog = (of) => ({
  from: 0,
  revision: -1,
  hash: '0'.repeat(64),
  recordedAt: '',
  peaks: [],
  kept: new Map(),
  ...of,
})

function append(log, data, at, { wanted }) {
  const { company, from, peaks, kept } = Object.assign(log, at)
  let node = leafHash(data)
  for (let n = log.revision - from; n % 2 === 1; n = (n - 1) / 2) node = nodeHash(peaks.pop(), node)
  peaks.push(node)
  const [size, root] = [`size ${log.revision + 1}`, () => peaks.reduceRight((right, left) => nodeHash(left, right))]
  if (wanted.has(`${company} ${log.revision}`)) kept.set(log.revision, log.hash)
  if (wanted.has(`${company} ${size}`)) kept.set(size, root().toString('base64'))
}

const MEMBERS =
  'actor,data,hash,id,idempotency,origin,previous_hash,recorded_at,request_id,revision,stream,subject,type,version'

function asEvent(event) {
  const { hash, previous_hash, recorded_at, revision } = event
  const { via, ...others } = event
  need(Object.keys(others).sort().join() === MEMBERS && (!('via' in event) || typeof via === 'string'))
  need(isHash(hash) && isHash(previous_hash) && isCount(revision))
  need(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(recorded_at))
  return event
}

const isItsHash = ({ hash: own, ...event }) => hash('sha256', canonical(event)) === own

/** Computes every hash of an export again, follows the chain, grows the tree; up to the first fault. */
async function readExport(item, path, state) {
  const log = createLog({ company: 0, stream: null, isFaulty: true })
  state.logs.push(log)
  try {
    for await (const line of linesOf(path)) {
      const event = asEvent(strictJson(line))
      const { stream, revision, previous_hash, hash, recorded_at: recordedAt } = event
      if (log.stream === null) {
        if (revision > 0) Object.assign(log, { from: revision, revision: revision - 1, hash: previous_hash })
        Object.assign(log, { stream, company: countOf(stream.replace(/^company-/, '')) })
        log.kept.set(log.revision, log.hash)
      }
      need(stream === log.stream, 'wrong_stream')
      need(revision === log.revision + 1, 'wrong_revision')
      need(isItsHash(event), 'wrong_hash')
      need(previous_hash === log.hash, 'broken_chain')
      need(recordedAt >= log.recordedAt || event.type === 'CompanyClockCorrected', 'time_goes_back')
      append(log, Buffer.from(hash, 'hex'), { revision, hash, recordedAt }, state)
    }
    log.isFaulty = false
  } finally {
    const { stream, from, revision, hash, isFaulty } = log
    const about = `${stream ?? 'empty'} revisions ${from} to ${revision}${isFaulty ? ', then' : ''}`
    Object.assign(item, { about, from, revision, hash })
  }
}

/** The installation log: an entry is the text of a company's checkpoint. */
async function readEntries(item, path, state) {
  const log = createLog({ company: null })
  for await (const line of linesOf(path)) {
    const { index, company_id, size, text } = strictJson(line)
    const entry = parseCheckpoint(text)
    need(index === log.revision + 1 && company_id === entry.log.company && size === entry.size)
    append(log, text, { revision: index }, state)
    claimRoot(state, item, entry)
  }
  item.about = `entries 0 to ${log.revision}`
  state.logs.push(log)
}

// --- Documents
/** An entry of the ring is a note that its key signs and, unless it says otherwise, the key before it too. */
function readKey(item, { vkey, public_key, since, note: signed }, { ring }) {
  item.about = vkey
  if (ring.some((each) => each.signed === signed)) return
  const [key, former, note] = [parseVkey(vkey), ring.at(-1), parseNote(signed)]
  const [name, index, said, time, how, ...before] = note.text.slice(0, -1).split('\n')
  const [, succession, why] = need(/^(first|signed|unsigned)(?: (.+))?$/.exec(how))
  need(/^tillbook\/[0-9a-f-]{36}\/keys$/.test(name) && key.name === name && said === vkey && time === since)
  need(index === String(ring.length) && key.raw.equals(rawOf(bytesOf(public_key))))
  need(former ? succession !== 'first' : succession !== 'signed')
  need(before.length === (former ? 1 : 0) && before[0] === former?.vkey)
  for (const signer of succession === 'signed' ? [key, former] : [key])
    need(signaturesBy(signer, name, note).length > 0, 'wrong_signature')
  if (why) item.warning = `key_changed_without_signature: ${why}`
  ring.push({ ...key, signed, line: succession === 'signed' ? former.line : ring.length })
}

function readCheckpoint(item, document, state) {
  claimRoot(state, item, openCheckpoint(item, document.note ?? document, state))
}

/** Index, path, checkpoint and extra data of a proof (tlog-proof). */
function parseProof(proof) {
  const end = proof.indexOf('\n\n')
  const [header, ...lines] = proof.slice(0, Math.max(end, 0)).split('\n')
  const extra = lines[0]?.startsWith('extra ') ? bytesOf(lines.shift().slice(6)).toString() : null
  const [, index] = need(header === 'c2sp.org/tlog-proof@v1' && /^index (.+)$/.exec(lines.shift()))
  return { index: countOf(index), path: lines.map((line) => bytesOf(line, 32)), note: proof.slice(end + 2), extra }
}

/** Whether data are the leaf that a proof shows to be in a tree. */
const isIncluded = (data, { index, path }, { size, root }) =>
  rootOfPath(leafHash(data), index, size, path).toString('base64') === root

/** The event of a sale, and of its cancellation, and that they are in the tree of their ledger. */
function readReceipt(item, { version, cancellation, place, ...sale }, state) {
  need(version === 1)
  for (const { event, proof: text } of cancellation ? [sale, cancellation] : [sale]) {
    const { stream, revision, subject, hash } = asEvent(event)
    item.about = `${item.about ? `${item.about}, ` : ''}${subject} ${stream} revision ${revision}`
    need(isItsHash(event), 'wrong_hash')
    const proof = parseProof(text)
    const checkpoint = openCheckpoint(item, proof.note, state)
    need(stream === `company-${checkpoint.log.company}` && revision === proof.index, 'not_included')
    need(subject === sale.event.subject && isIncluded(Buffer.from(hash, 'hex'), proof, checkpoint), 'not_included')
    claimRoot(state, item, checkpoint)
    claim(state, item, checkpoint.log, revision, hash)
  }
  if (place !== undefined) readPlace(item, place, state)
}

/** That an entry, the text of a company's checkpoint, is in the installation log. */
function readPlace(item, document, state) {
  const proof = parseProof(document.proof ?? document)
  const checkpoint = openCheckpoint(item, proof.note, state)
  const of = parseCheckpoint(need(proof.extra, 'no_checkpoint'))
  need(isIncluded(of.text, proof, checkpoint), 'not_included')
  need(checkpoint.log.company === null && of.log.installation === checkpoint.log.installation && of.log.company)
  for (const each of [checkpoint, of]) claimRoot(state, item, each)
}

/** That an event is in the tree of its ledger, as `GET /events/{revision}/proof` answers it. */
function readInclusion(item, { revision: index, hash, size, root, hashes, checkpoint: note }, state) {
  item.about = `revision ${index} size ${size}`
  const path = need(isCount(index) && isCount(size) && isHash(hash)) && hashes.map((each) => bytesOf(each, 32))
  need(isIncluded(Buffer.from(hash, 'hex'), { index, path }, { size, root }), 'not_included')
  const checkpoint = openCheckpoint(item, need(note, 'no_checkpoint'), state)
  need(checkpoint.size === size && checkpoint.root === root, 'other_root')
  claimRoot(state, item, checkpoint)
  claim(state, item, checkpoint.log, index, hash)
}

/** That one tree is the beginning of another: it binds two checkpoints, which have to be there. */
function readConsistency(item, { from, to, from_root, to_root, hashes }, { claims }) {
  item.about = `size ${from} to ${to}`
  const path = need(isCount(to) && from > 0 && from <= to) && hashes.map((each) => bytesOf(each, 32))
  const [old, now] = rootsOfProof(from, to, path, bytesOf(from_root, 32)).map((root) => root.toString('base64'))
  need(old === from_root && now === to_root, 'not_consistent')
  const originsAt = (size, root) =>
    claims.filter(({ key, value }) => key === `size ${size}` && value === root).map(({ log }) => log.origin)
  const bound = originsAt(to, to_root)
  const isBound = originsAt(from, from_root).some((origin) => bound.includes(origin))
  need(isBound, 'no_checkpoint')
}

/** In the order in which they are read: how their first line begins, and what reads the file (a log) or each document of it. */
const KINDS = {
  keys: { begins: /^\{"(vkey|log)":/, read: readKey },
  checkpoint: { begins: /^(tillbook\/|\{"note":|\{"data":\{"size":\d+,"root":)/, read: readCheckpoint },
  receipt: { begins: /^\{"version":1,"event":/, read: readReceipt },
  place: { begins: /^(c2sp\.org\/tlog-proof@v1$|\{"data":\{"size":\d+,"index":)/, read: readPlace },
  inclusion: { begins: /^(\{"data":)?\{"revision":\d+,"hash":/, read: readInclusion },
  consistency: { begins: /^(\{"data":)?\{"from":/, read: readConsistency },
  entries: { begins: /^\{"index":/, readLog: readEntries },
  export: { begins: /^\{"id":|^$/, readLog: readExport },
}

async function kindOf(path) {
  const { value: first = '' } = await linesOf(path).next()
  return Object.keys(KINDS).find((kind) => KINDS[kind].begins.test(first)) ?? 'unknown_format'
}

/** What a file holds beside logs: a text, or JSON documents, one or a list a line (undefined: malformed). */
async function* documentsOf(path) {
  const lines = []
  for await (const line of linesOf(path)) lines.push(line)
  if (!/^[{[]/.test(lines[0])) return yield `${lines.join('\n')}\n`
  for (const line of lines) {
    const [{ value }] = await Promise.allSettled([(async () => strictJson(line))()])
    yield* [value?.keys ?? value?.data ?? value].flat()
  }
}

// --- Verdicts
function reasonOf(error) {
  if (error instanceof Finding) return error.message
  if (error.path) return 'unreadable'
  if ([TypeError, RangeError, SyntaxError].some((each) => error instanceof each)) return 'malformed'
  throw error
}

/** Of several reasons the first wrong one counts, else the first. */
async function judge(item, work) {
  const reason = await (async () => work())().then(() => null, reasonOf)
  if (gravityOf(reason) > gravityOf(item.reason)) item.reason = reason
}

/** Verifies files, with keys as parseVkey makes them (`name` null where it is not known). */
export async function verifyFiles(paths, keys) {
  const [given, witnesses] = [SIGNS, COSIGNS].map((type) => keys.filter((key) => key.type === type))
  const state = { given, witnesses, ring: [], claims: [], wanted: new Set(), newest: new Map(), logs: [] }
  const [files, items, seen] = [[], [], new Map()]
  for (const path of paths) files.push({ path, kind: await kindOf(path).catch(reasonOf) })
  const rank = ({ kind }) => Object.keys(KINDS).indexOf(kind)
  for (const { path, kind } of files.sort((a, b) => rank(a) - rank(b))) {
    const { read, readLog } = KINDS[kind] ?? { readLog: () => need(false, kind) }
    for await (const document of readLog ? [path] : documentsOf(path)) {
      const item = { verdict: null, kind, file: path, reason: null }
      items.push(item)
      await judge(item, () => (readLog ?? read)(item, document, state))
    }
  }
  for (const each of state.claims) {
    const place = `${each.log.origin} ${each.key}`
    await judge(each.item, () => need((seen.get(place) ?? each.value) === each.value, 'fork') && hold(each, state))
    seen.set(place, each.value)
  }
  for (const item of items) item.verdict = VERDICTS[gravityOf(item.reason)]
  const verdict = VERDICTS.findLast((each) => items.some((item) => item.verdict === each)) ?? 'undecided'
  const events = state.logs.reduce((sum, log) => sum + (log.stream ? log.revision + 1 - log.from : 0), 0)
  return { verdict, events, trusted_key: given.length > 0, items }
}

/** A vkey, or those of a file; of PEMs the names are not known. */
function keysOf(text) {
  const value = existsSync(text) ? readFileSync(text, 'utf8') : text
  const pems = value.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g)
  const raws = pems?.map((pem) => rawOf(createPublicKey(pem).export({ format: 'der', type: 'spki' })))
  need(raws || value.includes('+'), `--key ${text}: no such file, and no vkey`)
  return raws?.map((raw) => ({ name: null, type: SIGNS, raw })) ?? value.trim().split('\n').map(parseVkey)
}

async function main() {
  const options = { json: { type: 'boolean' }, key: { type: 'string', multiple: true, default: [] } }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  need(positionals.length > 0, 'node tillbook-verify.mjs [--json] [--key VKEY|FILE]… FILE…')
  const found = await verifyFiles(positionals, values.key.flatMap(keysOf))
  if (values.json) return console.log(JSON.stringify(found)) ?? found.verdict
  for (const { verdict, kind, file, about = '', reason, warning, witnesses = [] } of found.items)
    console.log([verdict.padEnd(9), kind, `${file}:`, about, reason, warning, ...witnesses].filter(Boolean).join(' '))
  if (!found.trusted_key) console.log('No key was given: whose signatures these are nobody knows.')
  console.log(`${found.verdict}: ${found.items.length} documents, ${found.events} events`)
  return found.verdict
}

const refuse = ({ message }) => console.error(message) ?? 'undecided'
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = { sound: 0, wrong: 1, undecided: 2 }[await main().catch(refuse)]
