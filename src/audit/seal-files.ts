import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Seal } from './seal.ts'

/** Longer than any seal. */
const TAIL_BYTES = 4_096
const LINE_FEED = 0x0a

const fileOf = (directory: string, companyId: number): string => join(directory, `company-${companyId}.jsonl`)

/** Where a file of seals ends: its last seal, and how long it is without a line that a crash left unfinished. */
interface Tail {
  readonly last: Seal | null
  readonly bytes: number
}

/** The company's last seal in a directory; null when it has none. @throws when what is there is no seal. */
export async function lastSeal(directory: string, companyId: number): Promise<Seal | null> {
  try {
    const file = await open(fileOf(directory, companyId), 'r')
    try {
      return (await tailOf(file)).last
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Adds a seal as a line of the company's file, on the disk when this resolves. */
export async function appendSeal(directory: string, seal: Seal): Promise<void> {
  await mkdir(directory, { recursive: true })
  const file = await open(fileOf(directory, seal.company_id), 'a+')
  try {
    const { bytes } = await tailOf(file)
    await file.truncate(bytes)
    await file.writeFile(`${JSON.stringify(seal)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  // The file's name as well.
  const folder = await open(directory, 'r')
  await folder.sync().finally(() => folder.close())
}

async function tailOf(file: Awaited<ReturnType<typeof open>>): Promise<Tail> {
  const { size } = await file.stat()
  if (size === 0) return { last: null, bytes: 0 }
  const start = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
  const end = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED)
  if (end < 0 && start > 0) throw new Error('what ends this file is no seal')
  if (end < 0) return { last: null, bytes: 0 }
  const line = buffer.subarray(buffer.lastIndexOf(LINE_FEED, end - 1) + 1, end).toString()
  return { last: Seal.parse(JSON.parse(line)), bytes: start + end + 1 }
}
