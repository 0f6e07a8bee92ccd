import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { streamName } from '#ledger/command.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { type ChainWalk, parseStored, storedEvents, type Verification, walkChain } from './verify.ts'

/** Well above the longest event. Bounds the memory for a file without line ends. */
const LONGEST_LINE = 64 * 1_048_576

/** A company's stored events from a revision, one per line. */
export async function* exportLines(store: EventStore, companyId: number, fromRevision: number): AsyncGenerator<string> {
  const after = fromRevision === 0 ? null : fromRevision - 1
  for await (const { json } of storedEvents(store, streamName(companyId), after)) yield `${json}\n`
}

export interface ExportVerification extends Verification {
  /** Stream named in the first line; null for an empty file. */
  readonly stream: string | null
  /** Revision of the first line. Unless it is 0, the events before it are not verified. */
  readonly from: number
}

/**
 * Verifies an export without the service. `heldOf` returns the anchors for its stream (null: empty file) from its first
 * revision.
 */
export async function verifyExport(
  path: string,
  heldOf: (stream: string | null, from: number) => Pick<ChainWalk, 'anchors' | 'watch' | 'onEvent'>,
): Promise<ExportVerification> {
  const first = await firstEvent(path)
  const stream = first?.stream ?? null
  const from = first?.revision ?? 0
  const found = await walkChain(linesOf(path), {
    stream: stream ?? '',
    ...heldOf(stream, from),
    ...(from > 0 && { after: { revision: from - 1, hash: null } }),
  })
  return { stream, from, ...found }
}

async function firstEvent(path: string) {
  for await (const line of linesOf(path)) return parseStored(line)
  return null
}

/** Only a line feed ends a line: text may contain other characters that some readers treat as line ends. */
async function* linesOf(path: string): AsyncGenerator<StoredEvent> {
  let rest = ''
  // Latin-1 keeps one character per byte, so that invalid UTF-8 affects its own line only.
  for await (const chunk of createReadStream(path, 'latin1')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) break
    for (const line of lines) yield storedOf(line)
  }
  if (rest !== '') yield storedOf(rest)
}

/** Invalid UTF-8 cannot belong to an event: programs would decode it differently. */
function storedOf(line: string): StoredEvent {
  const bytes = Buffer.from(line, 'latin1')
  return { json: isUtf8(bytes) ? bytes.toString() : '', beside: {} }
}
