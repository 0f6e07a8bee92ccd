import * as z from 'zod'
import { keyIdOf, type SigningKey } from '#integrity/audit/signing-key.ts'
import { openNote, parseNote, signNote, verifierKey, vkeyOf } from './note.ts'

/** Entry of the ring in `DATA_DIR/seals/keys.jsonl`, `ops.seal_keys` and `GET /proof/keys` (PROOF-20). */
export const RingEntry = z.strictObject({
  /** Its name is `tillbook/{installation id}/keys`. */
  vkey: z.string(),
  /** SPKI, DER, base64. */
  public_key: z.base64(),
  /** UTC; start of use. */
  since: z.iso.datetime({ precision: 3 }),
  /** Id of the former key, which has signed this one; null for the first key, and if the former key was lost. */
  signed_by: z.string().nullable(),
  /** Signed note with the same content. */
  note: z.string(),
})
export type RingEntry = z.infer<typeof RingEntry>

/**
 * How a key became current. `first`: nothing was signed before; `signed`: the former key has signed it; `unsigned`: the
 * former key was lost, and only the operator vouches for this one.
 */
export type Succession = 'first' | 'signed' | 'unsigned'

/** Content of an entry's note. */
export interface KeyStatement {
  /** Position in the ring, from 0. */
  readonly index: number
  readonly vkey: string
  /** UTC. */
  readonly since: string
  readonly succession: Succession
  /** One line: why the former key is lost. Empty unless `unsigned`. */
  readonly reason: string
  /** Vkey of the former key; empty for the first entry. */
  readonly before: readonly string[]
}

/** Name under which a ring's notes are signed. */
const ringNameOf = (installationId: string): string => `tillbook/${installationId}/keys`

export const ringVkeyOf = (installationId: string, publicKey: string): string =>
  vkeyOf(verifierKey(ringNameOf(installationId), publicKey))

/** Creates the entry of the next current key; `former` signs it if the succession is `signed`. */
export function entryOf(
  installationId: string,
  key: SigningKey,
  { index, since, succession, reason, before }: Omit<KeyStatement, 'vkey'>,
  former: SigningKey | null,
): RingEntry {
  const name = ringNameOf(installationId)
  const vkey = ringVkeyOf(installationId, key.publicKey)
  const how = reason === '' ? succession : `${succession} ${reason}`
  const text = [name, index, vkey, since, how, ...before].map((line) => `${line}\n`).join('')
  const signers = former ? [former, key] : [key]
  const note = signNote(
    text,
    signers.map(({ privateKey }) => ({ name, privateKey })),
  )
  return { vkey, public_key: key.publicKey, since, signed_by: former?.keyId ?? null, note }
}

const HOW = /^(?:(first|signed)|(unsigned) (.+))$/

/** Parses an entry's note without verifying it; null if the format is wrong. */
export function parseStatement(note: string): KeyStatement | null {
  const [name, index = '', vkey = '', since = '', how = '', ...before] =
    parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  const found = HOW.exec(how)
  if (!name || !found || !/^\d{1,6}$/.test(index)) return null
  const succession = (found[1] ?? found[2]) as Succession
  return { index: Number(index), vkey, since, succession, reason: found[3] ?? '', before }
}

/**
 * Whether the entry at an index follows the ones before it: signed by itself and, unless declared `unsigned`, by the
 * former key.
 */
export function isEntry(installationId: string, entries: readonly RingEntry[], at: number): boolean {
  const [entry, former] = [entries[at], entries[at - 1]]
  const said = entry && parseStatement(entry.note)
  if (!said || said.index !== at || said.vkey !== entry.vkey || said.since !== entry.since) return false
  if (entry.vkey !== ringVkeyOf(installationId, entry.public_key)) return false
  if (entries.slice(0, at).some(({ vkey }) => vkey === entry.vkey)) return false
  if (said.before.length !== (former ? 1 : 0) || said.before[0] !== former?.vkey) return false
  const name = ringNameOf(installationId)
  const hasSigned = (publicKey: string) => openNote(entry.note, [verifierKey(name, publicKey)]) !== null
  if (!entry.note.startsWith(`${name}\n`) || !hasSigned(entry.public_key)) return false
  if (said.succession === 'unsigned') return entry.signed_by === null
  if (said.succession === 'first') return entry.signed_by === null && at === 0
  return former !== undefined && entry.signed_by === keyIdOf(former.public_key) && hasSigned(former.public_key)
}
