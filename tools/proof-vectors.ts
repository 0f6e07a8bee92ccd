import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { computeRoot, consistencyProof, type Hashes, inclusionProof, leafHash, nodeHash } from '#integrity/merkle.ts'
import {
  COSIGNATURE,
  companyOrigin,
  cosignatureLine,
  formatCheckpoint,
  formatVkey,
  installationOrigin,
  proofText,
  signNote,
  verifierKey,
} from '#integrity/note.ts'
import { canonicalJson, type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import { PROOF_CASES } from './proof-cases.ts'

/** What verifiers are tried with (docs/proof.md): files by name, made of fixed keys and events, and what each case has to find. */
export interface ProofVectors {
  readonly files: Readonly<Record<string, string>>
  readonly cases: readonly Case[]
}

/** Files are given in any order; `found` is the reason of each file's first thing that is not sound. */
export interface Case {
  readonly title: string
  readonly keys: readonly string[]
  readonly files: readonly string[]
  readonly verdict: 'sound' | 'wrong' | 'undecided'
  readonly found: Readonly<Record<string, string>>
}

const INSTALLATION = '0190b2c4-1111-7000-8000-000000000001'
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const COMPANY = 1

/** The private key of a seed of 32 equal bytes. */
const keyOf = (byte: number): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.alloc(32, byte)]), format: 'der', type: 'pkcs8' })
const spkiOf = (key: KeyObject) => createPublicKey(key).export({ format: 'der', type: 'spki' })
const publicOf = (key: KeyObject) => spkiOf(key).toString('base64')

const [FIRST, SECOND, WITNESS, STRANGER] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)]
const WITNESS_NAME = 'witness.example/w1'
const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** A tree over leaf data, kept whole. */
function treeOf(leaves: readonly Buffer[]): Hashes {
  const hash = (level: number, index: number): Buffer =>
    level === 0
      ? leafHash(leaves[index] as Buffer)
      : nodeHash(hash(level - 1, 2 * index), hash(level - 1, 2 * index + 1))
  return { hash }
}

/** Texts that are escaped in some way, numbers of every form, and members whose order is that of UTF-16. */
const DATA: readonly object[] = [
  { id: 1, name: { sealed: 'AAAA' } },
  { id: 2, text: 'São "João" \\ / \b\f\n\r\t\u000f\u007f\u2028 😀' },
  { total_cents: 12_000, rate: 0.1, tiny: 1e-7, huge: 1e21, whole: 1e20, below: -1.5, zero: 0 },
  { '\ufb33': 1, '😀': 2, '\u20ac': 3, b: { z: [true, false, null, []], a: {} }, a: '' },
  { id: 3, items: [{ sku: 'A', quantity: '1.500' }] },
  { id: 3, reason: 'Cliente desistiu' },
  { id: 4 },
]

/** The events of a company's ledger; `mark` tells one ledger from another. */
function ledgerOf(companyId: number, data: readonly object[]): Envelope[] {
  let previous = GENESIS_HASH
  return data.map((each, revision) => {
    const clock = revision === 5 ? 3 : revision
    const head = {
      id: `0190b2c4-0000-7000-8000-00000000000${revision}`,
      type: revision === 5 ? 'CompanyClockCorrected' : 'SaleCompleted',
      version: 1,
      stream: streamName(companyId),
      revision,
      recorded_at: `2026-11-21T12:00:0${clock}.000Z`,
      subject: `sale/${revision + 1}`,
      origin: 'api' as const,
      actor: revision === 0 ? null : 'api_key/1',
      request_id: null,
      idempotency: revision === 1 ? { key: 'k-1', request_hash: 'ab', status: 201 } : null,
      previous_hash: previous,
    }
    previous = hashEnvelope({ ...head, data: each })
    return { ...head, hash: previous, data: each }
  })
}

const exportOf = (events: readonly Envelope[]) => events.map(jsonLine).join('')
const leavesOf = (events: readonly Envelope[]) => events.map(({ hash }) => Buffer.from(hash, 'hex'))

function checkpointText(leaves: readonly Buffer[], size: number, origin: string): string {
  return formatCheckpoint({ origin, size, root: computeRoot(treeOf(leaves), size) })
}

const signed = (text: string, key: KeyObject): string =>
  signNote(text, [{ name: text.slice(0, text.indexOf('\n')), privateKey: key }])

/** An entry of a ring of keys. */
function ringEntry(
  index: number,
  key: KeyObject,
  how: string,
  former: KeyObject | null,
  signers = former && how === 'signed' ? [former, key] : [key],
): string {
  const name = `tillbook/${INSTALLATION}/keys`
  const vkeyIn = (each: KeyObject) => formatVkey(verifierKey(name, publicOf(each)))
  const since = `2026-11-2${index}T00:00:00.000Z`
  const lines = [name, index, vkeyIn(key), since, how, ...(former ? [vkeyIn(former)] : [])]
  const text = lines.map((line) => `${line}\n`).join('')
  const note = signNote(
    text,
    signers.map((privateKey) => ({ name, privateKey })),
  )
  const signed_by = how === 'signed' && former ? idOf(former) : null
  return jsonLine({ vkey: vkeyIn(key), public_key: publicOf(key), since, signed_by, note })
}

