import type { Sealing } from '#integrity/proofs/checkpoints.ts'
import { knownRing, openKeyRing, verifierKeysOf } from '#integrity/proofs/key-ring.ts'
import { openNote, parseNote, signNote } from '#integrity/proofs/note.ts'

/** What an installation states of a company that it has imported (CELL-6). */
export interface ImportStatement {
  readonly companyId: number
  /** Id of the export. */
  readonly exportId: string
  /** Installations that exported and imported. */
  readonly from: string
  readonly to: string
  /** Last event of the file. */
  readonly revision: number
  readonly hash: string
  /** UTC. */
  readonly at: string
}

/** Name under which the statement is signed; also its first line. All cells have one ring of keys. */
const nameOf = (family: string): string => `tillbook/${family}/imports`

/** Signed note of seven lines: name, `company-{id}`, export, from, to, revision and hash, time. @throws WrongSealKey */
export async function signImport(sealing: Sealing, said: ImportStatement): Promise<string> {
  const ring = await openKeyRing(sealing)
  const name = nameOf(ring.installationId)
  const { companyId, exportId, from, to, revision, hash, at } = said
  const lines = [name, `company-${companyId}`, exportId, from, to, `${revision} ${hash}`, at]
  return signNote(lines.map((line) => `${line}\n`).join(''), [{ name, privateKey: ring.current.privateKey }])
}

/** Null if the text is no such note, or no key of the ring has signed it. @throws WrongSealKey */
export async function openImport(sealing: Sealing, note: string): Promise<ImportStatement | null> {
  const ring = await knownRing(sealing)
  const name = nameOf(ring.installationId)
  const [first, company, exportId, from, to, head = '', at, ...more] =
    parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  const [, id] = /^company-([1-9]\d{0,14})$/.exec(company ?? '') ?? []
  const [, revision, hash] = /^(\d{1,15}) ([0-9a-f]{64})$/.exec(head) ?? []
  if (first !== name || !id || !exportId || !from || !to || !revision || !hash || !at || more.length > 0) return null
  if (openNote(note, verifierKeysOf(ring, name)) === null) return null
  return { companyId: Number(id), exportId, from, to, revision: Number(revision), hash, at }
}
