import { formatCheckpoint } from '../proofs/checkpoint.ts'
import {
  COSIGNATURE,
  isSignatureOf,
  parseSignatureLine,
  parseVkey,
  type VerifierKey,
  verifierKey,
} from '../proofs/note.ts'
import { type AskOptions, type AttestationRequest, type Attestor, AttestorFailed } from './attestor.ts'
import { type AttestorAnswer, callAttestor, failureOf } from './attestor-client.ts'

interface WitnessOptions {
  /** Submission prefix without a trailing slash. */
  readonly url: string
  /** Key that verifies its cosignatures. */
  readonly key: VerifierKey
  /** Proof that the log of size `to` begins with the log of size `from`; hashes of 32 bytes. */
  readonly consistencyProof: (from: number, to: number) => Promise<readonly Buffer[]>
  readonly timeout_ms?: number
}

/** A configured witness. */
export interface NamedWitness {
  readonly url: string
  readonly vkey: string
}

/**
 * Parses the keys of witnesses. A key published for plain signatures is converted: it has another id for cosignatures.
 * Null if one is not Ed25519, has a wrong id, or occurs twice.
 */
export function parseWitnesses(named: readonly NamedWitness[]): { url: string; key: VerifierKey }[] | null {
  const witnesses: { url: string; key: VerifierKey }[] = []
  for (const { url, vkey } of named) {
    const parsed = parseVkey(vkey)
    if (!parsed) return null
    const key = verifierKey(parsed.name, parsed.publicKey, COSIGNATURE)
    if (witnesses.some((before) => before.key.name === key.name)) return null
    witnesses.push({ url, key })
  }
  return witnesses
}

/** A witness may report its size once. A second different size means that another process has submitted meanwhile. */
const ATTEMPTS = 2
const SIZE = /^(?:0|[1-9]\d{0,15})\n$/
const MAX_PROOF = 63

/**
 * C2SP witness (tlog-witness.md): it cosigns a checkpoint only if that extends the last one it has seen of this log. It
 * reports the size that it has seen (409), so either side can recover from lost state (PROOF-60).
 */
export function createWitness({ url, key, consistencyProof, timeout_ms }: WitnessOptions): Attestor {
  async function submit(
    from: number,
    { note, size }: AttestationRequest,
    signal: AbortSignal,
  ): Promise<AttestorAnswer> {
    const proof = from === 0 ? [] : await consistencyProof(from, size)
    if (proof.length > MAX_PROOF) throw new Error(`a proof of ${proof.length} hashes is none`)
    const lines = [`old ${from}`, ...proof.map((hash) => hash.toString('base64'))]
    const body = `${lines.join('\n')}\n\n${note}`
    return callAttestor({ method: 'POST', url: `${url}/add-checkpoint`, body, signal, timeout_ms })
  }

  return {
    source: key.name,
    kind: 'cosignature',
    takesEach: false,
    async ask(checkpoint, { last, signal }: AskOptions) {
      let from = Math.min(last, checkpoint.size)
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const answer = await submit(from, checkpoint, signal)
        if (answer.status === 200) return cosignatureIn(answer.body, formatCheckpoint(checkpoint), key)
        if (answer.status === 422) throw new AttestorFailed('inconsistent', failureOf(answer).message)
        if (answer.status !== 409) throw failureOf(answer)
        from = sizeIn(answer)
        if (from > checkpoint.size)
          throw new AttestorFailed(
            'inconsistent',
            `it has seen this log with ${from} entries, beyond the ${checkpoint.size} here`,
          )
      }
      throw new AttestorFailed('unreachable', 'another size was submitted meanwhile')
    },
  }
}

function sizeIn({ body }: AttestorAnswer): number {
  const text = body.toString('latin1')
  if (!SIZE.test(text)) throw new AttestorFailed('wrong_answer', 'answered 409 without a size')
  return Number(text)
}

/** Finds the line of the known key; other lines are ignored. */
function cosignatureIn(body: Buffer, text: string, key: VerifierKey): Buffer {
  for (const line of body.toString().split('\n')) {
    const signature = parseSignatureLine(line)
    if (!signature || signature.name !== key.name || signature.keyId !== key.keyId) continue
    if (!isSignatureOf(key, text, signature.signature) || signature.signature.readBigUInt64BE(0) === 0n)
      throw new AttestorFailed('wrong_answer', 'its cosignature is not of this checkpoint')
    return Buffer.from(`${line}\n`)
  }
  throw new AttestorFailed('wrong_answer', `it gave no cosignature of ${key.name} with key ${key.keyId}`)
}
