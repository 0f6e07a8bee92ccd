import { formatCount } from '#domain/person-values.ts'
import { ENCODINGS } from '#panel/import/encoding.ts'
import type { SheetLine } from '#panel/import/sheet.ts'
import type { ImportMapping } from '../import/column-titles.ts'
import { DOUBT_KINDS, type DoubtKind } from '../import/import-doubts.ts'
import type { ImportableKind } from '../import/import-kinds.ts'
import { bothReadings, type DecimalMark, type NumberColumn } from '../import/import-lines.ts'
import { isWrong, type ValidRow, validRows } from '../import/import-plan.ts'
import { listNewCategories, type Plan } from '../import/run-import.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage } from '../panel-route.ts'
import { TryButton } from '../ui/form-fields.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card, Stat, Stats } from '../ui/page-parts.tsx'
import {
  type CheckedFile,
  Doubts,
  Errors,
  type ImportCheck,
  ImportWarnings,
  lineNames,
  PriceChanges,
  SHOWN_FINDINGS,
} from './import-findings.tsx'

/** Displayed lines of a column, and of an encoding. */
const [SHOWN_LINES, SHOWN_SAMPLES] = [5, 3]

/** Fields of the forms: the checked file, its encoding, and the lines in doubt that are imported. */
export const [DIGEST, ENCODING, CONFIRMED, CONFIRMED_KIND] = [
  'arquivo',
  'codificacao',
  'confirmar',
  'confirmar-tipo',
] as const

export const MARKS: Readonly<Record<string, DecimalMark>> = { virgula: 'comma', ponto: 'dot' }

export const toImportPath = ({ path }: ImportableKind): string => `${path}/importar`
export const toCheckPath = (imported: ImportableKind): string => `${toImportPath(imported)}/conferir`
export const toParentLink = ({ path, words }: ImportableKind) => ({ label: words.all, to: path })

export async function checkPage(
  imported: ImportableKind,
  visit: PageContext,
  checked: CheckedFile,
): Promise<PanelPage> {
  const { problem } = checked
  const body = (
    <>
      <Doubts imported={imported} checked={checked} />
      {problem === null ? await ImportPreview({ imported, visit, checked }) : <Alert>{problem}</Alert>}
      <EncodingChoice imported={imported} checked={checked} />
      <Columns imported={imported} checked={checked} />
    </>
  )
  const parent = { label: imported.words.title, to: toImportPath(imported) }
  return { title: 'Conferir o arquivo', parent, body, ...(problem !== null && { status: 422 }) }
}

interface ImportPreviewProps {
  readonly imported: ImportableKind
  readonly visit: PageContext
  readonly checked: CheckedFile
}

