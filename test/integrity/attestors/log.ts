import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AttestationRequest } from '#integrity/attestors.ts'
import { appenderFrom, consistencyProof, type Hashes, leafHash, nodeHash } from '#integrity/merkle.ts'
import { formatCheckpoint, signNote, verifierKey } from '#integrity/note.ts'

/** In-memory signed log; an entry is its position and a text that identifies the history. */
export function createLog(origin = 'tillbook/0197f1d4-0000-7000-8000-000000000001', history = '') {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const leaf = (index: number) => leafHash(Buffer.from(`${history}${index}`))
  const hashes: Hashes = {
    hash: (level, index) =>
      level === 0 ? leaf(index) : nodeHash(hashes.hash(level - 1, 2 * index), hashes.hash(level - 1, 2 * index + 1)),
  }
  return {
    key: verifierKey(origin, publicKey.export({ type: 'spki', format: 'der' }).toString('base64')),
    checkpoint(size: number): AttestationRequest {
      const tree = appenderFrom()
      for (let index = 0; index < size; index += 1) tree.append(leaf(index))
      const checkpoint = { origin, size, root: tree.root() }
      return { ...checkpoint, note: signNote(formatCheckpoint(checkpoint), [{ name: origin, privateKey }]) }
    },
    consistencyProof: async (from: number, to: number) => consistencyProof(hashes, from, to),
  }
}

export const never = new AbortController().signal

/** Server with answers set by the test, closed after all tests of a `describe`. */
export async function useOutside() {
  let answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void = () => {}
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, Buffer.concat(chunks), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers(next: typeof answer) {
      answer = next
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
