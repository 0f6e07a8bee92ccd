import { createHash } from 'node:crypto'
import { formatCount } from '#domain/brazilian-format.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { httpStatusOf, Problem } from '#http/problems.ts'
import { MAX_LINES, readSheet, type Sheet } from '#imports/sheet.ts'
import { deleteStoredFile, type KeptFile, keepLines, loadStoredFile, storeFile } from '#imports/stored-file.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { ownValue } from '#lib/own-value.ts'
import { csvRow } from '#lib/spreadsheet-text.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import { type Fields, formText } from '../forms/form.ts'
import { bothReadings, type ChosenMarks, type DecimalMark, type NumberColumn } from '../import/cells.ts'
import { candidatesOf, createHeadWords, guessMapping, type ImportMapping } from '../import/heads.ts'
import { type ImportResult, type Plan, planImport, runImport } from '../import/import.ts'
import { IMPORTED, type ImportableKind } from '../import/kinds.ts'
import { isWrong, rowMessages } from '../import/plan.ts'
import { REASON_HEAD } from '../import/unmapped-columns.ts'
import { withoutStrayVariants } from '../import/variants.ts'
import { link } from '../link.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, TableOf } from '../route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card, Nothing, Stat, Stats } from '../ui/parts.tsx'
import {
  type CheckedFile,
  Doubts,
  Errors,
  type ImportCheck,
  ImportWarnings,
  wrongLinesPath,
} from './import-findings.tsx'

/** Displayed lines. */
const SHOWN_LINES = 5

/** Files that are read or looked through at a time: each takes some MB meanwhile. */
const semaphore = createKeyedSemaphore({ running: 3, runningOfKey: 1, waiting: 32 })

/** Field of the form that says which file was checked. */
const DIGEST = 'arquivo'

const pathOf = ({ path }: ImportableKind): string => `${path}/importar`
const checkPathOf = (imported: ImportableKind): string => `${pathOf(imported)}/conferir`
const parentOf = ({ path, words }: ImportableKind) => ({ label: words.all, to: path })

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
      <form method="post" action={link(pathOf(imported))} enctype="multipart/form-data" class="form card">
        <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
        <input type="hidden" name="_key" value={visit.context.newId()} />
        <div class="field w12">
          <label for="campo-file">Arquivo CSV</label>
          <input id="campo-file" name="file" type="file" accept=".csv,text/csv" required aria-describedby="dica-file" />
          <p class="hint" id="dica-file">
            {`Até ${formatCount(MAX_LINES)} linhas, com os títulos das colunas na primeira. No Excel: Salvar como, CSV UTF-8.`}
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
  const page = { title: imported.words.title, parent: parentOf(imported), body }
  return refusal ? { ...page, status: httpStatusOf(refusal.refused) } : page
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

const MARKS: Readonly<Record<string, DecimalMark>> = { virgula: 'comma', ponto: 'dot' }

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

const fileStoreOf = ({ context: { poolOf, vault }, session: { companyId } }: PageContext) => ({
  pool: poolOf(companyId),
  vault,
  pause: createTimeSlicer(companyId),
})

/** Two columns for one field: none of them is the right one for certain. */
function twice({ reading }: ImportableKind, mapping: ImportMapping, fields: Fields): string | null {
  const names = [...mapping.values()].filter((name) => !reading.shared.includes(name))
  const name = names.find((one, at) => names.indexOf(one) !== at)
  return name === undefined ? null : `Há duas colunas para "${fields[name]?.label}".`
}

/** Null where no file waits. One of a company is looked through at a time, in slices. */
const check = (
  imported: ImportableKind,
  visit: PageContext,
  chosen: Readonly<Record<string, unknown>>,
): Promise<CheckedFile | null> =>
  semaphore.run(visit.session.companyId, async () => {
    const keeping = fileStoreOf(visit)
    const file = await loadStoredFile(keeping, visit.session, imported.kind)
    if (file === null) return null
    const { sheet } = file
    const fields = await imported.fields(visit)
    const mapping = mappingOf(imported, sheet, fields, chosen)
    const problem = twice(imported, mapping, fields)
    const marks = marksOf(sheet, chosen)
    const read = { sheet, fields, mapping: problem === null ? mapping : new Map(), marks, pause: keeping.pause }
    return { file, mapping, fields, problem, plan: await planImport(imported, visit, read) }
  })

