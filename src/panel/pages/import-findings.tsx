import { formatCount, formatMoney } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import type { Encoding } from '#panel/import/encoding.ts'
import type { KeptFile } from '#panel/import/import-plan.ts'
import type { Fields } from '../forms/panel-form.ts'
import { hasNoHeads, type ImportMapping, unmappedColumns, unmappedDocuments } from '../import/column-titles.ts'
import type { ImportableKind } from '../import/import-kinds.ts'
import { bothReadings } from '../import/import-lines.ts'
import type { ImportResult, Plan } from '../import/run-import.ts'
import type { PageContext } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card } from '../ui/page-parts.tsx'
import { FileLink } from '../ui/panel-list.tsx'
import { PriceAfter, PriceSummary } from './price-pages.tsx'
import { marginChange } from './variant-pages.tsx'

/** Displayed lines of each kind, and cells of a first line. */
export const SHOWN_FINDINGS = 50
const SHOWN_HEADS = 6

export const wrongLinesPath = ({ path }: ImportableKind): string => `${path}/importar/linhas-com-erro.csv`

/** An uploaded file, and what would be done with it. */
export interface CheckedFile {
  readonly file: KeptFile
  readonly mapping: ImportMapping
  readonly fields: Fields
  /** Encoding that the user has chosen instead of the detected one. */
  readonly encoding: Encoding | null
  /** What is wrong with the columns; then nothing is planned. */
  readonly problem: string | null
  readonly plan: Plan
}

/** Names of the records in a file, by line. */
export function lineNames({ file, mapping }: CheckedFile): (line: number) => string {
  const column = [...mapping].find(([, field]) => field === 'name')?.[0] ?? -1
  const names = new Map(file.sheet.lines.map(({ number, cells }) => [number, cells[column] ?? '']))
  return (line) => names.get(line)?.slice(0, MAX_NAME) ?? ''
}

/** Displayed of a name in the file. */
const MAX_NAME = 120

export interface ImportCheck {
  readonly imported: ImportableKind
  readonly checked: CheckedFile
}

/** What the columns as a whole leave open. */
export function Doubts({ imported, checked: { file, mapping, fields, plan } }: ImportCheck) {
  const asked = [...plan.numbers].filter(([, { mark }]) => mark === null)
  const documents = Object.hasOwn(fields, 'document') ? unmappedDocuments(file.sheet, mapping) : []
  const leftOut = unmappedColumns(file.sheet, mapping, documents)
  const isHeadless = hasNoHeads(file.sheet)
  const shared = imported.reading.shared.filter(
    (field) => field === 'phone' && [...mapping.values()].filter((one) => one === field).length > 1,
  )
  const { sheet, otherSheets } = file.sheet.origin
  return (
    <>
      {otherSheets > 0 && (
        <p class="hint">{`Lida a primeira planilha do arquivo, "${sheet}". As outras (${otherSheets}) não serão importadas.`}</p>
      )}
      {isHeadless && (
        <Alert>
          {`A primeira linha parece ser um cadastro e não os títulos das colunas: ${file.sheet.heads.filter(Boolean).slice(0, SHOWN_HEADS).join(' · ')}. Ela não será importada: ponha os títulos acima dela e envie o arquivo de novo.`}
        </Alert>
      )}
      {mapping.size === 0 && !isHeadless && (
        <Alert>
          Não encontramos os títulos das colunas. Confira se eles estão na primeira linha do arquivo ou escolha abaixo o
          que cada coluna contém.
        </Alert>
      )}
      {asked.map(([field, { example }]) => (
        <Alert key={field}>
          {`${fields[field]?.label}: ${example} pode ser ${bothReadings(example).comma} ou ${bothReadings(example).dot}. Escolha em Colunas do arquivo como os números estão escritos.`}
        </Alert>
      ))}
      {documents.map((head) => (
        <Alert key={head}>{`A coluna "${head}" parece conter CPF ou CNPJ e não será importada.`}</Alert>
      ))}
      {leftOut.length > 0 && <p class="hint">{`Colunas que não serão importadas: ${leftOut.join(', ')}.`}</p>}
      {shared.map((field) => (
        <p key={field} class="hint">{`${fields[field]?.label}: vale a primeira coluna preenchida de cada linha.`}</p>
      ))}
    </>
  )
}

