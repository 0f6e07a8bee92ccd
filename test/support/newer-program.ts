import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compiledAt, compiledOf } from './program.ts'

const PREFIX = 'newer-'

/** The product as a later version has it. */
export interface NewerProgram {
  /** Its folder, in the place of `dist`. */
  readonly folder: string
  remove(): Promise<void>
}

/** Copies what is compiled, with the number of the read model raised: nothing else tells one version from the next. */
export async function buildNewer(): Promise<NewerProgram> {
  const folder = compiledAt(`${PREFIX}${process.pid}`)
  // Entry by entry: a folder is not copied into itself.
  const entries = (await readdir(compiledAt('.'))).filter((name) => !name.startsWith(PREFIX))
  for (const name of entries) await cp(compiledAt(name), join(folder, name), { recursive: true })
  const index = compiledOf('projections/index.ts', folder)
  const text = await readFile(index, 'utf8')
  const raised = text.replace(/const NUMBER = (\d+);/, (_, number: string) => `const NUMBER = ${Number(number) + 1};`)
  if (raised === text) throw new Error('the number of the read model was not found')
  await writeFile(index, raised)
  return { folder, remove: () => rm(folder, { recursive: true }) }
}
