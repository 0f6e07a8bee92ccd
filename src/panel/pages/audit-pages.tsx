import { formatCount, formatDateTime } from '#domain/person-values.ts'
import { RECORD_KINDS, type RecordKind } from '#domain/record-values.ts'
import { REQUIRED_FIELD } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import type { AttestationStatus } from '#integrity/attestations.ts'
import type { SealState } from '#integrity/checkpoints.ts'
import type { TableCheck } from '#integrity/table-checks.ts'
import type { ChainFault, Verified } from '#integrity/verify.ts'
import type { RowDifference } from '#ledger/rebuild/compare-tables.ts'
import { getRow } from '#queries/event-queries.ts'
import { choiceInput, integerInput, momentInput, namedOptions } from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody, fillFromRecord, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { AsOfForm, History } from '../record-history.tsx'
import { TimeMachine } from '../time-machine.tsx'
import { FieldList } from '../ui/form-fields.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, type Fact, Facts, PanelBadge } from '../ui/page-parts.tsx'
import { KINDS, subjectName, subjectPath } from '../words/event-words.ts'

/** The location of copies is shown to operators only. */
const nameOf = ({ kind, source, host }: AttestationStatus): string => {
  if (kind === 'cosignature') return `Testemunha ${source}`
  return kind === 'time_stamp' ? `Carimbo do tempo de ${host}` : 'Cópia fora do serviço'
}

const PROBLEMS: Readonly<Record<NonNullable<AttestationStatus['problem']>, string>> = {
  unreachable: 'sem resposta',
  refused: 'pedido recusado',
  wrong_answer: 'resposta inválida',
  inconsistent: 'viu outro registro: avise o suporte',
  failed: 'pedido não enviado',
}

interface AttestorsProps {
  readonly states: readonly AttestationStatus[]
  readonly timezone: string
}

/** Attestations of the installation's checkpoints by attestor; empty if none is configured. */
export const Attestors = ({ states, timezone }: AttestorsProps) => {
  if (states.length === 0) return null
  const facts = states.map((state): Fact => {
    const { obtained_at } = state
    const last = obtained_at === null ? 'ainda não confirmou' : `confirmou em ${formatDateTime(obtained_at, timezone)}`
    return [
      nameOf(state),
      <>
        {last} {badgeOf(state, timezone)}
      </>,
    ]
  })
  return (
    <Card title="Quem confirma os selos">
      <p class="hint">
        Cada confirmação vale para todos os selos anteriores. As que faltam são pedidas de novo automaticamente.
      </p>
      <Facts facts={facts} />
    </Card>
  )
}

function badgeOf({ problem, waiting, failing_since, host }: AttestationStatus, timezone: string) {
  if (problem !== null) {
    const since = failing_since === null ? '' : ` desde ${formatDateTime(failing_since, timezone)}`
    const text = `${PROBLEMS[problem]}${since}${host === null ? '' : ` (${host})`}`
    return <PanelBadge tone={problem === 'inconsistent' ? 'bad' : 'warn'}>{text}</PanelBadge>
  }
  return waiting > 0 && <PanelBadge tone="plain">aguardando</PanelBadge>
}

/** Faults of a ledger in words. */
const FAULTS: Readonly<Record<ChainFault, string>> = {
  malformed: 'O evento guardado não pode ser lido.',
  wrong_stream: 'O evento é de outra empresa.',
  wrong_revision: 'Falta um evento, ou há um a mais, ou a ordem foi trocada.',
  wrong_hash: 'O conteúdo do evento foi alterado.',
  broken_chain: 'O evento não segue o anterior: um dos dois foi trocado.',
  time_goes_back: 'O evento é mais antigo do que o anterior.',
  columns_differ: 'Os dados guardados ao lado do evento não conferem com ele.',
  other_hash: 'O hash não é o já conhecido para este evento.',
  other_root: 'Até este evento, o registro de auditoria não é o que foi selado.',
  truncated: 'Os registros mais recentes foram removidos.',
  seal_altered: 'O último selo guardado não foi assinado pelo serviço.',
  beyond_head: 'Há eventos depois do último que o serviço registrou.',
}

const PATH = '/auditoria/conferir'

/** Verifies the company's stored ledger; a long one continues where the previous request ended. */
async function verify(submission: FormSubmission): Promise<PanelPage> {
  const { context, readModel, form } = submission
  const [after, hash] = [formText(form, 'apos'), formText(form, 'hash')]
  const isGoingOn = /^\d{1,15}$/.test(after) && /^[0-9a-f]{64}$/.test(hash)
  const before = isGoingOn ? { revision: Number(after), hash } : null
  const verified = await context.proofs.verifier.verify(readModel.companyId, before)
  const { valid, revision, hash: reached } = verified.verification
  const goesOn = valid && revision < verified.head
  return {
    title: 'Verificação de integridade',
    parent: { label: 'Auditoria', to: '/auditoria' },
    main: goesOn && { label: 'Continuar', to: PATH, values: { apos: String(revision), hash: reached } },
    body: <Result verified={verified} from={(before?.revision ?? -1) + 1} />,
  }
}

