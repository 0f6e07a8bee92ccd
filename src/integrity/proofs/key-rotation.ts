import { makeSigningKey, readSigningKey, type SigningKey } from '#integrity/audit/signing-key.ts'
import {
  addRingEntry,
  evenRing,
  installKey,
  isKeyLost,
  nextKeyFileOf,
  type ObservedRing,
  openKeyRing,
  type RingPlace,
  readKeyRing,
  WrongSealKey,
  withRingLocked,
} from './key-ring.ts'
import { entryOf, type RingEntry } from './key-statement.ts'

/**
 * Creates a new key, signs it with the current one, and makes it current (PROOF-21). A crash leaves the ring either
 * unchanged or complete; another run continues with the key that was created. @throws WrongSealKey
 */
export async function rotateKey(place: RingPlace): Promise<RingEntry> {
  await openKeyRing(place)
  const next = await makeSigningKey(nextKeyFileOf(place.keyFile))
  const entry = await withRingLocked(place, async (client) => {
    const seen = await readKeyRing(place, client)
    const former = seen.entries.at(-1)
    if (!seen.key || seen.key.publicKey !== former?.public_key)
      throw new WrongSealKey('another process is turning the key: run this again')
    const statement = {
      index: seen.entries.length,
      since: place.now(),
      succession: 'signed',
      reason: '',
      before: [former.vkey],
    } as const
    const made = entryOf(seen.installationId, next, statement, seen.key)
    await evenRing(place, client, seen)
    await addRingEntry(place, client, statement.index, made)
    return made
  })
  // Not earlier: the former key must sign the ring until the ring is on disk.
  await installKey(place)
  return entry
}

/**
 * Makes the key in the file, or a new one if there is none, the current key without the former key's signature. The
 * entry tells verifiers so, with the reason (PROOF-23). @throws WrongSealKey if there is nothing to adopt.
 */
export async function adoptKey(place: RingPlace, reason: string): Promise<RingEntry> {
  return withRingLocked(place, async (client) => {
    const seen = await readKeyRing(place, client)
    const last = seen.entries.at(-1)
    if (!last && !(await isKeyLost(place, client, seen)))
      throw new WrongSealKey('nothing was sealed by another key: there is nothing to adopt')
    const key = seen.key ?? (await makeSigningKey(place.keyFile))
    await assertNew(place, seen, key)
    await evenRing(place, client, seen)
    const index = seen.entries.length
    const before = last ? [last.vkey] : []
    const statement = { index, since: place.now(), succession: 'unsigned', reason, before } as const
    const entry = entryOf(seen.installationId, key, statement, null)
    await addRingEntry(place, client, index, entry)
    return entry
  })
}

/** @throws WrongSealKey if the ring has the key already. */
async function assertNew(place: RingPlace, { entries }: ObservedRing, key: SigningKey): Promise<void> {
  const last = entries.at(-1)
  if (last?.public_key === key.publicKey) throw new WrongSealKey(`${place.keyFile} holds the key of the ring`)
  if (entries.some(({ public_key }) => public_key === key.publicKey))
    throw new WrongSealKey(`key ${key.keyId} was replaced before: remove ${place.keyFile}, and a new one is made`)
  const next = await readSigningKey(nextKeyFileOf(place.keyFile))
  if (last && next?.publicKey === last.public_key)
    throw new WrongSealKey('the key was being turned: run "tillbook seal-key rotate" again')
}
