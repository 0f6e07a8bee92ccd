#!/usr/bin/env node
/**
 * Verifies what Tillbook's operators, customers and witnesses hand out, without Tillbook: Node 20.12 or later is all it needs.
 * docs/proof.md specifies every format; this is one reading of it, to be read from top to bottom.
 *
 *   node tillbook-verify.mjs [--json] [--key VKEY|FILE]… FILE…
 *
 * FILE: exports, checkpoints, receipts, proofs, places, rings of keys, mappings, seals; which of them shows in their first line.
 * --key: a key that you trust, got in another way than the files (those of witnesses too): a vkey, a file of vkeys or PEMs.
 * Each thing is sound, wrong, or undecided where something is missing. Exit: 0 all sound, 1 anything wrong, 2 anything undecided.
 */
import { createHash, createPublicKey, hash, verify } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Reasons that leave a thing undecided; every other reason says what is wrong with it. */
const MISSING =
  /^(no_key|no_export|no_checkpoint|key_changed_without_signature|export_begins_later|after_fault|unknown_format|unreadable)$/
const VERDICTS = ['sound', 'undecided', 'wrong']
const verdictOf = (reason) => (reason === null ? 'sound' : MISSING.test(reason) ? 'undecided' : 'wrong')

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
  let text = ''
  for (const name of Object.keys(value).sort())
    text += `${text && ','}${JSON.stringify(name)}:${canonical(value[name])}`
  return `{${text}}`
}

/**
 * The value of a text that all readers of JSON read alike: no blanks between values, no member twice, numbers as the shortest
 * text of a double, no escapes but the needed ones, no half of a pair of surrogates.
 */
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
const leafHash = (data) => hash('sha256', Buffer.concat([LEAF, Buffer.from(data)]), 'buffer')
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
  if (from === size)
    return need(path.length === (known ? 0 : 1), 'not_consistent') && [known ?? path[0], known ?? path[0]]
  const [left, other, rest] = [leftOf(size), need(path.at(-1), 'not_consistent'), path.slice(0, -1)]
  if (from > left) return rootsOfProof(from - left, size - left, rest, null).map((hash) => nodeHash(other, hash))
  const [old, now] = rootsOfProof(from, left, rest, known)
  return [old, nodeHash(now, other)]
}

// --- Keys and signed notes (C2SP)

const [SIGNS, COSIGNS] = [1, 4]
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const keyIdOf = (name, type, raw) => sha256(`${name}\n`, Buffer.of(type), raw).toString('hex', 0, 4)

function isSigned(bytes, raw, signature) {
  const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })
  return signature.length === 64 && verify(null, Buffer.from(bytes), key, signature)
}

/** A key of `name+id+base64(type, key)`. */
export function parseVkey(vkey) {
  const [, name, id, coded] = need(/^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(vkey))
  const bytes = bytesOf(coded, 33)
  const key = { vkey, name, type: bytes[0], raw: bytes.subarray(1) }
  need([SIGNS, COSIGNS].includes(key.type) && keyIdOf(name, key.type, key.raw) === id)
  return key
}

