import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compiledAt } from './program.ts'

const PREFIX = 'newer-'

/** A later version of the product. */
export interface NewerProgram {
  /** Its folder, in place of `dist`. */
  readonly folder: string
  remove(): Promise<void>
}

/** Copies the compiled code with a higher version of the read model, the only difference between versions. */
export async function buildNewer(): Promise<NewerProgram> {
  const folder = compiledAt(`${PREFIX}${process.pid}`)
  // Entry by entry: a folder is not copied into itself.
  const entries = (await readdir(compiledAt('.'))).filter((name) => !name.startsWith(PREFIX))
  for (const name of entries) await cp(compiledAt(name), join(folder, name), { recursive: true })
  const chunks = join(folder, 'chunks')
  let raised = 0
  for (const name of (await readdir(chunks)).filter((each) => each.endsWith('.js'))) {
    const text = await readFile(join(chunks, name), 'utf8')
    const [declaration, number] = /\bREAD_MODEL_NUMBER=(\d+)\b/.exec(text) ?? []
    if (declaration === undefined) continue
    await writeFile(join(chunks, name), text.replace(declaration, `READ_MODEL_NUMBER=${Number(number) + 1}`))
    raised++
  }
  if (raised !== 1) throw new Error(`the number of the read model was found ${raised} times`)
  return { folder, remove: () => rm(folder, { recursive: true }) }
}
