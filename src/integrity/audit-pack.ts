import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Pool } from 'pg'
import yazl from 'yazl'
import { csvHeads, csvRow, neutralizeFormulas } from '#domain/text.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type EventReader, searchOpened } from '#ledger/port.ts'
import { repeat } from '#lib/background-loops.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import { projectRoot } from '#lib/files.ts'
import type { Database } from '#postgres/database.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { loadTokens } from './attestations.ts'
import { ringEntries } from './checkpoint-keys.ts'
import { newestCheckpoint } from './checkpoints.ts'
import { proveLogInclusion } from './installation-log.ts'
import { exportLines } from './verify.ts'

/** A file of an audit pack beside the ledger. `name` is its path in the pack; long ones are read line by line. */
type Evidence = { readonly name: string } & ({ readonly bytes: Buffer } | { lines(): AsyncIterable<string> })

/** Names of events for people. */
export interface PackWords {
  eventName(type: string): string
  subjectName(subject: string): string
  originName(origin: Envelope['origin']): string
  /** In the company's time zone. */
  timeOf(recorded_at: string): string
}

/** Content of an audit pack. */
export interface PackWanted {
  readonly companyId: number
  readonly companyName: string
  /** The last event included. */
  readonly head: { readonly revision: number; readonly hash: string }
  /** Events that the newest checkpoint covers, from revision 0; null if there is none. */
  readonly covered: number | null
  /** Whether the pack includes a file with personal data in clear text. */
  readonly isOpened: boolean
  readonly evidence: readonly Evidence[]
  readonly words: PackWords
  /** Creation time, UTC. */
  readonly now: string
}

const FILES: readonly (readonly [name: string, what: string])[] = [
  [
    'livro.jsonl',
    'todos os eventos, um por linha, exatamente como foram gravados e encadeados (dados pessoais lacrados)',
  ],
  [
    'indice.csv',
    'os mesmos eventos em palavras, para planilhas: revisão, quando, atividade, registro, origem, quem, hash',
  ],
  [
    'dados-abertos.jsonl',
    'o que cada evento diz com os dados pessoais abertos; nulo onde foram excluídos. Guarde-o com cuidado',
  ],
  ['provas/', 'o que foi assinado sobre o livro: checkpoints, chaves e suas sucessões'],
  ['tillbook-verify.mjs', 'o verificador: um só arquivo, que só precisa do Node'],
  ['proof.md', 'a especificação de todos os formatos, para quem quiser escrever o seu próprio verificador'],
]

/** Describes the newest checkpoint and the events that it does not cover yet. */
function coverage({ covered, head }: PackWanted): string {
  const events = head.revision + 1
  if (covered === null)
    return 'Nenhum checkpoint cobre este livro ainda: o encadeamento pode ser conferido, mas nada prova que o fim não foi cortado.'
  if (covered >= events) return `O checkpoint mais novo cobre todos os ${events} eventos deste pacote.`
  return `O checkpoint mais novo cobre os primeiros ${covered} eventos. Os das revisões ${covered} a ${head.revision} ainda não são cobertos: peça outro pacote depois da próxima hora cheia.`
}