/** Text and signatures of a note, nothing of it verified. */
function parseNote(note) {
  const end = note.lastIndexOf('\n\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note has none but line feeds.
  need(end >= 0 && note.endsWith('\n') && !/[\0-\x09\x0b-\x1f]/.test(note))
  const lines = note.slice(end + 2, -1).split('\n')
  const parts = lines.map((line) => need(/^— ([^\s+]+) (\S+)$/u.exec(line)))
  const signatures = parts.map(([, name, coded]) => ({ name, bytes: bytesOf(coded) }))
  return { text: note.slice(0, end + 1), signatures }
}

/** Signatures of a key under a name, without the four bytes of its id. */
const ofKey = (signatures, name, { type, raw }) =>
  signatures
    .filter((each) => each.name === name && each.bytes.toString('hex', 0, 4) === keyIdOf(name, type, raw))
    .map(({ bytes }) => bytes.subarray(4))

/** Which ledger an origin names, or an installation log (company null). A ledger that was written anew has another generation. */
function parseOrigin(origin) {
  const pattern =
    /^(tillbook\/[0-9a-f-]{36})(?:\/home-[a-z][a-z0-9-]{0,30}|\/company-([1-9]\d{0,14})(?:\/([2-9]|[1-9]\d+))?)?$/
  const [, installation, company, generation = '1'] = need(pattern.exec(origin))
  return { origin, installation, company: company ? Number(company) : null, generation: Number(generation) }
}

/** Three lines: origin, size, root. */
function parseCheckpoint(text) {
  const [origin, size, root, ...rest] = text.split('\n')
  need(rest.length === 1 && rest[0] === '' && bytesOf(root, 32))
  return { log: parseOrigin(origin), size: need(countOf(size)), root, text }
}

/** Opens a checkpoint's note: a key of the installation signed it under the name of its origin, and none that we know wrongly. */
function openCheckpoint(item, note, state) {
  const { text, signatures } = parseNote(note)
  const checkpoint = parseCheckpoint(text)
  const { origin, installation } = checkpoint.log
  item.about ??= `${origin} size ${checkpoint.size}`
  for (const key of state.witnesses) {
    for (const signature of ofKey(signatures, key.name, key)) {
      const seconds = need(signature.length === 72, 'wrong_cosignature') && signature.readBigUInt64BE()
      need(isSigned(`cosignature/v1\ntime ${seconds}\n${text}`, key.raw, signature.subarray(8)), 'wrong_cosignature')
      item.witnesses = [...(item.witnesses ?? []), `${key.name} ${new Date(Number(seconds) * 1000).toISOString()}`]
    }
  }
  const isOurs = ({ name }) => `${name ?? origin}/`.startsWith(`${installation}/`)
  const known = [...state.given, ...state.ring].filter(isOurs)
  const signers = known.filter((key) => {
    const own = ofKey(signatures, origin, key)
    for (const signature of own) need(isSigned(text, key.raw, signature), 'wrong_signature')
    return own.length > 0
  })
  need(known.length > 0, 'no_key')
  needTrusted(signers, state)
  return checkpoint
}

/** Keys of the ring are trusted that signatures join to a given one; where none was given, to the ring's first. */
function needTrusted(keys, { given, ring }) {
  const isGiven = (key) => given.some(({ raw }) => raw.equals(key.raw))
  const lines = given.length > 0 ? ring.filter(isGiven).map(({ line }) => line) : [0]
  const isJoined = (key) => isGiven(key) || lines.includes(key.line)
  need(keys.some(isGiven) || (keys.length > 0 && lines.length > 0), 'unknown_key')
  need(keys.some(isJoined), 'key_changed_without_signature')
}

/** As 0.1 signed: over the canonical JSON of all other members, by the key that it names; with no key of ours it is just whole. */
function needStatement({ signature, ...signed }, state) {
  const spki = bytesOf(signed.public_key, 44)
  const raw = need(SPKI.equals(spki.subarray(0, 12))) && spki.subarray(12)
  need(signed.stream === `company-${signed.company_id}` && signed.key_id === sha256(spki).toString('hex', 0, 8))
  need(isCount(signed.revision) && isSigned(canonical(signed), raw, bytesOf(signature)), 'wrong_signature')
  const known = [...state.given, ...state.ring]
  const own = known.filter((key) => key.raw.equals(raw))
  if (known.length > 0) needTrusted(own, state)
}

// --- Logs: of an export, a mapping, the installation

const MEMBERS =
  'actor,data,hash,id,idempotency,origin,previous_hash,recorded_at,request_id,revision,stream,subject,type,version'

function asEvent(event) {
  const { hash, previous_hash, recorded_at, revision } = event
  need(Object.keys(event).sort().join() === MEMBERS && isHash(hash) && isHash(previous_hash) && isCount(revision))
  need(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(recorded_at))
  return event
}

const isItsHash = ({ hash: own, ...event }) => hash('sha256', canonical(event)) === own

/**
 * A log that is being read. Of its tree it keeps the roots of the complete subtrees that it is made of, the largest first; of its
 * roots and hashes those that claims ask for.
 */
function createLog(state, of) {
  const wanted = new Set(state.claims.filter(({ log }) => log.company === of.company).map(({ key }) => key))
  const log = { from: 0, revision: -1, hash: '0'.repeat(64), recordedAt: '', fault: null, kept: new Map(), ...of }
  const [peaks, begin] = [[], log.from]
  const root = () => peaks.reduceRight((right, left) => nodeHash(left, right))
  const keep = () => {
    if (wanted.has(log.revision)) log.kept.set(log.revision, log.hash)
    const key = `size ${log.revision + 1}`
    if (begin === 0 && peaks.length > 0 && wanted.has(key)) log.kept.set(key, root().toString('base64'))
  }
  log.append = (data, at) => {
    let hash = leafHash(data)
    for (let n = log.revision + 1 - begin; n % 2 === 1; n = (n - 1) / 2) hash = nodeHash(peaks.pop(), hash)
    peaks.push(hash)
    Object.assign(log, at)
    keep()
  }
  keep()
  return log
}

/** Walks an export: computes every hash again, follows the chain, grows the tree; up to the first fault. */
async function walkExport(item, path, state) {
  let log = null
  try {
    for await (const line of linesOf(path)) {
      const event = asEvent(strictJson(line))
      const { stream, revision, previous_hash, hash, recorded_at: recordedAt } = event
      const before = revision > 0 && { from: revision, revision: revision - 1, hash: previous_hash }
      log ??= createLog(state, { stream, company: countOf(stream.replace(/^company-/, '')), ...before })
      need(stream === log.stream, 'wrong_stream')
      need(revision === log.revision + 1, 'wrong_revision')
      need(isItsHash(event), 'wrong_hash')
      need(previous_hash === log.hash, 'broken_chain')
      need(recordedAt >= log.recordedAt || event.type === 'CompanyClockCorrected', 'time_goes_back')
      log.append(Buffer.from(hash, 'hex'), { revision, hash, recordedAt })
    }
  } catch (error) {
    log = Object.assign(log ?? createLog(state, { company: 0 }), { fault: reasonOf(error) })
  }
  log ??= createLog(state, { company: 0 })
  const { stream = 'empty', from, revision, hash, fault } = log
  Object.assign(item, { about: `${stream} revisions ${from} to ${revision}`, from, revision, hash })
  state.logs.push(log)
  if (fault) item.about += `, then`
  need(fault === null, fault)
}

/** The hashes of a ledger before it was written anew, and in the last line the signed statement of what became of it. */
async function walkMapping(item, path, state) {
  const [digest, hashes] = [createHash('sha256'), []]
  let statement = null
  for await (const line of linesOf(path)) {
    need(statement === null)
    if (line.startsWith('{')) statement = strictJson(line)
    else digest.update(`${line}\n`) && hashes.push(need(isHash(line)) && Buffer.from(line, 'hex'))
  }
  const { company_id: company, revision, old_hash, new_hash, old_hashes_sha256 } = need(statement)
  item.about = `company-${company} revision ${revision}`
  needStatement(statement, state)
  need(hashes.length === revision + 1 && digest.digest('hex') === old_hashes_sha256, 'other_hash')
  const oldAt = (at) => hashes[at]?.toString('hex')
  need(oldAt(revision) === old_hash, 'other_hash')
  const log = createLog(state, { company, generation: 1, oldAt })
  for (const [at, old] of hashes.entries()) log.append(old, { revision: at, hash: oldAt(at) })
  state.logs.push(log)
  claimHash(state, item, { company, generation: 2 }, revision, new_hash, true)
}

/** The installation log: an entry is the text of a company's checkpoint. */
async function walkEntries(item, path, state) {
  const log = createLog(state, { company: null })
  for await (const line of linesOf(path)) {
    const { index, company_id, size, text } = strictJson(line)
    const entry = parseCheckpoint(text)
    need(index === log.revision + 1 && company_id === entry.log.company && size === entry.size)
    log.append(Buffer.from(text), { revision: index })
    claimRoot(state, item, entry)
  }
  item.about = `entries 0 to ${log.revision}`
  state.logs.push(log)
}

// --- Documents, and what they claim of logs: the root that one has at a size, or the hash that it has at a revision

function claimHash({ claims, newest }, item, log, key, value, isOptional = false) {
  newest.set(log.company, Math.max(newest.get(log.company) ?? 1, log.generation ?? 1))
  claims.push({ item, log, key, value, isOptional })
}
const claimRoot = (state, item, { log, size, root }) => claimHash(state, item, log, `size ${size}`, root)

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

const READERS = {
  /** An entry of the ring is a note that its key signs and, unless it says otherwise, the key before it too. */
  keys(item, { vkey, public_key, since, note }, { ring }) {
    item.about = vkey
    if (ring.some((each) => each.note === note)) return
    const [key, former, { text, signatures }] = [parseVkey(vkey), ring.at(-1), parseNote(note)]
    const [name, index, said, time, how, ...before] = text.slice(0, -1).split('\n')
    const [, succession, why] = need(/^(first|signed|unsigned)(?: (.+))?$/.exec(how))
    need(/^tillbook\/[0-9a-f-]{36}\/keys$/.test(name) && key.name === name && said === vkey && time === since)
    need(index === String(ring.length) && public_key === Buffer.concat([SPKI, key.raw]).toString('base64'))
    need(former ? succession !== 'first' && before.join() === former.vkey : succession !== 'signed')
    for (const signer of succession === 'signed' ? [key, former] : [key]) {
      const [signature] = ofKey(signatures, name, signer)
      need(signature && isSigned(text, signer.raw, signature), 'wrong_signature')
    }
    if (why) item.warning = `key_changed_without_signature: ${why}`
    ring.push({ ...key, note, line: succession === 'signed' ? former.line : ring.length })
  },
  seal(item, seal, state) {
    const { company_id: company, revision, hash } = seal
    item.about = `company-${company} revision ${revision}`
    needStatement(seal, state)
    claimHash(state, item, { company }, revision, hash)
  },
  checkpoint(item, document, state) {
    claimRoot(state, item, openCheckpoint(item, document.note ?? document, state))
  },
  /** The event of a sale, and of its cancellation, and that they are in the tree of their ledger. */
  receipt(item, { version, cancellation, place, ...sale }, state) {
    need(version === 1)
    for (const { event, proof: text } of cancellation ? [sale, cancellation] : [sale]) {
      const { stream, revision, subject, hash } = asEvent(event)
      item.about = [...(item.about ? [item.about] : []), `${subject} ${stream} revision ${revision}`].join(', ')
      need(isItsHash(event), 'wrong_hash')
      const proof = parseProof(text)
      const checkpoint = openCheckpoint(item, proof.note, state)
      need(stream === `company-${checkpoint.log.company}` && revision === proof.index, 'not_included')
      need(subject === sale.event.subject && isIncluded(Buffer.from(hash, 'hex'), proof, checkpoint), 'not_included')
      claimRoot(state, item, checkpoint)
      claimHash(state, item, checkpoint.log, revision, hash)
    }
    if (place !== undefined) READERS.place(item, place, state)
  },
  /** That an entry, the text of a company's checkpoint, is in the installation log. */
  place(item, document, state) {
    const proof = parseProof(document.proof ?? document)
    const checkpoint = openCheckpoint(item, proof.note, state)
    const of = parseCheckpoint(need(proof.extra, 'no_checkpoint'))
    need(isIncluded(of.text, proof, checkpoint), 'not_included')
    need(checkpoint.log.company === null && of.log.installation === checkpoint.log.installation && of.log.company)
    for (const each of [checkpoint, of]) claimRoot(state, item, each)
  },
  /** That one tree is the beginning of another: it binds two checkpoints, which have to be there. */
  consistency(item, { from, to, from_root, to_root, hashes }, { claims }) {
    item.about = `size ${from} to ${to}`
    const path = need(isCount(to) && from > 0 && from <= to) && hashes.map((each) => bytesOf(each, 32))
    const [old, now] = rootsOfProof(from, to, path, bytesOf(from_root, 32)).map((root) => root.toString('base64'))
    need(old === from_root && now === to_root, 'not_consistent')
    const originsAt = (size, root) =>
      claims.filter(({ key, value }) => key === `size ${size}` && value === root).map(({ log }) => log.origin)
    const bound = originsAt(to, to_root)
    const isBound = originsAt(from, from_root).some((origin) => bound.includes(origin))
    need(isBound, 'no_checkpoint')
  },
  entries: walkEntries,
  mapping: walkMapping,
  export: walkExport,
}

// --- Verdicts

/** In the order in which they are read, by their first line. */
const KINDS = {
  keys: /^\{"(vkey|log)":/,
  seal: /^\[?\{"version":1,"company_id":/,
  checkpoint: /^(tillbook\/|\{"note":|\{"data":\{"size":\d+,"root":)/,
  receipt: /^\{"version":1,"event":/,
  place: /^(c2sp\.org\/tlog-proof@v1$|\{"data":\{"size":\d+,"index":)/,
  consistency: /^(\{"data":)?\{"from":/,
  entries: /^\{"index":/,
  mapping: /^[0-9a-f]{64}$/,
  export: /^\{"id":|^$/,
}

/**
 * Holds a claim against the logs of its ledger. A mapping stands for the ledger before it was written anew (generation 1); an
 * export is of then if it has that one's hashes, else of the newest generation that anything claims.
 */
function hold({ log: { company, generation }, key, value, isOptional }, { logs, newest }) {
  const own = logs.filter((log) => log.company === company)
  const oldAt = own.find((log) => log.oldAt)?.oldAt ?? (() => null)
  const generationOf = (log) => log.generation ?? (oldAt(log.revision) === log.hash ? 1 : newest.get(company))
  const wanted = generation ?? (oldAt(key) === value ? 1 : newest.get(company))
  const held = own.filter((log) => company === null || generationOf(log) === wanted)
  const isThereAny = logs.some((log) => !log.oldAt && (log.company === null) === (company === null))
  need(held.length > 0 || !isThereAny || isOptional, 'no_export')
  for (const { kept, from, fault } of held) {
    need(typeof key === 'number' ? key >= from - 1 : from === 0, 'export_begins_later')
    need(kept.has(key), fault ? 'after_fault' : 'truncated')
    need(kept.get(key) === value, typeof key === 'number' ? 'other_hash' : 'other_root')
  }
}

function reasonOf(error) {
  if (error instanceof Finding) return error.message
  if (error.path) return 'unreadable'
  if ([TypeError, RangeError, SyntaxError].some((each) => error instanceof each)) return 'malformed'
  throw error
}

async function kindOf(path) {
  const { value: first = '' } = await linesOf(path).next()
  return Object.keys(KINDS).find((kind) => KINDS[kind].test(first)) ?? 'unknown_format'
}

/** What a file holds: itself, where it is a log; a text, or JSON documents, one or a list a line. */
async function* documentsOf(path, kind) {
  if (!READERS[kind] || [walkEntries, walkMapping, walkExport].includes(READERS[kind])) return yield path
  const lines = []
  for await (const line of linesOf(path)) lines.push(line)
  if (!/^[{[]/.test(lines[0])) return yield `${lines.join('\n')}\n`
  for (const line of lines) {
    const [value] = await Promise.allSettled([(async () => strictJson(line))()])
    yield* [value.value?.keys ?? value.value?.data ?? value.value].flat()
  }
}

/** Verifies files, with keys as parseVkey makes them (`name` null where it is not known). */
export async function verifyFiles(paths, keys) {
  const [given, witnesses] = [SIGNS, COSIGNS].map((type) => keys.filter((key) => key.type === type))
  const state = { given, witnesses, ring: [], claims: [], newest: new Map(), logs: [] }
  const [items, seen] = [[], new Map()]
  const attempt = async (item, work) => {
    const reason = await (async () => work())().then(() => null, reasonOf)
    if (VERDICTS.indexOf(verdictOf(reason)) > VERDICTS.indexOf(verdictOf(item.reason))) item.reason = reason
  }
  const files = []
  for (const path of paths) files.push({ path, kind: await kindOf(path).catch(reasonOf) })
  const rank = ({ kind }) => Object.keys(KINDS).indexOf(kind)
  for (const { path, kind } of files.sort((a, b) => rank(a) - rank(b))) {
    for await (const document of documentsOf(path, kind)) {
      items.push({ verdict: null, kind, file: path, reason: null })
      await attempt(items.at(-1), () => need(READERS[kind], kind)(items.at(-1), document, state))
    }
  }
  for (const claim of state.claims) {
    const place = `${claim.log.origin ?? claim.item.file} ${claim.key}`
    await attempt(claim.item, () => need((seen.get(place) ?? claim.value) === claim.value, 'fork'))
    await attempt(claim.item, () => hold(claim, state))
    seen.set(place, claim.value)
  }
  for (const item of items) item.verdict = verdictOf(item.reason)
  const verdict = VERDICTS.findLast((each) => items.some((item) => item.verdict === each)) ?? 'undecided'
  const events = state.logs.reduce((sum, log) => sum + (log.stream ? log.revision + 1 - log.from : 0), 0)
  return { verdict, events, trusted_key: given.length > 0, items }
}

/** A vkey, or those of a file; of PEMs the names are not known. */
function keysOf(text) {
  const value = existsSync(text) ? readFileSync(text, 'utf8') : text
  const pems = value.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g)
  const spkis = pems?.map((pem) => createPublicKey(pem).export({ format: 'der', type: 'spki' }))
  const raws = spkis?.map((spki) => need(SPKI.equals(spki.subarray(0, 12))) && spki.subarray(12))
  return raws?.map((raw) => ({ name: null, type: SIGNS, raw })) ?? value.trim().split('\n').map(parseVkey)
}

const refuse = ({ message }) => console.error(message) ?? 'undecided'

async function main() {
  const options = { json: { type: 'boolean' }, key: { type: 'string', multiple: true, default: [] } }
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const found = await verifyFiles(positionals, values.key.flatMap(keysOf))
  if (values.json) return console.log(JSON.stringify(found)) ?? found.verdict
  for (const { verdict, kind, file, about = '', reason, warning, witnesses = [] } of found.items)
    console.log([verdict.padEnd(9), kind, `${file}:`, about, reason, warning, ...witnesses].filter(Boolean).join(' '))
  if (!found.trusted_key) console.log('No key was given: whose signatures these are nobody knows.')
  console.log(`${found.verdict}: ${found.items.length} documents, ${found.events} events`)
  return found.verdict
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = { sound: 0, wrong: 1, undecided: 2 }[await main().catch(refuse)]
