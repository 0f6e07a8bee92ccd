import { createPrivateKey, createPublicKey } from 'node:crypto'
import { createRingEntry, toRingVkey } from '#integrity/checkpoint-keys.ts'
import { appenderFrom, inclusionProof, leafHash, nodeHash } from '#integrity/merkle.ts'
import {
  type Checkpoint,
  companyOrigin,
  cosignatureLine,
  formatCheckpoint,
  hashPublicKey,
  installationOrigin,
  proofText,
  type SigningKey,
  signNote,
} from '#integrity/note.ts'
import { type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'

const INSTALLATION = '0190b2c4-2222-7000-8000-000000000002'
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const START_MS = Date.parse('2026-03-10T15:00:00.000Z')
const SINCE = '2026-03-10T15:00:00.000Z'

/** Key from a seed of 32 equal bytes. */
export function signingKey(byte: number): SigningKey {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, Buffer.alloc(32, byte)]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64')
  return { keyId: hashPublicKey(publicKey), publicKey, privateKey }
}

export const KEYS = [signingKey(11), signingKey(12)] as const
export const THIEF = signingKey(13)
export const WITNESS = { name: 'witness.example/w', privateKey: signingKey(14).privateKey }
export const FIRST_VKEY = toRingVkey(INSTALLATION, KEYS[0].publicKey)

/** Copy that an attestor may keep of the first `size` events of a company. */
export interface Kept {
  readonly name: string
  readonly text: string
  readonly covers: { readonly company: number; readonly size: number }
  /** Input of `ledger verify` in its place. */
  readonly head?: Checkpoint
  readonly anchor?: { readonly revision: number; readonly hash: string }
}

/** Installation after some rounds of regular operation. */
export interface World {
  readonly ledgers: readonly (readonly Envelope[])[]
  readonly ring: string
  readonly entries: string
  readonly documents: readonly Kept[]
}

export interface Plan {
  /** Final number of events by company. */
  readonly lengths: readonly number[]
  readonly rounds: number
  /** The key is rotated after this round; never if there are fewer rounds. */
  readonly turnsAfter: number
}

const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Next event with this data, sealed like that of the writer. */
export function eventAfter(previous: Envelope | undefined, company: number, data: object, id = ''): Envelope {
  const revision = (previous?.revision ?? -1) + 1
  const head = {
    id: `${company}-${revision}${id}`,
    type: 'SaleCompleted',
    version: 1,
    stream: streamName(company),
    revision,
    recorded_at: new Date(START_MS + revision).toISOString(),
    subject: `sale/${revision}`,
    origin: 'api' as const,
    actor: null,
    request_id: null,
    idempotency: null,
    previous_hash: previous?.hash ?? GENESIS_HASH,
  }
  return { ...head, hash: hashEnvelope({ ...head, data }), data }
}

export function ledgerOf(company: number, data: readonly object[]): Envelope[] {
  const events: Envelope[] = []
  for (const each of data) events.push(eventAfter(events.at(-1), company, each))
  return events
}

const leavesOf = (events: readonly Envelope[]) => events.map(({ hash }) => Buffer.from(hash, 'hex'))

export function checkpointOf(origin: string, leaves: readonly Buffer[]): Checkpoint {
  const appender = appenderFrom()
  for (const leaf of leaves) appender.append(leafHash(leaf))
  return { origin, size: leaves.length, root: appender.root() }
}

export const signCheckpoint = (checkpoint: Checkpoint, { privateKey }: SigningKey): string =>
  signNote(formatCheckpoint(checkpoint), [{ name: checkpoint.origin, privateKey }])

export const ledgerOrigin = (company: number): string => companyOrigin(INSTALLATION, company)

/** Complete subtrees over leaves, for proofs. */
function treeOf(leaves: readonly Buffer[]) {
  const hash = (level: number, index: number): Buffer =>
    level === 0
      ? leafHash(leaves[index] as Buffer)
      : nodeHash(hash(level - 1, 2 * index), hash(level - 1, 2 * index + 1))
  return { hash }
}

export const ringOf = (keys: readonly SigningKey[]): string =>
  keys
    .map((key, index) => {
      const former = keys[index - 1] ?? null
      const before = former ? [toRingVkey(INSTALLATION, former.publicKey)] : []
      const how = { succession: former ? ('signed' as const) : ('first' as const), reason: '', before }
      return jsonLine(createRingEntry(INSTALLATION, key, { index, since: SINCE, ...how }, former))
    })
    .join('')

/** Runs an installation: in each round ledgers grow, checkpoints are created, and added to the installation log. */
export function runWorld({ lengths, rounds, turnsAfter }: Plan): World {
  const ledgers = lengths.map((length, at) =>
    ledgerOf(
      at + 1,
      Array.from({ length }, (_, n) => ({ id: n, total: `${n}.00`, notes: 'São "João"' })),
    ),
  )
  const documents: Kept[] = []
  const texts: string[] = []
  let entries = ''
  for (let round = 1; round <= rounds; round++) {
    const key = KEYS[round > turnsAfter ? 1 : 0]
    const made = ledgers.flatMap((events, at) => {
      const size = Math.ceil((events.length * round) / rounds)
      return size > 0 ? [{ company: at + 1, events: events.slice(0, size) }] : []
    })
    for (const { company, events } of made) {
      const head = checkpointOf(ledgerOrigin(company), leavesOf(events))
      const note = signCheckpoint(head, key)
      const covers = { company, size: head.size }
      const at = `${company}-${round}`
      const event = events[(round * 7) % events.length] as Envelope
      const hashes = inclusionProof(treeOf(leavesOf(events)), event.revision, head.size)
      const proof = proofText({ index: event.revision, hashes, checkpoint: note })
      documents.push({ name: `checkpoint-${at}`, text: note, covers, head })
      documents.push({
        name: `receipt-${at}`,
        text: jsonLine({ version: 1, event, proof }),
        covers,
        head,
        anchor: event,
      })
      entries += jsonLine({ index: texts.length, company_id: company, size: head.size, text: formatCheckpoint(head) })
      texts.push(formatCheckpoint(head))
    }
    documents.push(
      ...placesOf(
        texts,
        made.map(({ company }) => company),
        key,
        round,
      ),
    )
  }
  const ring = ringOf(rounds > turnsAfter ? KEYS : [KEYS[0]])
  return { ledgers, ring, entries, documents }
}

/** Positions of the last entries in a cosigned checkpoint of the installation log. */
function placesOf(texts: readonly string[], companies: readonly number[], key: SigningKey, round: number): Kept[] {
  const leaves = texts.map((text) => Buffer.from(text))
  const log = checkpointOf(installationOrigin({ installationId: INSTALLATION, cell: 0 }), leaves)
  const checkpoint = signCheckpoint(log, key) + cosignatureLine(formatCheckpoint(log), WITNESS, round)
  return companies.map((company, at) => {
    const index = texts.length - companies.length + at
    const extra = texts[index] as string
    const [, size = '', root = ''] = extra.split('\n')
    const head = { origin: ledgerOrigin(company), size: Number(size), root: Buffer.from(root, 'base64') }
    const text = proofText({
      index,
      hashes: inclusionProof(treeOf(leaves), index, leaves.length),
      checkpoint,
      extra: Buffer.from(extra),
    })
    return { name: `place-${company}-${round}`, text, covers: { company, size: head.size }, head }
  })
}
