import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fsyncFolder } from './files.ts'

/** Longer than any line of these files. */
const TAIL_BYTES = 16_384
const LINE_FEED = 0x0a

/** Appends lines to a JSON Lines file and syncs it. Truncates an unfinished last line first. */
export async function appendLines(path: string, values: readonly object[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+')
  try {
    const { bytes } = await tailOf(file)
    await file.truncate(bytes)
    await file.writeFile(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
  await fsyncFolder(dirname(path))
}

/** The last complete line, parsed; null for a missing or empty file. @throws SyntaxError on invalid JSON */
export async function lastLine(path: string): Promise<unknown> {
  const file = await openIfThere(path)
  try {
    const last = file && (await tailOf(file)).last
    return last ? JSON.parse(last) : null
  } finally {
    await file?.close()
  }
}

/** All complete lines, parsed one by one; none for a missing file. @throws SyntaxError on invalid JSON */
export async function* eachLine(path: string): AsyncGenerator<unknown> {
  for await (const line of eachText(path)) yield JSON.parse(line)
}

/** All complete lines, without their line feeds; none for a missing file. */
export async function* eachText(path: string): AsyncGenerator<string> {
  const file = await openIfThere(path)
  if (!file) return
  let rest = ''
  for await (const chunk of file.createReadStream({ encoding: 'utf8' })) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** All lines of a short file at once. */
export async function readLines(path: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of eachLine(path)) values.push(value)
  return values
}

/** The last complete line, and the length of the file up to its end. */
async function tailOf(file: FileHandle): Promise<{ last: string | null; bytes: number }> {
  const { size } = await file.stat()
  const start = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
  const end = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED)
  if (end < 0 && start > 0) throw new Error('JSON Lines file ends in a line longer than 16 KiB')
  if (end < 0) return { last: null, bytes: 0 }
  // lastIndexOf counts a negative start from the end.
  const before = end === 0 ? -1 : buffer.lastIndexOf(LINE_FEED, end - 1)
  return { last: buffer.subarray(before + 1, end).toString(), bytes: start + end + 1 }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
