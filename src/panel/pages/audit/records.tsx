import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { RECORD_KINDS, type RecordKind } from '#domain/record-kinds.ts'
import { pathId } from '#http/paths.ts'
import { getRow } from '#queries/events.ts'
import { type Fields, type FilledForm, filledFrom, filledWith } from '../../forms/form.ts'
import { choiceInput, integerInput, momentInput, namedOptions } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { PageContext, PanelPage, PanelRoute, Redirect } from '../../route.ts'
import { FieldList } from '../../ui/form.tsx'
import { AsOfForm, History } from '../../ui/history.tsx'
import { Card, Facts } from '../../ui/parts.tsx'
import { KINDS, subjectName, subjectPath } from '../../words/events.ts'

const isKind = (text: string | undefined): text is RecordKind => RECORD_KINDS.includes(text as RecordKind)

const FIELDS: Fields = {
  tipo: {
    label: 'Registro',
    kind: choiceInput(namedOptions(KINDS)),
    isRequired: true,
    columns: 4,
  },
  numero: { label: 'Número', kind: integerInput, isRequired: true, columns: 3 },
  em: { label: 'Data e hora', kind: momentInput, isRequired: true, columns: 4 },
}

/** Form for a record and a moment; redirects to the record's page as of then. */
async function askForPast({ query, session }: PageContext): Promise<PanelPage | Redirect> {
  const { tipo, numero, em } = query
  const isAsked = tipo !== undefined || numero !== undefined || em !== undefined
  const id = pathId(numero)
  if (isKind(tipo) && id !== null && em) return { to: subjectPath(`${tipo}/${id}`), parameters: { em } }
  const missing = {
    fields: {
      ...(id === null && { numero: ['deve ser um número inteiro positivo'] }),
      ...(!em && { em: [REQUIRED_FIELD] }),
    },
  }
  const filled: FilledForm = isAsked
    ? filledWith(FIELDS, query, { refused: 'validation_failed', details: missing })
    : filledFrom(FIELDS, {}, session.timezone)
  const body = (
    <form method="get" action={link('/auditoria/como-era')} class="form">
      <p>Veja qualquer cadastro como estava em outra data.</p>
      <FieldList fields={FIELDS} filled={filled} />
      <div class="actions">
        <button type="submit" class="main">
          Ver
        </button>
      </div>
    </form>
  )
  return { title: 'Como era em…', body, ...(isAsked && { status: 422 }) }
}

/** Everything stored of a record, for kinds without a page of their own. */
async function showRecord(visit: PageContext): Promise<PanelPage | null> {
  const { readModel, params } = visit
  const id = pathId(params.id)
  if (!isKind(params.kind) || id === null) return null
  const record = await getRow(readModel.reader, params.kind, id)
  if (!record) return null
  const subject = `${params.kind}/${id}`
  const body = (
    <>
      <Card title="Dados">
        <Facts facts={Object.entries(record).map(([name, value]) => [name, shown(value)])} />
      </Card>
      {await History({ visit, subject })}
      <AsOfForm visit={visit} />
    </>
  )
  return { title: subjectName(subject), body }
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const recordAuditPages: readonly PanelRoute[] = [
  { path: '/auditoria/como-era', section: 'audit', access: 'see_company', show: askForPast },
  { path: '/auditoria/registros/:kind/:id', section: 'audit', access: 'see_company', asOf: true, show: showRecord },
]
