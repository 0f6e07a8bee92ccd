import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { streamOf } from '#ledger/envelope.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { type ChainWalk, parseStored, type Verification, walkChain } from './chain-walk.ts'
import { storedEvents } from './verify.ts'

/** No event comes near; a file without line ends must not fill the memory. */
const LONGEST_LINE = 64 * 1_048_576

/** A company's events from a revision on, as they are kept, one a line. */
export async function* exportLines(store: EventStore, companyId: number, fromRevision: number): AsyncGenerator<string> {
  const after = fromRevision === 0 ? null : fromRevision - 1
  for await (const { json } of storedEvents(store, streamOf(companyId), after)) yield `${json}\n`
}

export interface ExportVerification extends Verification {
  /** As its first line says; null for an empty file. */
  readonly stream: string | null
  /** Revision of the first line: what comes before it is taken on trust, unless it is 0. */
  readonly from: number
}

/** Verifies an export by itself. `heldOf` gives what its stream (null: of an empty file) has to go through, from its first revision on. */
export async function verifyExport(
  path: string,
  heldOf: (stream: string | null, from: number) => Pick<ChainWalk, 'anchors' | 'watch'>,
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

/** Lines end with a line feed and nothing else: text may hold other characters that count as line ends elsewhere. */
async function* linesOf(path: string): AsyncGenerator<StoredEvent> {
  let rest = ''
  // A character a byte, so that a line that is no UTF-8 is told from its neighbours.
  for await (const chunk of createReadStream(path, 'latin1')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) break
    for (const line of lines) yield storedOf(line)
  }
  if (rest !== '') yield storedOf(rest)
}

/** Bytes that are no UTF-8 are no text of any event: programs would read them differently. */
function storedOf(line: string): StoredEvent {
  const bytes = Buffer.from(line, 'latin1')
  return { json: isUtf8(bytes) ? bytes.toString() : '', beside: {} }
}
