import { createHash } from 'node:crypto'
import { formatCount } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { csvRow } from '#domain/text.ts'
import { Problem, toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { DryRun } from '#ledger/write/idempotency.ts'
import { ownValue } from '#lib/collections.ts'
import { createKeyedSemaphore, createTimeSlicer } from '#lib/fair-sharing.ts'
import { ENCODINGS, type Encoding, type Pause } from '#panel/import/encoding.ts'
import { type KeptFile, keepLines, loadStoredFile, storeFile } from '#panel/import/import-plan.ts'
import { MAX_LINES, readSheet, type Sheet } from '#panel/import/sheet.ts'
import { deleteImport } from '#privacy/stored-imports.ts'
import { type Fields, formText, formTexts } from '../forms/panel-form.ts'
import {
  createHeadWords,
  findCandidates,
  guessMapping,
  type ImportMapping,
  REASON_HEAD,
} from '../import/column-titles.ts'
import { IMPORTED, type ImportableKind } from '../import/import-kinds.ts'
import type { ChosenMarks } from '../import/import-lines.ts'
import { isWrong, rowMessages, type ValidRow } from '../import/import-plan.ts'
import { type ImportResult, planImport, runImport, tryImport } from '../import/run-import.ts'
import { fromWooCommerce, withoutStrayVariants } from '../import/variant-rows.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, TableOf } from '../panel-route.ts'
import { TRY } from '../ui/form-fields.tsx'
import { DryRunCard } from '../ui/form-pages.tsx'
import { Alert, Card, Nothing, Stat, Stats } from '../ui/page-parts.tsx'
import {
  CONFIRMED,
  CONFIRMED_KIND,
  checkPage,
  DIGEST,
  ENCODING,
  MARKS,
  toCheckPath,
  toImportPath,
  toParentLink,
} from './import-check.tsx'
import { type CheckedFile, Errors, lineNames, wrongLinesPath } from './import-findings.tsx'

/** Files that are read or looked through at a time: each takes some MB meanwhile. */
const semaphore = createKeyedSemaphore({ running: 3, runningOfKey: 1, waiting: 32 })

/** Files that browsers offer. */
const ACCEPTED = '.xlsx,.csv,.txt,text/csv,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

async function uploadPage(imported: ImportableKind, visit: PageContext, refusal?: Refusal): Promise<PanelPage> {
  const fields = await imported.fields(visit)
  const keys = imported.reading.keyFields.flatMap(({ name, isLast }) => (isLast ? [] : [fields[name]?.label]))
  const body = (
    <>
      {refusal && (
        <Alert>{`O arquivo ${rowMessages(refusal, {})
          .join('; ')
          .replace(/^file: /, '')}.`}</Alert>
      )}
      <form method="post" action={link(toImportPath(imported))} enctype="multipart/form-data" class="form wide">
        <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
        <input type="hidden" name="_key" value={visit.context.environment.newId()} />
        <div class="field w12">
          <label for="campo-file">Planilha (XLSX ou CSV)</label>
          <input id="campo-file" name="file" type="file" accept={ACCEPTED} required aria-describedby="dica-file" />
          <p class="hint" id="dica-file">
            {`Até ${formatCount(MAX_LINES)} linhas e 2 MB, com os títulos das colunas na primeira linha. De um arquivo do Excel, vale a primeira planilha.`}
          </p>
        </div>
        <div class="actions">
          <button type="submit" class="main">
            Conferir o arquivo
          </button>
        </div>
      </form>
      <Card title="Como funciona">
        <p>
          Nada é gravado antes de você conferir. Cadastros que já existem são atualizados, sem repetir: reconhecemos
          cada linha por {keys.slice(0, -1).join(', ')} ou {keys.at(-1)}, nesta ordem; sem código, pelo nome. Células
          vazias não apagam nada.
        </p>
        {imported.reading.onlyNew.includes('stock') && (
          <p>O estoque do arquivo vale só para produtos novos: o dos outros já mudou com as vendas.</p>
        )}
        <details>
          <summary>Exemplo para copiar</summary>
          <pre>{exampleOf(imported, fields)}</pre>
        </details>
      </Card>
    </>
  )
  const page = { title: imported.words.title, parent: toParentLink(imported), body }
  return refusal ? { ...page, status: toHttpStatus(refusal.refused) } : page
}

function exampleOf({ example }: ImportableKind, fields: Fields): string {
  const named = Object.entries(example).filter(([name]) => Object.hasOwn(fields, name))
  const heads = named.map(([name]) => fields[name]?.label ?? name)
  return csvRow(heads) + csvRow(named.map(([, value]) => value))
}

/** Columns as the page has them, or as their heads say. */
function mappingOf(
  imported: ImportableKind,
  { heads }: Sheet,
  fields: Fields,
  chosen: Readonly<Record<string, unknown>>,
): ImportMapping {
  const columns = heads.map((_, column) => chosen[`coluna-${column}`])
  if (columns.every((one) => one === undefined))
    return withoutStrayVariants(guessMapping(heads, createHeadWords(fields, imported.heads), imported.reading.shared))
  return new Map(
    columns.flatMap((field, column) =>
      typeof field === 'string' && Object.hasOwn(fields, field) ? [[column, field] as const] : [],
    ),
  )
}

/** How the numbers of columns are written, as chosen on the page. */
function marksOf({ heads }: Sheet, chosen: Readonly<Record<string, unknown>>): ChosenMarks {
  return new Map(
    heads.flatMap((_, column) => {
      const word = chosen[`numeros-${column}`]
      const mark = typeof word === 'string' ? ownValue(MARKS, word) : undefined
      return mark === undefined ? [] : [[column, mark] as const]
    }),
  )
}

const fileStoreOf = ({ context: { reads }, session: { companyId } }: PageContext) => ({
  pool: reads.poolOf(companyId),
  vault: reads.vault,
  pause: createTimeSlicer(companyId),
})

/** Two columns for one field: none of them is the right one for certain. */
function twice({ reading }: ImportableKind, mapping: ImportMapping, fields: Fields): string | null {
  const names = [...mapping.values()].filter((name) => !reading.shared.includes(name))
  const name = names.find((one, at) => names.indexOf(one) !== at)
  return name === undefined ? null : `Há duas colunas para "${fields[name]?.label}".`
}

/** A file as a table: its titles, and what other programs write in a way of their own. */
async function readTable(
  imported: ImportableKind,
  fields: Fields,
  bytes: Buffer,
  pause: Pause,
  encoding?: Encoding,
): Promise<Sheet | Refusal> {
  const words = createHeadWords(fields, imported.heads)
  const sheet = await readSheet(bytes, pause, { isHead: (cell) => findCandidates(words, cell).length > 0, encoding })
  if (isRefusal(sheet) || imported.kind !== 'items') return sheet
  return fromWooCommerce(sheet, guessMapping(sheet.heads, words, imported.reading.shared))
}

/** The file, read again if the user has chosen another encoding. */
async function inChosenEncoding(
  imported: ImportableKind,
  fields: Fields,
  file: KeptFile,
  chosen: Readonly<Record<string, unknown>>,
  pause: Pause,
): Promise<KeptFile> {
  const encoding = chosen[ENCODING]
  const isOther = typeof encoding === 'string' && Object.hasOwn(ENCODINGS, encoding) && file.source.length > 0
  if (!isOther || encoding === file.sheet.origin.encoding) return file
  const sheet = await readTable(imported, fields, file.source, pause, encoding as Encoding)
  return isRefusal(sheet) ? file : { ...file, sheet }
}

/** Null where no file waits. One of a company is looked through at a time, in slices. */
const check = (
  imported: ImportableKind,
  visit: PageContext,
  chosen: Readonly<Record<string, unknown>>,
): Promise<CheckedFile | null> =>
  semaphore.run(visit.session.companyId, async () => {
    const keeping = fileStoreOf(visit)
    const stored = await loadStoredFile(keeping, visit.session, imported.kind)
    if (stored === null) return null
    const fields = await imported.fields(visit)
    const file = await inChosenEncoding(imported, fields, stored, chosen, keeping.pause)
    const { sheet } = file
    const mapping = mappingOf(imported, sheet, fields, chosen)
    const problem = twice(imported, mapping, fields)
    const marks = marksOf(sheet, chosen)
    const read = { sheet, fields, mapping: problem === null ? mapping : new Map(), marks, pause: keeping.pause }
    const encoding = file === stored ? null : sheet.origin.encoding
    return { file, mapping, fields, encoding, problem, plan: await planImport(imported, visit, read) }
  })

const noFilePage = (imported: ImportableKind): PanelPage => ({
  title: imported.words.title,
  parent: toParentLink(imported),
  body: (
    <Nothing title="Nenhum arquivo para importar" action={{ label: 'Escolher um arquivo', to: toImportPath(imported) }}>
      Um arquivo fica guardado por uma hora, até ser importado.
    </Nothing>
  ),
})

async function showCheck(imported: ImportableKind, visit: PageContext): Promise<PanelPage> {
  const checked = await check(imported, visit, visit.query)
  return checked ? checkPage(imported, visit, checked) : noFilePage(imported)
}

async function upload(imported: ImportableKind, submission: FormSubmission) {
  const { session, file } = submission
  if (!file || file.length === 0)
    return uploadPage(imported, submission, refuseField('file', 'escolha um arquivo que não esteja vazio'))
  const fields = await imported.fields(submission)
  return semaphore.run(session.companyId, async () => {
    const keeping = fileStoreOf(submission)
    const sheet = await readTable(imported, fields, file, keeping.pause)
    if (isRefusal(sheet)) return uploadPage(imported, submission, sheet)
    const digest = createHash('sha256').update(file).digest('hex')
    await storeFile(keeping, session, imported.kind, { digest, sheet }, file)
    return { to: toCheckPath(imported) }
  })
}

/** Imports the file that the form was made for, and no other that was uploaded since. */
async function importFile(imported: ImportableKind, submission: FormSubmission): Promise<PanelPage> {
  const { form } = submission
  const checked = await check(imported, submission, form)
  if (!checked) return noFilePage(imported)
  if (checked.file.digest !== formText(form, DIGEST)) return otherFilePage(imported)
  if (checked.problem !== null) return checkPage(imported, submission, checked)
  const [lines, kinds] = [new Set(formTexts(form, CONFIRMED)), new Set(formTexts(form, CONFIRMED_KIND))]
  const isConfirmed = ({ number, doubt }: ValidRow) => lines.has(String(number)) || kinds.has(doubt?.kind ?? '')
  if (formText(form, TRY) !== '') {
    const told: DryRun[] = []
    const errors = await tryImport(imported, submission.tried(told), checked.plan, isConfirmed)
    if (isRefusal(errors)) return uploadPage(imported, submission, errors)
    const page = await checkPage(imported, submission, checked)
    return { ...page, body: [await DryRunCard({ visit: submission, told, errors }), page.body] }
  }
  const done = await runImport(imported, submission, checked.plan, isConfirmed)
  if (isRefusal(done)) return uploadPage(imported, submission, done)
  await putAway(submission, checked.file, done)
  return donePage(imported, checked, done)
}

/** Of an imported file only the wrong lines stay, with their reasons, and those that were not confirmed. */
async function putAway(submission: FormSubmission, file: KeptFile, { errors, skipped }: ImportResult): Promise<void> {
  const { session } = submission
  const keeping = fileStoreOf(submission)
  if (errors.length + skipped.length === 0) return deleteImport(keeping.pool, session, file)
  const reasons = new Map(errors.map(({ number, errors }) => [number, errors.join('; ')]))
  const unconfirmed = new Set(skipped)
  const left = file.sheet.lines.flatMap((line) => {
    const problem = reasons.get(line.number)
    if (problem !== undefined) return [{ ...line, problem }]
    return unconfirmed.has(line.number) ? [line] : []
  })
  await keepLines(keeping, session, file, left)
}

/** The lines that are not imported, with the reason in a last column, to be mended and imported. */
async function wrongLines(imported: ImportableKind, visit: PageContext): Promise<TableOf> {
  const checked = await check(imported, visit, visit.query)
  if (checked === null) throw new Problem('not_found')
  const { heads, lines } = checked.file.sheet
  const width = Math.max(heads.length, ...lines.map(({ cells }) => cells.length))
  const kept = heads.flatMap((head, column) => (head === REASON_HEAD ? [] : [column]))
  const columns = [...kept, ...Array.from({ length: width - heads.length }, (_, at) => heads.length + at)]
  const reasons = new Map(checked.plan.lines.filter(isWrong).map(({ number, errors }) => [number, errors.join('; ')]))
  async function* rows() {
    for (const { number, cells } of lines) {
      const reason = reasons.get(number)
      if (reason !== undefined) yield [...columns.map((column) => cells[column]), reason]
    }
  }
  return { heads: [...columns.map((column) => heads[column] ?? ''), REASON_HEAD], rows: rows() }
}

const otherFilePage = (imported: ImportableKind): PanelPage => ({
  title: imported.words.title,
  parent: toParentLink(imported),
  status: 409,
  body: (
    <Nothing title="O arquivo foi trocado" action={{ label: 'Conferir o arquivo novo', to: toCheckPath(imported) }}>
      Outro arquivo foi enviado depois desta conferência. Nada foi importado.
    </Nothing>
  ),
})

const donePage = (
  imported: ImportableKind,
  checked: CheckedFile,
  { created, updated, unchanged, errors, skipped }: ImportResult,
): PanelPage => ({
  title: 'Arquivo importado',
  parent: toParentLink(imported),
  main: { label: `Ver ${imported.words.all.toLowerCase()}`, to: imported.path },
  more: [{ label: 'Importar outro arquivo', to: toImportPath(imported) }],
  body: (
    <>
      <Stats>
        <Stat label="Criados" value={created} to={imported.path} />
        <Stat label="Alterados" value={updated} to={imported.path} />
        <Stat label="Iguais" value={unchanged} />
        <Stat label="Com erro" value={errors.length} />
        {skipped.length > 0 && <Stat label="Não confirmados" value={skipped.length} to={toCheckPath(imported)} />}
      </Stats>
      <Errors imported={imported} errors={errors} names={lineNames(checked)} />
      {errors.length > 0 && (
        <p>Corrija estas linhas e importe o arquivo de novo: o que já foi importado não é repetido.</p>
      )}
    </>
  ),
})

/** Import of a file: chosen, looked through, imported. */
const importPages = (imported: ImportableKind): PanelRoute[] => {
  const { section } = imported
  const [path, checkPath] = [toImportPath(imported), toCheckPath(imported)]
  return [
    { path, section, access: 'import', changes: true, show: (visit) => uploadPage(imported, visit) },
    { path, section, access: 'import', takesFile: true, submit: (submission) => upload(imported, submission) },
    { path: checkPath, section, access: 'import', changes: true, show: (visit) => showCheck(imported, visit) },
    { path: checkPath, section, access: 'import', submit: (submission) => importFile(imported, submission) },
    {
      path: wrongLinesPath(imported),
      section,
      access: 'import',
      changes: true,
      table: (visit) => wrongLines(imported, visit),
    },
  ]
}

export const importRoutes: readonly PanelRoute[] = IMPORTED.flatMap(importPages)
