import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '#lib/project-root.ts'

/** A file of an audit pack beside the ledger. */
export interface Evidence {
  /** Path in the pack. */
  readonly name: string
  lines(): AsyncIterable<string>
}

/** What was signed of a company's ledger, as it is kept: seals of 0.1, checkpoints, the mapping where it was written anew, keys. */
const kept = (companyId: number): string[] => [
  `company-${companyId}.checkpoints`,
  `company-${companyId}.jsonl`,
  `resealed-company-${companyId}.jsonl`,
  'keys.jsonl',
  'installation.checkpoints',
]

/** The verifier and the formats, which come with the program. */
const TOOLS = ['verifier/tillbook-verify.mjs', 'docs/proof.md']

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const fileAs = (name: string, path: string): Evidence[] =>
  existsSync(path) ? [{ name, lines: () => createReadStream(path, 'utf8') }] : []

/** All that vouches for a ledger and is there. `sealDirectory` is where this installation keeps what it has signed. */
export function evidenceOf(sealDirectory: string, companyId: number): Evidence[] {
  return [
    ...kept(companyId).flatMap((file) => fileAs(`provas/${file}`, join(sealDirectory, file))),
    ...TOOLS.flatMap((path) => fileAs(nameOf(path), join(projectRoot(), path))),
  ]
}

/** How many events the newest checkpoint of a ledger covers, as its file says; null where there is none. */
export async function coveredBy(sealDirectory: string, companyId: number): Promise<number | null> {
  const path = join(sealDirectory, `company-${companyId}.checkpoints`)
  const text = await readFile(path, 'utf8').catch(() => '')
  const last = text.trimEnd().split('\n').at(-1)
  if (!last) return null
  const { note } = JSON.parse(last) as { note: string }
  return Number(note.split('\n')[1])
}