async function ImportPreview({ imported, visit, checked }: ImportPreviewProps) {
  const { file, plan, fields } = checked
  const errors = plan.lines.filter(isWrong)
  const valid = validRows(plan.lines)
  const [sure, doubted] = [valid.filter(({ doubt }) => !doubt), valid.filter(({ doubt }) => doubt)]
  const created = sure.filter(({ id }) => id === null).length
  const categories = listNewCategories(plan, sure).length
  const reading = readingOf(checked)
  const names = lineNames(checked)
  return (
    <>
      <Stats>
        <Stat label="Novos" value={created} />
        <Stat label="Já cadastrados" value={sure.length - created} hint="Serão atualizados com os dados do arquivo." />
        <Stat label="Com erro" value={errors.length} hint={errors.length > 0 ? 'Não serão importados.' : undefined} />
        {doubted.length > 0 && <Stat label="A confirmar" value={doubted.length} hint="Só entram os que você marcar." />}
        {categories > 0 && <Stat label="Categorias novas" value={categories} />}
      </Stats>
      {valid.length > 0 && (
        <form method="post" action={link(toCheckPath(imported))} class="form wide">
          <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
          <input type="hidden" name="_key" value={visit.context.environment.newId()} />
          <input type="hidden" name={DIGEST} value={file.digest} />
          {Object.entries(reading).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <DoubtedLines lines={doubted} names={names} />
          <div class="actions">
            <button type="submit" class="main">
              {importLabel(sure.length, doubted.length)}
            </button>
            <TryButton />
          </div>
        </form>
      )}
      <Errors imported={imported} errors={errors} names={names} reading={reading} />
      {await PriceChanges({ visit, changes: plan.prices, fields })}
      <ImportWarnings warnings={plan.warnings} names={names} />
    </>
  )
}

function importLabel(sure: number, doubted: number): string {
  if (sure === 0) return 'Importar as linhas marcadas'
  const lines = sure === 1 ? 'Importar 1 linha' : `Importar ${formatCount(sure)} linhas`
  return doubted === 0 ? lines : `${lines} e as marcadas`
}

interface DoubtedLinesProps {
  readonly lines: readonly ValidRow[]
  readonly names: (line: number) => string
}

/** Lines that are imported only if they are ticked, by the kind of doubt. */
const DoubtedLines = ({ lines, names }: DoubtedLinesProps) => (
  <>
    {(Object.keys(DOUBT_KINDS) as DoubtKind[]).map((kind) => {
      const ofKind = lines.filter(({ doubt }) => doubt?.kind === kind)
      if (ofKind.length === 0) return null
      const title = `Confira: ${DOUBT_KINDS[kind].toLowerCase()}`
      return (
        <section key={kind}>
          <h2>{title}</h2>
          <p>
            {ofKind.length === 1
              ? 'Esta linha só será importada se você marcar.'
              : `Destas ${formatCount(ofKind.length)} linhas, só serão importadas as que você marcar.`}
          </p>
          {ofKind.length > 1 && (
            <label class="choice">
              <input type="checkbox" name={CONFIRMED_KIND} value={kind} />
              {`Importar todas as ${formatCount(ofKind.length)}`}
            </label>
          )}
          <ListTable
            caption={title}
            rows={ofKind.slice(0, SHOWN_FINDINGS)}
            empty=""
            columns={[
              {
                head: 'Linha',
                cell: ({ number }) => (
                  <label class="choice">
                    <input type="checkbox" name={CONFIRMED} value={number} aria-label={`Importar a linha ${number}`} />
                    {number}
                  </label>
                ),
              },
              { head: 'Nome', cell: ({ number }) => names(number) },
              { head: 'O que conferir', cell: ({ doubt }) => doubt?.text },
            ]}
          />
          {ofKind.length > SHOWN_FINDINGS && (
            <p class="hint">{`E mais ${formatCount(ofKind.length - SHOWN_FINDINGS)}.`}</p>
          )}
        </section>
      )
    })}
  </>
)

/** How a checked file is read, as fields of a form. */
const readingOf = (checked: CheckedFile): Record<string, string> => ({
  ...encodingIn(checked),
  ...columnsIn(checked.mapping, checked.plan),
})

const encodingIn = ({ encoding }: CheckedFile): Record<string, string> =>
  encoding === null ? {} : { [ENCODING]: encoding }

const columnsIn = (mapping: ImportMapping, plan: Plan): Record<string, string> =>
  Object.fromEntries([
    ...[...mapping].map(([column, field]) => [`coluna-${column}`, field]),
    ...[...plan.numbers.values()].flatMap(({ column, mark, isAsked }) =>
      isAsked && mark !== null ? [[`numeros-${column}`, wordOf(mark)]] : [],
    ),
  ])

const wordOf = (mark: DecimalMark): string => (mark === 'comma' ? 'virgula' : 'ponto')

/** Texts of the lines with letters beyond ASCII, else of the first ones. */
function samplesOf(lines: readonly SheetLine[]): string[] {
  const accented = lines.flatMap(({ cells }) => {
    const texts = cells.filter((cell) => /[\u0080-\uffff]/.test(cell.slice(0, 200)))
    return texts.length > 0 ? [texts] : []
  })
  const shown = accented.length > 0 ? accented : lines.map(({ cells }) => cells.filter(Boolean))
  return shown.slice(0, SHOWN_SAMPLES).map((texts) =>
    texts
      .slice(0, SHOWN_LINES)
      .map((text) => text.slice(0, 60))
      .join(' · '),
  )
}

/** The encoding of a text, with lines by which to tell whether it is right, and the others to choose. */
const EncodingChoice = ({ imported, checked: { file } }: ImportCheck) => {
  const { encoding } = file.sheet.origin
  if (encoding === null) return null
  return (
    <Card title="Codificação do arquivo">
      <p>{`Lido como ${ENCODINGS[encoding]}. Confira se os acentos destas linhas estão certos:`}</p>
      <ul>
        {samplesOf(file.sheet.lines).map((sample) => (
          <li key={sample}>{sample}</li>
        ))}
      </ul>
      {file.source.length > 0 && (
        <form method="get" action={link(toCheckPath(imported))} class="form">
          <div class="fields">
            <div class="field w6">
              <label for="campo-codificacao">Codificação</label>
              <select id="campo-codificacao" name={ENCODING}>
                {Object.entries(ENCODINGS).map(([value, label]) => (
                  <option key={value} value={value} selected={value === encoding}>
                    {label}
                  </option>
                ))}
              </select>
            </div>
          </div>
          <div class="actions">
            <button type="submit">Ler de novo</button>
          </div>
        </form>
      )}
    </Card>
  )
}

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

/** What each column holds, to be put right. Columns without any content are left out. */
const Columns = ({ imported, checked }: ImportCheck) => {
  const { file, mapping, fields, plan } = checked
  const { heads, lines } = file.sheet
  const isFilled = (column: number) => lines.some(({ cells }) => cells[column])
  return (
    <Card title="Colunas do arquivo">
      <form method="get" action={link(toCheckPath(imported))} class="form">
        {Object.entries(encodingIn(checked)).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <ListTable
          caption="Colunas do arquivo"
          rows={heads
            .map((head, column) => ({ head, column }))
            .filter(({ column }) => mapping.has(column) || isFilled(column))}
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
                lines
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
}
