import type { Readable } from 'node:stream'

/** Bytes of an answer's body that are kept. */
export const SNIPPET_BYTES = 1_024

/** Bytes that are read so that the connection may be used again; with more of them it is dropped. */
const DRAINED_BYTES = 16_384

/**
 * The beginning of a body as text without control characters; null when there is nothing readable. Reads no longer than
 * `wait_ms` and a bounded number of bytes, however long the body is or takes, and never throws: the status has decided
 * already. Whoever sends more loses the connection.
 */
export async function readSnippet(body: Readable, wait_ms: number): Promise<string | null> {
  const kept: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => body.destroy(), wait_ms)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size < SNIPPET_BYTES) kept.push(chunk.subarray(0, SNIPPET_BYTES - size))
      size += chunk.length
      if (size > DRAINED_BYTES) break
    }
  } catch {
    // What has come is enough.
  } finally {
    clearTimeout(timer)
  }
  // A character that was cut in two is left out; anything that is no UTF-8 shows as U+FFFD.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true })
  return text.replace(/[^\P{Cc}\n\t]/gu, '').trim() || null
}