interface ResultProps {
  readonly verified: Verified
  /** First verified revision. */
  readonly from: number
}

const Result = ({ verified: { verification, head }, from }: ResultProps) => {
  const { valid, checked, revision, hash, first_error } = verification
  const isWhole = valid && revision >= head
  return (
    <Card title="Resultado">
      <p>
        {!valid && <PanelBadge tone="bad">O registro de auditoria foi alterado</PanelBadge>}
        {isWhole && <PanelBadge tone="good">Registro de auditoria íntegro</PanelBadge>}
        {valid && !isWhole && <PanelBadge tone="warn">Verificado em parte</PanelBadge>}
      </p>
      <Facts
        facts={[
          ['Eventos verificados', checked],
          ['Do evento nº', from],
          ['Até o evento nº', `${revision} de ${head}`],
          ['Hash do último verificado', <code>{hash}</code>],
          ['Primeira falha no evento nº', first_error?.revision],
          ['Falha', first_error && FAULTS[first_error.reason]],
        ]}
      />
      <p class="hint">
        Para provar que nenhum registro recente foi removido, guarde um selo fora do sistema. Veja o guia do auditor.
      </p>
    </Card>
  )
}

export const verifyForm: PanelRoute = {
  path: PATH,
  section: 'audit',
  access: 'see_audit',
  changes: false,
  submit: verify,
}

/** Reasons for a missing checkpoint other than a fault of the ledger. */
const REASONS: Readonly<Record<string, string>> = {
  ...FAULTS,
  wrong_key: 'A chave dos selos não é a que os verificadores conhecem.',
  failed: 'O serviço não conseguiu selar.',
}

interface SealsProps {
  readonly state: SealState
  readonly timezone: string
}

/** Last checkpoint of the ledger, its time, and problems. */
export const Seals = ({ state: { checkpoint, installation, fault }, timezone }: SealsProps) => {
  if (!checkpoint && !fault) return <p class="hint">O registro de auditoria ainda não tem selos.</p>
  return (
    <Card title="Selos">
      {fault && (
        <p role="alert">
          <PanelBadge tone="bad">O registro de auditoria está sem selo novo</PanelBadge> Desde{' '}
          {formatDateTime(fault.since, timezone)}: {REASONS[fault.reason] ?? REASONS.failed} Avise o suporte.
        </p>
      )}
      <Facts
        facts={[
          ['Último selo', checkpoint && formatDateTime(checkpoint.made_at, timezone)],
          ['Eventos selados', checkpoint?.size],
          [
            'No registro da instalação',
            installation
              ? `${installation.covers} eventos, em ${formatDateTime(installation.made_at, timezone)}`
              : 'ainda não',
          ],
        ]}
      />
    </Card>
  )
}

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
    ? fillFromBody(FIELDS, query, { refused: 'validation_failed', details: missing })
    : fillFromRecord(FIELDS, {}, session.timezone)
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
      {await TimeMachine({ visit, subject })}
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

const FOUND: Readonly<Record<RowDifference['found'], string>> = {
  changed: 'Alterado fora do sistema',
  missing: 'Falta: consta do registro de auditoria',
  unknown: 'Não consta do registro de auditoria',
}

interface LastCheckProps {
  /** Number of the last event. */
  readonly revision: number
  /** Null before the first check. */
  readonly check: TableCheck | null
  readonly timezone: string
}

/** Result of the last comparison of the tables with the ledger. Values are not shown: the ledger has the right ones. */
export const LastCheck = ({ check, revision, timezone }: LastCheckProps) => {
  if (!check) return null
  const { differences, checked_at } = check
  const at = `Comparação diária dos cadastros com o registro de auditoria: a última, em ${formatDateTime(checked_at, timezone)}, foi até o evento nº ${formatCount(check.revision)} de ${formatCount(revision)}. Cada dia confere o que mudou; a última do registro inteiro, em ${formatDateTime(check.whole_at, timezone)}, foi até o nº ${formatCount(check.whole_revision)}.`
  if (differences.length === 0) return <p class="hint">{at}</p>
  return (
    <Card title="Cadastros que não conferem com a auditoria">
      <p role="alert">
        <PanelBadge tone="bad">Há registros alterados</PanelBadge> {at} Avise o suporte: os dados podem ser refeitos a
        partir do registro de auditoria.
      </p>
      <ListTable
        caption="Cadastros que não conferem com a auditoria"
        rows={differences}
        empty=""
        columns={[
          { head: 'Tabela', cell: ({ table }) => <code>{table}</code> },
          { head: 'Registro', cell: ({ key }) => Object.values(key).join(', ') },
          { head: 'Problema', cell: ({ found }) => FOUND[found] },
          { head: 'Campos', cell: ({ fields }) => fields.join(', ') },
        ]}
      />
    </Card>
  )
}