const idOf = (key: KeyObject) => createHash('sha256').update(spkiOf(key)).digest('hex').slice(0, 16)

/** What a restore has lost: the same events but for the fourth. */
const LOST = ledgerOf(COMPANY, DATA.with(3, { id: 9 }).slice(0, 4))
const EVENTS = ledgerOf(COMPANY, DATA)
/** Made by whoever has the database: another amount, and all hashes chained anew. */
const FORGED = ledgerOf(COMPANY, DATA.with(2, { total_cents: 2_000 }))

/** What was honestly made. */
function soundFiles() {
  const origin = companyOrigin(INSTALLATION, COMPANY)
  const leaves = leavesOf(EVENTS)
  const texts = [checkpointText(leaves, 4, origin), checkpointText(leaves, 7, origin)] as const
  const checkpoints = [signed(texts[0], FIRST), signed(texts[1], SECOND)] as const
  const entries = [texts[0], checkpointText(leavesOf(ledgerOf(2, DATA)), 3, companyOrigin(INSTALLATION, 2)), texts[1]]
  const entryLeaves = entries.map((text) => Buffer.from(text))
  const log = checkpointText(entryLeaves, 3, installationOrigin({ installationId: INSTALLATION, cell: 0 }))
  const witnessed =
    signed(log, SECOND) + cosignatureLine(log, { name: WITNESS_NAME, privateKey: WITNESS }, 1_795_262_400)
  const tree = treeOf(leaves)
  const place = proofText({
    index: 2,
    hashes: inclusionProof(treeOf(entryLeaves), 2, 3),
    checkpoint: witnessed,
    extra: Buffer.from(texts[1]),
  })
  const receipt = (revision: number) =>
    jsonLine({
      version: 1,
      event: EVENTS[revision],
      proof: proofText({ index: revision, hashes: inclusionProof(tree, revision, 7), checkpoint: checkpoints[1] }),
    })
  const inclusion = (revision: number, size: number, checkpoint: string | null) =>
    jsonLine({
      data: {
        revision,
        hash: EVENTS[revision]?.hash,
        size,
        root: computeRoot(tree, size).toString('base64'),
        hashes: inclusionProof(tree, revision, size).map((hash) => hash.toString('base64')),
        checkpoint,
      },
    })
  const [old, now] = [computeRoot(tree, 4), computeRoot(tree, 7)].map((root) => root.toString('base64'))
  const hashes = consistencyProof(tree, 4, 7).map((hash) => hash.toString('base64'))
  return {
    'keys.jsonl': ringEntry(0, FIRST, 'first', null) + ringEntry(1, SECOND, 'signed', FIRST),
    'export.jsonl': exportOf(EVENTS),
    'export-from-5.jsonl': exportOf(EVENTS.slice(5)),
    'checkpoint-4.note': checkpoints[0],
    'checkpoint-7.note': checkpoints[1],
    'company-1.checkpoints': checkpoints
      .map((note) => jsonLine({ note, made_at: '2026-11-21T15:00:00.000Z' }))
      .join(''),
    'receipt-2.json': receipt(2),
    'receipt-6.json': receipt(6),
    'inclusion.json': inclusion(2, 7, checkpoints[1]),
    'inclusion-unsigned.json': inclusion(2, 6, null),
    'inclusion-of-another.json': inclusion(2, 6, checkpoints[1]),
    'consistency.json': jsonLine({ from: 4, to: 7, from_root: old, to_root: now, hashes }),
    'installation.note': witnessed,
    'installation.entries': entries
      .map((text, index) =>
        jsonLine({ index, company_id: index === 1 ? 2 : 1, size: Number(text.split('\n')[1]), text }),
      )
      .join(''),
    'place.tlog-proof': place,
    'checkpoint-lost-4.note': signed(checkpointText(leavesOf(LOST), 4, origin), FIRST),
    'checkpoint-since-7.note': signed(checkpointText(leaves, 7, companyOrigin(INSTALLATION, COMPANY, 2)), SECOND),
  }
}

