import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import express from 'express'
import * as z from 'zod'
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '#integrity/checkpoint.ts'
import { EMPTY_ROOT, isConsistent, type TreeHead } from '#integrity/merkle.ts'
import { COSIGNATURE, cosignatureLine, decodeBase64, openNote, type VerifierKey, verifierKey } from '#integrity/note.ts'
import { createFileAtomically, writeFileAtomically } from '#lib/files.ts'
import { type Served, serveLocally } from './serve-locally.ts'

/** Response of a witness to a checkpoint (tlog-witness.md of C2SP). */
export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422
  readonly type: string
  readonly body: string
}

export interface Witness {
  /** Verifies its cosignatures. */
  readonly key: VerifierKey
  /** Handles the body of an add-checkpoint request. */
  addCheckpoint(body: string): Promise<WitnessAnswer>
  /** Last cosigned checkpoint of the log with this SHA-256 of its origin (lowercase hex), with both signatures. */
  lastOf(originHash: string): string | null
}

interface WitnessOptions {
  /** File with its key and state, mode 0600; created on first use. */
  readonly file: string
  /** Name of its key. */
  readonly name: string
  /** Keys of the known logs; a key's name is the origin of its log. */
  readonly logs: readonly VerifierKey[]
  readonly now: () => Date
}

const State = z.object({
  /** PKCS #8, PEM. */
  private_key: z.string(),
  /** Last checkpoint of each log, by origin: its tree head, and the note with the cosignature. */
  logs: z.record(z.string(), z.object({ size: z.number(), root: z.string(), note: z.string() })),
})
type State = z.infer<typeof State>

const MAX_PROOF = 63
const OLD = /^old (0|[1-9]\d{0,15})$/
const NOTHING: TreeHead = { size: 0, root: EMPTY_ROOT }

/** Opens a witness. It remembers the last checkpoints, so that it never cosigns two histories of one log. */
export async function openWitness({ file, name, logs, now }: WitnessOptions): Promise<Witness> {
  const state = await openState(file)
  const privateKey = createPrivateKey(state.private_key)
  /** Sequential: the compared checkpoint must be the one that is replaced. */
  let turn: Promise<unknown> = Promise.resolve()

  async function cosign(body: string): Promise<WitnessAnswer> {
    const request = parseRequest(body)
    if (!request) return answer(400, 'this is no add-checkpoint request')
    const { old, proof, checkpoint, note } = request
    const { origin, size, root } = checkpoint
    const keys = logs.filter((key) => key.name === origin)
    if (keys.length === 0) return answer(404, 'this log is not known')
    if (!openNote(note, keys)) return answer(403, 'no key of this log has signed this')
    if (old > size) return answer(400, 'the old size is larger than the new one')
    const kept = state.logs[origin]
    const last: TreeHead = kept ? { size: kept.size, root: Buffer.from(kept.root, 'base64') } : NOTHING
    if (old !== last.size) return { status: 409, type: 'text/x.tlog.size', body: `${last.size}\n` }
    if (!goesOn(last, checkpoint, proof))
      return answer(422, 'the consistency proof does not show that this goes on from there')
    const line = cosignatureLine(formatCheckpoint(checkpoint), { name, privateKey }, Math.floor(now().getTime() / 1000))
    const signed = `${note.slice(0, note.lastIndexOf('\n\n') + 2)}${signaturesOf(note, keys)}${line}`
    state.logs[origin] = { size, root: root.toString('base64'), note: signed }
    await writeFileAtomically(file, JSON.stringify(state))
    return { status: 200, type: 'text/plain; charset=utf-8', body: line }
  }

  return {
    key: verifierKey(name, publicKeyOf(privateKey), COSIGNATURE),
    addCheckpoint(body) {
      const answered = turn.then(() => cosign(body))
      turn = answered.catch(() => {})
      return answered
    },
    lastOf(originHash) {
      const origin = Object.keys(state.logs).find(
        (each) => createHash('sha256').update(each).digest('hex') === originHash,
      )
      return origin === undefined ? null : (state.logs[origin]?.note ?? null)
    },
  }
}

const answer = (status: WitnessAnswer['status'], message: string): WitnessAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${message}\n`,
})

/** Whether a tree head extends another. Every log extends the empty one, without a proof. */
function goesOn(from: TreeHead, to: TreeHead, proof: readonly Buffer[]): boolean {
  if (to.size === 0 && !to.root.equals(EMPTY_ROOT)) return false
  return isConsistent(from, to, proof)
}

/** Signature lines of known keys; other lines are not passed on. */
function signaturesOf(note: string, keys: readonly VerifierKey[]): string {
  const lines = note.slice(note.lastIndexOf('\n\n') + 2).split(/(?<=\n)/)
  return lines.filter((line) => keys.some((key) => openNote(`${textPart(note)}\n${line}`, [key]))).join('')
}

const textPart = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1)

interface Request {
  readonly old: number
  readonly proof: readonly Buffer[]
  readonly checkpoint: Checkpoint
  readonly note: string
}

function parseRequest(body: string): Request | null {
  const end = body.indexOf('\n\n')
  if (end < 0) return null
  const [first = '', ...lines] = body.slice(0, end).split('\n')
  const [, old] = OLD.exec(first) ?? []
  const proof = lines.map(decodeBase64)
  const note = body.slice(end + 2)
  const checkpoint = parseCheckpoint(textPart(note))
  if (old === undefined || !checkpoint || proof.length > MAX_PROOF) return null
  if (!proof.every((hash) => hash?.length === EMPTY_ROOT.length)) return null
  return { old: Number(old), proof: proof as Buffer[], checkpoint, note }
}

async function openState(file: string): Promise<State> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const fresh: State = { private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), logs: {} }
  await createFileAtomically(file, JSON.stringify(fresh))
  return State.parse(JSON.parse(await readFile(file, 'utf8')))
}

const publicKeyOf = (privateKey: KeyObject): string =>
  createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')

const MAX_BODY = '64kb'

/** `port` 0: any free one. */
export async function serveWitness(witness: Witness, port: number): Promise<Served> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/add-checkpoint', express.text({ type: () => true, limit: MAX_BODY }), async (request, response) => {
    const { status, type, body } = await witness.addCheckpoint(typeof request.body === 'string' ? request.body : '')
    response.status(status).set('content-type', type).end(body)
  })
  app.get('/:origin/checkpoint', (request, response) => {
    const note = witness.lastOf(request.params.origin)
    response
      .status(note === null ? 404 : 200)
      .type('text/plain')
      .end(note ?? '')
  })
  return serveLocally(app, port)
}
