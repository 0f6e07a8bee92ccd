import type { Envelope } from '../envelope.ts'
import type { Append } from '../port.ts'

/**
 * An append cut into parts that a store takes: at most `maxBytes` of JSON each, unless a single command has more. The events of
 * one command always stay together, so that whatever part of a large append lands, no command is half done.
 */
export function chunksOf(commands: Append['commands'], maxBytes: number): Envelope[][] {
  const chunks: Envelope[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const events of commands) {
    const size = Buffer.byteLength(JSON.stringify(events))
    if (bytes + size > maxBytes) {
      chunks.push([])
      bytes = 0
    }
    chunks.at(-1)?.push(...events)
    bytes += size
  }
  return chunks
}