/** README of the pack: its content and how to verify it. */
function guideOf(wanted: PackWanted): string {
  const { companyName, companyId, head, isOpened, evidence, now } = wanted
  const has = new Set([
    'livro.jsonl',
    'indice.csv',
    ...(isOpened ? ['dados-abertos.jsonl'] : []),
    ...evidence.map(({ name }) => name),
  ])
  const isThere = (name: string) => has.has(name) || [...has].some((file) => file.startsWith(name))
  const files = FILES.filter(([name]) => isThere(name)).map(([name, what]) => `  ${name.padEnd(22)}${what}`)
  const proofs = [...has].filter((name) => /^provas\/.*\.(checkpoints|jsonl|tlog-proof)$/.test(name))
  const check = has.has('tillbook-verify.mjs')
    ? `  node tillbook-verify.mjs --key CHAVE livro.jsonl ${proofs.join(' ')}`.trimEnd()
    : '  tillbook ledger verify --file livro.jsonl'
  return `PACOTE DE AUDITORIA
${companyName} (empresa ${companyId})
Feito em ${now} (UTC)
Eventos: ${head.revision + 1}, das revisões 0 a ${head.revision}
Hash do último: ${head.hash}

${coverage(wanted)}

O QUE HÁ AQUI

${files.join('\n')}

COMO CONFERIR

Com o Node 20 ou mais novo, nesta pasta:

${check}

CHAVE é a chave pública (ou o arquivo delas) que você recebeu quando conheceu o
serviço, ou de GET /proof/keys; sem ela fica em aberto de quem são as assinaturas.
Um carimbo de tempo se confere com o OpenSSL, sobre o texto que foi assinado (as
linhas de provas/installation.checkpoint até a linha em branco, exclusive):

  sed '/^$/,$d' provas/installation.checkpoint > checkpoint.txt
  openssl ts -verify -in provas/carimbo-1.tsr -data checkpoint.txt -CAfile AUTORIDADE.pem

Nada é pedido ao serviço: a conferência recalcula o hash de cada evento e o
encadeamento desde a revisão 0, e compara com o que foi assinado. Compare também
com os checkpoints e recibos que você ou terceiros guardaram antes: basta pôr os
arquivos deles no fim do mesmo comando. O que está em provas/ foi posto aqui pelo próprio serviço.

O último evento conferido deve ser o da revisão ${head.revision}, com o hash acima.
`
}

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
    const page = await searchOpened(reading, streamName(companyId), {
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
 * verifier, and an index for people. Memory does not grow with the ledger; `signal` aborts the stream.
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

/** Verifier and format description, shipped with the program. */
const TOOLS = ['verifier/tillbook-verify.mjs', 'docs/proof.md']

/** Checkpoints read at once. */
const PAGE = 1_000

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const fileAs = (name: string, path: string): Evidence[] =>
  existsSync(path) ? [{ name, lines: () => createReadStream(path, 'utf8') }] : []

/** A ledger's checkpoints in the format of their file, up to the number of exported events. */
async function* checkpointLines(pool: Database, companyId: number, events: number): AsyncGenerator<string> {
  for (let [generation, size] = [0, 0]; ; ) {
    const { rows } = await pool.query<{ generation: number; size: number; note: string; made_at: string }>(
      `select generation, size, note, made_at from ops.ledger_checkpoints
       where company_id = $1 and (generation, size) > ($2, $3) and size <= $4 order by generation, size limit $5`,
      [companyId, generation, size, events, PAGE],
    )
    for (const { note, made_at } of rows) yield `${JSON.stringify({ note, made_at })}\n`
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    ;({ generation, size } = last)
  }
}

interface Vouched {
  /** Events that the newest checkpoint covers; null if there is none. */
  readonly covered: number | null
  /** Evidence for the first `events` events of the ledger; at least `covered`. */
  evidenceOf(events: number): Evidence[]
}

/**
 * Collects the evidence for a company's ledger. Call it before reading the ledger's head, so that the evidence covers
 * no event beyond the export.
 */
export async function packEvidence(pool: Database, companyId: number): Promise<Vouched> {
  const newest = await newestCheckpoint(pool, companyId)
  const place = await proveLogInclusion(pool, companyId)
  const tokens = place ? await loadTokens(pool, place.checkpoint.size) : []
  const keys = await ringEntries(pool)
  const proofs: Evidence[] = [
    ...(keys.length > 0
      ? [{ name: 'provas/keys.jsonl', bytes: Buffer.from(keys.map((entry) => `${JSON.stringify(entry)}\n`).join('')) }]
      : []),
    ...(place ? [{ name: 'provas/lugar.tlog-proof', bytes: Buffer.from(place.proof) }] : []),
    ...(place ? [{ name: 'provas/installation.checkpoint', bytes: Buffer.from(place.checkpoint.note) }] : []),
    ...tokens
      .filter(({ kind }) => kind === 'time_stamp')
      .map(({ token }, at) => ({ name: `provas/carimbo-${at + 1}.tsr`, bytes: token })),
  ]
  return {
    covered: newest?.size ?? null,
    evidenceOf: (events) => [
      ...(newest
        ? [
            {
              name: `provas/company-${companyId}.checkpoints`,
              lines: () => checkpointLines(pool, companyId, events),
            },
          ]
        : []),
      ...proofs,
      ...TOOLS.flatMap((path) => fileAs(nameOf(path), join(projectRoot(), path))),
    ],
  }
}

const NOTED_EVERY_MS = 1_000
/** Seconds without progress after which a download counts as broken: its process has ended. */
const SILENT_SECONDS = 30

export type DownloadKind = 'audit_pack' | 'opened_audit_pack' | 'person_file'

/** A file downloaded from the panel, finished or in progress. */
export interface Download {
  readonly id: number
  readonly user_id: number
  readonly kind: DownloadKind
  /** Set for a data export of a person, as `customer/9`. */
  readonly subject: string | null
  /** UTC. */
  readonly begun_at: string
  /** Events written to an audit pack, and their total. */
  readonly done: number
  readonly total: number
  readonly state: 'running' | 'whole' | 'broken'
}

type DownloadRequest = Pick<Download, 'user_id' | 'kind' | 'subject'> & { readonly companyId: number }

/**
 * Records a download before its first byte is sent, so that none goes unrecorded, and records the outcome.
 * `work` reports progress, which is stored once a second, and returns whether the download was complete.
 */
export async function recordDownload(
  pool: Pool,
  { companyId, user_id, kind, subject }: DownloadRequest,
  work: (tell: (done: number, total: number) => void) => Promise<boolean>,
): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    'insert into ops.downloads (company_id, user_id, kind, subject) values ($1, $2, $3, $4) returning id',
    [companyId, user_id, kind, subject],
  )
  const id = rows[0]?.id
  let came: readonly [done: number, total: number] = [0, 0]
  const note = () =>
    pool.query(
      'update ops.downloads set done = $2, total = $3, seen_at = clock_timestamp() where company_id = $4 and id = $1',
      [id, ...came, companyId],
    )
  // A failed write is repeated a second later, or at the end.
  const noting = repeat(note, NOTED_EVERY_MS, () => {})
  let isWhole = false
  try {
    isWhole = await work((...how) => {
      came = how
    })
  } finally {
    await noting.stop()
    await pool.query(
      'update ops.downloads set done = $2, total = $3, ended_at = clock_timestamp(), is_whole = $4 where company_id = $5 and id = $1',
      [id, ...came, isWhole, companyId],
    )
  }
}

/** Newest first: up to `limit` downloads before an id. */
export async function listDownloads(
  reader: Reader,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Download[]> {
  const { rows } = await reader.query<Download>({
    text: `select id, user_id, kind, subject, begun_at, done, total,
       case when is_whole then 'whole'
         when is_whole is null and seen_at > clock_timestamp() - make_interval(secs => $4) then 'running'
         else 'broken' end as state
     from ${t.downloads} where company_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    values: [before, limit, SILENT_SECONDS],
  })
  return rows
}