interface WarningsProps {
  readonly warnings: Plan['warnings']
  readonly names: (line: number) => string
}

export const ImportWarnings = ({ warnings, names }: WarningsProps) =>
  warnings.length === 0 ? null : (
    <Card title="Confira antes de importar">
      <p>Estas linhas serão importadas. Confira se não são cadastros que você já tem, nem códigos digitados errado.</p>
      <ListTable
        caption="Confira antes de importar"
        rows={warnings.slice(0, SHOWN_FINDINGS)}
        empty=""
        columns={[
          { head: 'Linha', cell: ({ number }) => number },
          { head: 'Nome', cell: ({ number }) => names(number) },
          { head: 'O que conferir', cell: ({ text }) => text },
        ]}
      />
      {warnings.length > SHOWN_FINDINGS && <p class="hint">{`E mais ${warnings.length - SHOWN_FINDINGS}.`}</p>}
    </Card>
  )

interface PriceChangesProps {
  readonly visit: PageContext
  readonly changes: Plan['prices']
  readonly fields: Fields
}

/** Prices and costs of known records, before and after the import, as in a change of many prices. */
export async function PriceChanges({ visit, changes, fields }: PriceChangesProps) {
  if (changes.length === 0) return null
  const seesCosts = may(visit.session.permissions, 'see_costs')
  const known = seesCosts ? changes : changes.map((change) => ({ ...change, cost: null }))
  const prices = known.flatMap(({ id, field, before, after, cost }) =>
    field === 'price' && before !== null ? [{ catalog_item_id: id, before, after, cost }] : [],
  )
  return (
    <Card title={`Preços que mudam (${formatCount(changes.length)})`}>
      {prices.length > 0 && (await PriceSummary({ visit, prices }))}
      <ListTable
        caption="Preços que mudam"
        rows={known.slice(0, SHOWN_FINDINGS)}
        empty=""
        columns={[
          { head: 'Linha', cell: ({ number }) => number, isExtra: true },
          { head: 'Nome', cell: ({ name }) => name },
          { head: 'Campo', cell: ({ field }) => fields[field]?.label },
          { head: 'Antes', cell: ({ before }) => (before === null ? '—' : formatMoney(before)), isNumber: true },
          {
            head: 'Depois',
            cell: (change) => (change.field === 'price' ? <PriceAfter price={change} /> : formatMoney(change.after)),
            isNumber: true,
          },
          seesCosts && {
            head: 'Margem',
            cell: ({ field, before, after, cost }) =>
              field === 'price' && before !== null && marginChange(before, after, cost),
            isNumber: true,
          },
        ]}
      />
      {changes.length > SHOWN_FINDINGS && (
        <p class="hint">{`E mais ${formatCount(changes.length - SHOWN_FINDINGS)}.`}</p>
      )}
    </Card>
  )
}

interface ErrorsProps {
  readonly imported: ImportableKind
  readonly errors: ImportResult['errors']
  readonly names: (line: number) => string
  /** How columns and numbers are read, as in the address of the page. */
  readonly reading?: Readonly<Record<string, string>>
}

/** The first wrong lines, and the file of all of them. */
export const Errors = ({ imported, errors, names, reading = {} }: ErrorsProps) =>
  errors.length === 0 ? null : (
    <Card title="Linhas com erro">
      <ListTable
        caption="Linhas com erro"
        rows={errors.slice(0, SHOWN_FINDINGS)}
        empty=""
        columns={[
          { head: 'Linha', cell: ({ number }) => number },
          { head: 'Nome', cell: ({ number }) => names(number) },
          { head: 'O que corrigir', cell: ({ errors }) => errors.join('; ') },
        ]}
      />
      {errors.length > SHOWN_FINDINGS && <p class="hint">{`E mais ${errors.length - SHOWN_FINDINGS}.`}</p>}
      <p>
        <FileLink to={wrongLinesPath(imported)} parameters={reading}>
          Baixar só as linhas com erro (CSV)
        </FileLink>
      </p>
    </Card>
  )
