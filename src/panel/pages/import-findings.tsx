import type { KeptFile } from '#imports/stored-file.ts'
import type { Fields } from '../forms/form.ts'
import { bothReadings } from '../import/cells.ts'
import type { ImportMapping } from '../import/heads.ts'
import type { ImportResult, Plan } from '../import/import.ts'
import type { ImportableKind } from '../import/kinds.ts'
import { hasNoHeads, unmappedColumns, unmappedDocuments } from '../import/unmapped-columns.ts'
import { FileLink } from '../ui/list.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card } from '../ui/parts.tsx'

/** Displayed errors, and cells of a first line. */
const [SHOWN_ERRORS, SHOWN_HEADS] = [50, 6]

export const wrongLinesPath = ({ path }: ImportableKind): string => `${path}/importar/linhas-com-erro.csv`

/** An uploaded file, and what would be done with it. */
export interface CheckedFile {
  readonly file: KeptFile
  readonly mapping: ImportMapping
  readonly fields: Fields
  /** What is wrong with the columns; then nothing is planned. */
  readonly problem: string | null
  readonly plan: Plan
}

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
  return (
    <>
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

export const ImportWarnings = ({ warnings }: { readonly warnings: Plan['warnings'] }) =>
  warnings.length === 0 ? null : (
    <Card title="Confira antes de importar">
      <p>Estas linhas serão importadas. Confira se não são cadastros que você já tem, nem códigos digitados errado.</p>
      <ListTable
        caption="Confira antes de importar"
        rows={warnings.slice(0, SHOWN_ERRORS)}
        empty=""
        columns={[
          { head: 'Linha', cell: ({ number }) => number },
          { head: 'O que conferir', cell: ({ text }) => text },
        ]}
      />
      {warnings.length > SHOWN_ERRORS && <p class="hint">{`E mais ${warnings.length - SHOWN_ERRORS}.`}</p>}
    </Card>
  )

interface ErrorsProps {
  readonly imported: ImportableKind
  readonly errors: ImportResult['errors']
  /** How columns and numbers are read, as in the address of the page. */
  readonly reading?: Readonly<Record<string, string>>
}

/** The first wrong lines, and the file of all of them. */
export const Errors = ({ imported, errors, reading = {} }: ErrorsProps) =>
  errors.length === 0 ? null : (
    <Card title="Linhas com erro">
      <ListTable
        caption="Linhas com erro"
        rows={errors.slice(0, SHOWN_ERRORS)}
        empty=""
        columns={[
          { head: 'Linha', cell: ({ number }) => number },
          { head: 'O que corrigir', cell: ({ errors }) => errors.join('; ') },
        ]}
      />
      {errors.length > SHOWN_ERRORS && <p class="hint">{`E mais ${errors.length - SHOWN_ERRORS}.`}</p>}
      <p>
        <FileLink to={wrongLinesPath(imported)} parameters={reading}>
          Baixar só as linhas com erro (CSV)
        </FileLink>
      </p>
    </Card>
  )