const noFilePage = (imported: ImportableKind): PanelPage => ({
  title: imported.words.title,
  parent: parentOf(imported),
  body: (
    <Nothing title="Nenhum arquivo para importar" action={{ label: 'Escolher um arquivo', to: pathOf(imported) }}>
      Um arquivo fica guardado por uma hora, até ser importado.
    </Nothing>
  ),
})

function checkPage(imported: ImportableKind, visit: PageContext, checked: CheckedFile): PanelPage {
  const { problem } = checked
  const body = (
    <>
      <Doubts imported={imported} checked={checked} />
      {problem === null ? (
        <ImportPreview imported={imported} visit={visit} checked={checked} />
      ) : (
        <Alert>{problem}</Alert>
      )}
      <Columns imported={imported} checked={checked} />
    </>
  )
  const parent = { label: imported.words.title, to: pathOf(imported) }
  return { title: 'Conferir o arquivo', parent, body, ...(problem !== null && { status: 422 }) }
}

async function showCheck(imported: ImportableKind, visit: PageContext): Promise<PanelPage> {
  const checked = await check(imported, visit, visit.query)
  return checked ? checkPage(imported, visit, checked) : noFilePage(imported)
}

interface ImportPreviewProps {
  readonly imported: ImportableKind
  readonly visit: PageContext
  readonly checked: CheckedFile
}

