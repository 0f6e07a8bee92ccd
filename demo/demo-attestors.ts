import { execFile } from 'node:child_process'
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import express from 'express'
import * as z from 'zod'
import { EMPTY_ROOT, isConsistent, type TreeHead } from '#integrity/merkle.ts'
import {
  type Checkpoint,
  COSIGNATURE,
  cosignatureLine,
  decodeBase64,
  formatCheckpoint,
  openNote,
  parseCheckpoint,
  type VerifierKey,
  verifierKey,
} from '#integrity/note.ts'
import { createFileAtomically, writeFileAtomically } from '#lib/files.ts'
import { type Served, serveLocally } from './serve-locally.ts'

const run = promisify(execFile)

/** Local time-stamp authority (RFC 3161), based on OpenSSL; for trials only. */
export interface Authority {
  /** Certificate for clients to trust, PEM. */
  readonly caFile: string
  /**
   * Responds to a TimeStampReq with a TimeStampResp, both DER. An invalid request gets a rejection response, as in the
   * RFC.
   */
  reply(query: Buffer): Promise<Buffer>
}

interface AuthorityOptions {
  /** Folder of keys, certificates and the last serial number; created on first use. */
  readonly folder: string
  /** Type of both keys. */
  readonly keys?: 'ec' | 'rsa'
}

const CONFIG = `
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[stamps]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
[tsa]
default_tsa = authority
[authority]
serial = ./serial
signer_cert = ./authority.pem
signer_key = ./authority.key
certs = ./ca.pem
signer_digest = sha256
digests = sha256, sha384, sha512
default_policy = 1.2.3.4.1
accuracy = secs:1
ess_cert_id_alg = sha256
`

const DAYS = '3650'
const KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  rsa: ['-newkey', 'rsa:2048'],
} as const

/** @throws if openssl is not installed. */
export async function openAuthority({ folder, keys = 'ec' }: AuthorityOptions): Promise<Authority> {
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: folder })
  if (!existsSync(join(folder, 'authority.pem'))) await makeAuthority(folder, openssl, KEYS[keys])
  /** Sequential: each stamp takes the next serial number. */
  let turn: Promise<unknown> = Promise.resolve()

  async function stamp(query: Buffer): Promise<Buffer> {
    const name = randomUUID()
    const files = { query: join(folder, `${name}.tsq`), reply: join(folder, `${name}.tsr`) }
    try {
      await writeFile(files.query, query)
      await openssl('ts', '-reply', '-config', 'openssl.cnf', '-queryfile', files.query, '-out', files.reply)
      return await readFile(files.reply)
    } finally {
      await Promise.all([rm(files.query, { force: true }), rm(files.reply, { force: true })])
    }
  }

  return {
    caFile: join(folder, 'ca.pem'),
    reply(query) {
      const replied = turn.then(() => stamp(query))
      turn = replied.catch(() => {})
      return replied
    },
  }
}

async function makeAuthority(
  folder: string,
  openssl: (...args: readonly string[]) => Promise<unknown>,
  newKey: readonly string[],
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'openssl.cnf'), CONFIG)
  await writeFile(join(folder, 'serial'), '01\n')
  const made = ['-config', 'openssl.cnf', '-nodes', '-days', DAYS]
  const ca = ['-subj', '/CN=Tillbook demonstration CA', '-keyout', 'ca.key', '-out', 'ca.pem', '-extensions', 'ca']
  await openssl('req', '-x509', ...newKey, ...made, ...ca)
  const own = ['-subj', '/CN=Tillbook demonstration time stamps', '-keyout', 'authority.key', '-out', 'authority.pem']
  await openssl(
    'req',
    '-x509',
    ...newKey,
    ...made,
    ...own,
    '-extensions',
    'stamps',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
  )
}

const MAX_REQUEST = '16kb'

/** `port` 0: any free one. */
export async function serveAuthority(authority: Authority, port: number): Promise<Served> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/', express.raw({ type: 'application/timestamp-query', limit: MAX_REQUEST }), async (request, response) => {
    if (!Buffer.isBuffer(request.body)) return void response.status(415).end()
    response.type('application/timestamp-reply').end(await authority.reply(request.body))
  })
  return serveLocally(app, port)
}

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

const MAX_CHECKPOINT = '64kb'

/** `port` 0: any free one. */
export async function serveWitness(witness: Witness, port: number): Promise<Served> {
  const app = express()
  app.disable('x-powered-by')
  app.post('/add-checkpoint', express.text({ type: () => true, limit: MAX_CHECKPOINT }), async (request, response) => {
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
