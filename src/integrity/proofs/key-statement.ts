import { z } from 'zod'
import { keyIdOf, type SigningKey } from '#integrity/audit/signing-key.ts'
import { openNote, parseNote, signNote, verifierKey, vkeyOf } from './note.ts'

/** An entry of the ring, as it is in `DATA_DIR/seals/keys.jsonl`, in `ops.seal_keys` and at `GET /proof/keys` (PROOF-20). */
export const RingEntry = z.strictObject({
  /** Of the name `tillbook/{installation id}/keys`. */
  vkey: z.string(),
  /** SPKI, DER, base64. */
  public_key: z.base64(),
  /** UTC, from when on it signs. */
  since: z.iso.datetime({ precision: 3 }),
  /** Id of the key before, which has signed this one; null for the first, and where the one before was lost. */
  signed_by: z.string().nullable(),
  /** Signed note that says all this. */
  note: z.string(),
})
export type RingEntry = z.infer<typeof RingEntry>

/**
 * How a key became the current one. `first`: nothing was sealed before; `signed`: the key before has signed it;
 * `unsigned`: the key before was lost, and nothing but the operator's word says that this one is theirs.
 */
export type Succession = 'first' | 'signed' | 'unsigned'

/** What an entry's note says. */
export interface KeyStatement {
  /** Place in the ring, from 0 on. */
  readonly index: number
  readonly vkey: string
  /** UTC. */
  readonly since: string
  readonly succession: Succession
  /** Why the key before is not there any more; empty but for `unsigned`. One line. */
  readonly reason: string
  /** Vkey of the key before; empty at the beginning of the ring. */
  readonly before: readonly string[]
}

/** Under which a ring's notes are signed. */
export const ringNameOf = (installationId: string): string => `tillbook/${installationId}/keys`

export const ringVkeyOf = (installationId: string, publicKey: string): string =>
  vkeyOf(verifierKey(ringNameOf(installationId), publicKey))

/** The entry of a key that becomes the current one; `former` signs it where it is `signed`. */
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

/** What an entry's note says, nothing of it verified; null when it is something else. */
export function parseStatement(note: string): KeyStatement | null {
  const [name, index = '', vkey = '', since = '', how = '', ...before] =
    parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  const found = HOW.exec(how)
  if (!name || !found || !/^\d{1,6}$/.test(index)) return null
  const succession = (found[1] ?? found[2]) as Succession
  return { index: Number(index), vkey, since, succession, reason: found[3] ?? '', before }
}

/** Whether the entry at a place follows those before it: signed by itself and, unless it says otherwise, by the key before. */
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
