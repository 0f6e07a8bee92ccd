import * as z from 'zod'
import { knownRing, openKeyRing, verifierKeysOf } from '#integrity/checkpoint-keys.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import { openNote, signNote } from '#integrity/note.ts'

/** What an installation states of a company that it has imported (CELL-6). */
const ImportStatement = z.strictObject({
  company_id: z.int().positive(),
  export: z.uuid(),
  /** Installations that exported and imported. */
  from: z.uuid(),
  to: z.uuid(),
  /** Last event of the file. */
  revision: z.int().nonnegative(),
  hash: z.string(),
  /** UTC. */
  at: z.string(),
})
export type ImportStatement = z.infer<typeof ImportStatement>

/** Name under which the statement is signed; also its first line. All cells have one ring of keys. */
const nameOf = (family: string): string => `tillbook/${family}/imports`

/** Signed note of two lines: name, and the statement as JSON. @throws WrongSealKey */
export async function signImport(sealing: Sealing, said: ImportStatement): Promise<string> {
  const { installationId, current } = await openKeyRing(sealing)
  const name = nameOf(installationId)
  return signNote(`${name}\n${JSON.stringify(said)}\n`, [{ name, privateKey: current.privateKey }])
}

/** Null if the text is no such note, or no key of the ring has signed it. @throws WrongSealKey */
export async function openImport(sealing: Sealing, note: string): Promise<ImportStatement | null> {
  const ring = await knownRing(sealing)
  const name = nameOf(ring.installationId)
  const [first, json = ''] = openNote(note, verifierKeysOf(ring, name))?.text.split('\n') ?? []
  return first === name ? ImportStatement.parse(JSON.parse(json)) : null
}