/** What a forger makes, or an accident. */
function wrongFiles(sound: ReturnType<typeof soundFiles>) {
  const origin = companyOrigin(INSTALLATION, COMPANY)
  const lines = sound['export.jsonl'].split('\n')
  const forged = leavesOf(FORGED)
  const receipt = JSON.parse(sound['receipt-2.json'])
  return {
    'keys-replaced.jsonl': ringEntry(0, STRANGER, 'first', null),
    'keys-lost.jsonl': ringEntry(0, FIRST, 'first', null) + ringEntry(1, SECOND, 'unsigned the disk was lost', FIRST),
    'keys-altered.jsonl': sound['keys.jsonl'].replace('"since":"2026', '"since":"2025'),
    'keys-unsigned.jsonl': ringEntry(0, FIRST, 'first', null) + ringEntry(1, SECOND, 'signed', FIRST, [SECOND]),
    'export-forged.jsonl': exportOf(FORGED),
    'export-forged-from-5.jsonl': exportOf(FORGED.slice(5)),
    'export-altered.jsonl': sound['export.jsonl'].replace('12000', '2000'),
    'export-short.jsonl': lines.slice(0, 6).join('\n').concat('\n'),
    'export-reordered.jsonl': lines
      .with(2, lines[3] as string)
      .with(3, lines[2] as string)
      .join('\n'),
    'export-twice.jsonl': sound['export.jsonl'].replace('"version":1,', '"version":1,"version":1,'),
    'checkpoint-forged.note': signed(checkpointText(forged, 7, origin), SECOND),
    'checkpoint-stranger.note': signed(checkpointText(forged, 7, origin), STRANGER),
    'checkpoint-altered.note': sound['checkpoint-7.note'].replace('\n7\n', '\n8\n'),
    'installation-cosigned-wrongly.note':
      signed(sound['installation.note'].split('\n\n')[0]?.concat('\n') ?? '', SECOND) +
      cosignatureLine('another\n', { name: WITNESS_NAME, privateKey: WITNESS }, 1_795_262_400),
    'place-altered.tlog-proof': sound['place.tlog-proof'].replace('index 2', 'index 1'),
    'receipt-altered.json': jsonLine({ ...receipt, event: { ...receipt.event, data: { total_cents: 2_000 } } }),
    'receipt-forged.json': jsonLine({ ...receipt, event: FORGED[2] }),
    'inclusion-forged.json': sound['inclusion.json'].replace('"revision":2', '"revision":3'),
    'consistency-forged.json': sound['consistency.json'].replace('"from":4', '"from":5'),
  }
}

export function proofVectors(): ProofVectors {
  const sound = soundFiles()
  const signer = (key: KeyObject) => formatVkey(verifierKey(`tillbook/${INSTALLATION}`, publicOf(key)))
  const witness = formatVkey(verifierKey(WITNESS_NAME, publicOf(WITNESS), COSIGNATURE))
  const vkeys = { first: signer(FIRST), second: signer(SECOND), witness }
  const cases = PROOF_CASES.map(({ title, keys = ['first'], files, found = {} }) => {
    const reasons = Object.values(found)
    const isMissing = (reason: string) => UNDECIDED.includes(reason)
    const verdict = reasons.length === 0 ? 'sound' : reasons.every(isMissing) ? 'undecided' : 'wrong'
    return { title, keys: keys.map((name) => vkeys[name]), files, verdict, found } as const
  })
  return { files: { ...sound, ...wrongFiles(sound) }, cases }
}

/** Reasons that leave a thing undecided. */
const UNDECIDED = [
  'no_key',
  'no_export',
  'no_checkpoint',
  'key_changed_without_signature',
  'export_begins_later',
  'after_fault',
]

export const verifierAsMarkdown = (file: Uint8Array): string =>
  `\n    ${createHash('sha256').update(file).digest('hex')}  tillbook-verify.mjs\n\n`

/** The formats, each once, as docs/proof.md shows them. */
export function vectorsAsMarkdown({ files, cases }: ProofVectors): string {
  const blocks: [about: string, text: string][] = [
    ['an event, revision 1', files['export.jsonl']?.split('\n')[1] ?? ''],
    ['its canonical JSON without `hash`', canonicalWithoutHash(EVENTS[1] as Envelope)],
    ['roots of its ledger’s tree, sizes 1 to 7', leavesOf(EVENTS).map(rootLine).join('\n')],
    [
      'a vkey of the operator, and one of a witness',
      cases.flatMap(({ keys }) => (keys.length === 2 ? [keys] : []))[0]?.join('\n') ?? '',
    ],
    ['a checkpoint of the installation log, cosigned', files['installation.note'] ?? ''],
    ['a place', files['place.tlog-proof'] ?? ''],
    ['a receipt', files['receipt-6.json'] ?? ''],
    ['a consistency proof', files['consistency.json'] ?? ''],
    ['an entry of the ring, which the key before has signed', files['keys.jsonl']?.split('\n')[1] ?? ''],
  ]
  return blocks
    .map(([about, text]) => `\n${about}:\n\n${text.trimEnd().replace(/^(?=.)/gm, '    ')}\n`)
    .join('')
    .concat('\n')
}

function canonicalWithoutHash({ hash: _, ...event }: Envelope): string {
  return canonicalJson(event)
}

const rootLine = (_leaf: Buffer, at: number, leaves: readonly Buffer[]): string =>
  computeRoot(treeOf(leaves), at + 1).toString('base64')
