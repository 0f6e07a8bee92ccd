import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let root: string | undefined

/** Directory of a database's checkpoints during this process; services on the same database share it. */
export function sealsOf(databaseUrl: string): { directory: string; keyFile: string } {
  if (root === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'tillbook-seals-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    root = made
  }
  const folder = join(root, new URL(databaseUrl).pathname)
  return { directory: join(folder, 'seals'), keyFile: join(folder, 'seal-key.pem') }
}