const ImportPreview = ({ imported, visit, checked: { file, mapping, plan } }: ImportPreviewProps) => {
  const errors = plan.lines.filter(isWrong)
  const right = plan.lines.flatMap((line) => (isWrong(line) ? [] : [line]))
  const created = right.filter(({ id }) => id === null).length
  return (
    <>
      <Stats>
        <Stat label="Novos" value={created} />
        <Stat label="Já cadastrados" value={right.length - created} hint="Serão atualizados com os dados do arquivo." />
        <Stat label="Com erro" value={errors.length} hint={errors.length > 0 ? 'Não serão importados.' : undefined} />
        {plan.newCategories.length > 0 && <Stat label="Categorias novas" value={plan.newCategories.length} />}
      </Stats>
      {right.length > 0 && (
        <form method="post" action={link(checkPathOf(imported))} class="form">
          <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
          <input type="hidden" name="_key" value={visit.context.newId()} />
          <input type="hidden" name={DIGEST} value={file.digest} />
          {Object.entries(readingOf(mapping, plan)).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <div class="actions">
            <button type="submit" class="main">
              {right.length === 1 ? 'Importar 1 linha' : `Importar ${formatCount(right.length)} linhas`}
            </button>
          </div>
        </form>
      )}
      <Errors imported={imported} errors={errors} reading={readingOf(mapping, plan)} />
      <ImportWarnings warnings={plan.warnings} />
    </>
  )
}

/** How columns and numbers of a checked file are read, as fields of a form. */
const readingOf = (mapping: ImportMapping, plan: Plan): Record<string, string> =>
  Object.fromEntries([
    ...[...mapping].map(([column, field]) => [`coluna-${column}`, field]),
    ...[...plan.numbers.values()].flatMap(({ column, mark, isAsked }) =>
      isAsked && mark !== null ? [[`numeros-${column}`, wordOf(mark)]] : [],
    ),
  ])

const wordOf = (mark: DecimalMark): string => (mark === 'comma' ? 'virgula' : 'ponto')

interface MarkChoiceProps {
  readonly number: NumberColumn
  readonly head: string
}

/** Asks how the numbers of a column are written; nothing is chosen for the user. */
const MarkChoice = ({ number: { column, example, mark }, head }: MarkChoiceProps) => (
  <select name={`numeros-${column}`} aria-label={`Formato dos números da coluna ${head || column + 1}`}>
    <option value="">Como ler {example}?</option>
    {Object.entries(MARKS).map(([word, one]) => (
      <option key={word} value={word} selected={one === mark}>
        {`${example} é ${bothReadings(example)[one]}`}
      </option>
    ))}
  </select>
)

/** What each column holds, to be put right. */
const Columns = ({ imported, checked: { file, mapping, fields, plan } }: ImportCheck) => (
  <Card title="Colunas do arquivo">
    <form method="get" action={link(checkPathOf(imported))} class="form">
      <ListTable
        caption="Colunas do arquivo"
        rows={file.sheet.heads.map((head, column) => ({ head, column }))}
        empty=""
        columns={[
          { head: 'Coluna do arquivo', cell: ({ head, column }) => head || `Coluna ${column + 1}` },
          {
            head: 'Campo no Tillbook',
            cell: ({ head, column }) => (
              <>
                <select name={`coluna-${column}`} aria-label={`Campo da coluna ${head || column + 1}`}>
                  <option value="">Não importar</option>
                  {Object.entries(fields).map(([name, { label }]) => (
                    <option key={name} value={name} selected={mapping.get(column) === name}>
                      {label}
                    </option>
                  ))}
                </select>
                {[...plan.numbers.values()].map(
                  (number) =>
                    number.isAsked &&
                    number.column === column && <MarkChoice key={column} number={number} head={head} />,
                )}
              </>
            ),
          },
          {
            head: 'Exemplos',
            isExtra: true,
            cell: ({ column }) =>
              file.sheet.lines
                .slice(0, SHOWN_LINES)
                .map(({ cells }) => cells[column])
                .filter(Boolean)
                .map((cell) => cell?.slice(0, 40))
                .join(' · '),
          },
        ]}
      />
      <div class="actions">
        <button type="submit">Conferir de novo</button>
      </div>
    </form>
  </Card>
)

async function upload(imported: ImportableKind, submission: FormSubmission) {
  const { session, file } = submission
  if (!file || file.length === 0)
    return uploadPage(imported, submission, invalid('file', 'escolha um arquivo que não esteja vazio'))
  const words = createHeadWords(await imported.fields(submission), imported.heads)
  return semaphore.run(session.companyId, async () => {
    const keeping = fileStoreOf(submission)
    const sheet = await readSheet(file, keeping.pause, (cell) => candidatesOf(words, cell).length > 0)
    if (isRefusal(sheet)) return uploadPage(imported, submission, sheet)
    const digest = createHash('sha256').update(file).digest('hex')
    await storeFile(keeping, session, imported.kind, { digest, sheet })
    return { to: checkPathOf(imported) }
  })
}

/** Imports the file that the form was made for, and no other that was uploaded since (PANEL-323). */
async function importFile(imported: ImportableKind, submission: FormSubmission): Promise<PanelPage> {
  const { form } = submission
  const checked = await check(imported, submission, form)
  if (!checked) return noFilePage(imported)
  if (checked.file.digest !== formText(form, DIGEST)) return otherFilePage(imported)
  if (checked.problem !== null) return checkPage(imported, submission, checked)
  const done = await runImport(imported, submission, checked.plan)
  if (isRefusal(done)) return uploadPage(imported, submission, done)
  await putAway(submission, checked.file, done)
  return donePage(imported, done)
}

/** Of an imported file only the wrong lines stay, with their reasons. */
async function putAway(submission: FormSubmission, file: KeptFile, { errors }: ImportResult): Promise<void> {
  const { session } = submission
  const keeping = fileStoreOf(submission)
  if (errors.length === 0) return deleteStoredFile(keeping.pool, session, file)
  const reasons = new Map(errors.map(({ number, errors }) => [number, errors.join('; ')]))
  const wrong = file.sheet.lines.flatMap((line) => {
    const problem = reasons.get(line.number)
    return problem === undefined ? [] : [{ ...line, problem }]
  })
  await keepLines(keeping, session, file, wrong)
}

/** The lines that are not imported, with the reason in a last column, to be mended and imported (IMPORT-103). */
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
  parent: parentOf(imported),
  status: 409,
  body: (
    <Nothing title="O arquivo foi trocado" action={{ label: 'Conferir o arquivo novo', to: checkPathOf(imported) }}>
      Outro arquivo foi enviado depois desta conferência. Nada foi importado.
    </Nothing>
  ),
})

const donePage = (imported: ImportableKind, { created, updated, unchanged, errors }: ImportResult): PanelPage => ({
  title: 'Arquivo importado',
  parent: parentOf(imported),
  main: { label: `Ver ${imported.words.all.toLowerCase()}`, to: imported.path },
  more: [{ label: 'Importar outro arquivo', to: pathOf(imported) }],
  body: (
    <>
      <Stats>
        <Stat label="Criados" value={created} to={imported.path} />
        <Stat label="Alterados" value={updated} to={imported.path} />
        <Stat label="Iguais" value={unchanged} />
        <Stat label="Com erro" value={errors.length} />
      </Stats>
      <Errors imported={imported} errors={errors} />
      {errors.length > 0 && (
        <p>Corrija estas linhas e importe o arquivo de novo: o que já foi importado não é repetido.</p>
      )}
    </>
  ),
})

/** Import of a file: chosen, looked through, imported. */
const importPages = (imported: ImportableKind): PanelRoute[] => {
  const { section } = imported
  const [path, checkPath] = [pathOf(imported), checkPathOf(imported)]
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
