import { Readable } from 'node:stream'
import yazl from 'yazl'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { type EventReader, searchOpened } from '#ledger/reading.ts'
import { csvHeads, csvRow, neutralizeFormulas } from '#lib/spreadsheet-text.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import { exportLines } from './export.ts'
import { guideOf, type PackWanted } from './pack-guide.ts'

/** Characters passed to the compression at once. */
const CHUNK = 65_536
/** Events decrypted at once. */
const OPENED_AT_ONCE = 500

/** Joins lines to chunks and yields to the event loop between them. */
async function* chunked(lines: AsyncIterable<string>, companyId: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const pause = createTimeSlicer(companyId)
  let chunk = ''
  for await (const line of lines) {
    chunk += line
    if (chunk.length < CHUNK) continue
    signal.throwIfAborted()
    yield Buffer.from(chunk)
    chunk = ''
    await pause()
  }
  if (chunk !== '') yield Buffer.from(chunk)
}

/** Export lines up to the pack's head; later events are excluded from all files. */
async function* linesUpTo(reading: EventReader, { companyId, head }: PackWanted): AsyncGenerator<string> {
  let left = head.revision + 1
  if (left === 0) return
  for await (const line of exportLines(reading.store, companyId, 0)) {
    yield line
    left -= 1
    if (left === 0) return
  }
}

/**
 * Index of events, one per line, in the CSV dialect of Brazilian spreadsheets. Actors appear by id, because names are
 * personal data.
 */
async function* indexLines(reading: EventReader, wanted: PackWanted): AsyncGenerator<string> {
  const { eventName, subjectName, originName, timeOf } = wanted.words
  yield csvHeads(['Revisão', 'Quando', 'Atividade', 'Registro', 'Origem', 'Quem', 'Hash'])
  for await (const line of linesUpTo(reading, wanted)) {
    const { revision, recorded_at, type, subject, origin, actor, hash } = JSON.parse(line) as Envelope
    const who = actor === null ? 'O sistema' : subjectName(actor)
    const cells = [
      String(revision),
      timeOf(recorded_at),
      eventName(type),
      subjectName(subject),
      originName(origin),
      who,
      hash,
    ]
    yield csvRow(cells.map(neutralizeFormulas))
  }
}

/** Events in clear text; null for erased fields. */
async function* openedLines(reading: EventReader, { companyId, head }: PackWanted): AsyncGenerator<string> {
  for (let from = 0; from <= head.revision; ) {
    const page = await searchOpened(reading, streamOf(companyId), {
      fromRevision: from,
      toRevision: head.revision,
      types: null,
      subject: null,
      limit: OPENED_AT_ONCE,
    })
    for (const { revision, json } of page.events)
      yield `${JSON.stringify({ revision, opened: (JSON.parse(json) as { opened: object }).opened })}\n`
    from = page.seenTo + 1
  }
}

/**
 * Streams a ZIP with everything an auditor needs to verify a ledger without this service: the export, its proofs, the
 * verifier, and an index for people (AUDIT-20). Memory does not grow with the ledger; `signal` aborts the stream.
 * `tell` receives the number of lines written and their total.
 */
export function auditPack(
  reading: EventReader,
  wanted: PackWanted,
  tell: (done: number, total: number) => void,
  signal: AbortSignal,
): Readable {
  const { companyId, head, isOpened, evidence, now } = wanted
  const zip = new yazl.ZipFile()
  const out = zip.outputStream as Readable
  const options = { mtime: new Date(now), mode: 0o100644 }
  const total = (head.revision + 1) * (isOpened ? 3 : 2)
  let done = 0
  async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      yield line
      done += 1
      if (done % 1_000 === 0 || done >= total) tell(Math.min(done, total), total)
    }
  }
  const sources = new Set<Readable>()
  const add = (name: string, lines: () => AsyncIterable<string>): void =>
    zip.addReadStreamLazy(name, options, (begin) => {
      const source = Readable.from(chunked(lines(), companyId, signal), { objectMode: false })
      source.once('error', (error) => out.destroy(error)).once('close', () => sources.delete(source))
      sources.add(source)
      begin(null, source)
    })

  zip.addBuffer(Buffer.from(guideOf(wanted)), 'LEIA-ME.txt', options)
  add('livro.jsonl', () => counted(linesUpTo(reading, wanted)))
  add('indice.csv', () => counted(indexLines(reading, wanted)))
  if (isOpened) add('dados-abertos.jsonl', () => counted(openedLines(reading, wanted)))
  for (const file of evidence) {
    if ('bytes' in file) zip.addBuffer(file.bytes, file.name, options)
    else add(file.name, file.lines)
  }
  zip.end()
  // After a disconnect nothing reads from the sources, so they must be destroyed.
  const end = () => {
    for (const source of sources) source.destroy()
  }
  out.once('close', end)
  signal.addEventListener('abort', () => out.destroy(signal.reason as Error), { once: true })
  return out
}
