import * as z from 'zod'
import { CreateApiKeyInput, createApiKey, revokeApiKey } from '#commands/webhook-commands.ts'
import { Instant } from '#domain/instant.ts'
import { formatCount, formatDateTime, formatDateTimeSeconds, formatMoney } from '#domain/person-values.ts'
import { SCOPES, type Scope } from '#domain/rights.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import {
  ErrorCode,
  getApiKey,
  getRequest,
  type ListedApiKey,
  listApiKeys,
  listRequests,
  REQUEST_METHODS,
  type RequestDetails,
  type RequestObject,
  RequestPath,
} from '#queries/api-key-queries.ts'
import { hidesContents } from '#queries/reader.ts'
import {
  amountInput,
  choiceInput,
  choicesInput,
  lineInput,
  momentInput,
  recordChoiceInput,
  toOptions,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import {
  ButtonLink,
  Card,
  Facts,
  Secret,
  ShortId,
  StateBadge,
  type StateMark,
  WithheldContent,
} from '../ui/page-parts.tsx'
import { List, listFiltered, type QuickFilter, readListPage } from '../ui/panel-list.tsx'

/** Scopes in the words of a shop. */
const SCOPE_NAMES: Readonly<Record<Scope, string>> = {
  'catalog:read': 'Catálogo: ler',
  'catalog:write': 'Catálogo: alterar',
  'customers:read': 'Clientes: ler',
  'customers:write': 'Clientes: alterar',
  'suppliers:read': 'Fornecedores: ler',
  'suppliers:write': 'Fornecedores: alterar',
  'finance:read': 'Contas: ler',
  'finance:write': 'Contas: criar, receber e pagar',
  'sales:read': 'Vendas: ler',
  'sales:write': 'Vendas: registrar e cancelar',
  'orders:read': 'Pedidos da loja online: ler',
  'orders:write': 'Pedidos da loja online: fazer e cobrar',
  'webhooks:manage': 'Webhooks: administrar',
  'audit:read': 'Auditoria: ler os eventos',
}

const HOME = '/integracoes'
const PATH = `${HOME}/chaves`

const FIELDS: Fields = {
  name: { label: 'Nome', kind: lineInput, isRequired: true, hint: 'Que sistema vai usar a chave.' },
  expires_at: { label: 'Vale até', kind: momentInput, hint: 'Se vazio, vale até ser revogada.' },
  scopes: {
    label: 'Permissões da chave',
    kind: choicesInput(toOptions(SCOPES, (scope) => SCOPE_NAMES[scope])),
    isRequired: true,
    columns: 12,
  },
}

const LIMITS: Fields = {
  max_amount_per_call: {
    label: 'Limite por chamada (R$)',
    kind: amountInput,
    hint: 'Soma das vendas, contas e devoluções que uma chamada registra. Se vazio, não há limite.',
  },
  max_amount_per_day: {
    label: 'Limite por dia (R$)',
    kind: amountInput,
    hint: 'O mesmo, somado no dia da empresa.',
  },
}

/** Form of a new key; the service generates its secret part. */
const KeyForm = CreateApiKeyInput.pick({
  name: true,
  expires_at: true,
  scopes: true,
  max_amount_per_call: true,
  max_amount_per_day: true,
})

/** A key that is given to an agent ends. */
const AgentKeyForm = KeyForm.required({ expires_at: true }).extend({ expires_at: Instant })

/** Keys that a page has: those in use, at most twenty, and the newest others. */
export const MOST_KEYS = 100

/** Keys of a company, those in use first. */
export const KeyTable = ({ keys, visit }: { readonly keys: readonly ListedApiKey[]; readonly visit: PageContext }) => {
  const { timezone } = visit.readModel
  const isActive = (key: ListedApiKey) => keyStatus(key, visit.session.now) === 'active'
  return (
    <ListTable
      isList
      caption="Chaves de API"
      rows={[...keys].sort((a, b) => Number(isActive(b)) - Number(isActive(a)))}
      empty="Nenhuma chave ainda. Com uma chave, outro sistema lê e grava dados."
      columns={[
        { head: 'Nome', cell: (key) => <a href={link(`${PATH}/${key.id}`)}>{key.name}</a> },
        { head: 'Início da chave', cell: ({ prefix }) => <code>{prefix}…</code> },
        { head: 'Situação', cell: (key) => <KeyBadge apiKey={key} now={visit.session.now} /> },
        {
          head: 'Último uso',
          cell: ({ last_used_at }) => (last_used_at ? formatDateTime(last_used_at, timezone) : 'Nunca'),
        },
        { head: 'Criada', cell: ({ created_at }) => formatDateTime(created_at, timezone), isExtra: true },
      ]}
    />
  )
}

const STATES = { active: ['good', 'Ativa'], revoked: ['plain', 'Revogada'], expired: ['plain', 'Vencida'] } as const

export function keyStatus({ revoked_at, expires_at }: ListedApiKey, now: string): keyof typeof STATES {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= now ? 'expired' : 'active'
}

const KeyBadge = ({ apiKey, now }: { readonly apiKey: ListedApiKey; readonly now: string }) => (
  <StateBadge state={STATES[keyStatus(apiKey, now)]} />
)

/** `key` is null when the form is sent again: a key is shown once. */
const createdPage = (key: string | null): PanelPage => ({
  title: 'Chave criada',
  body: [
    key === null ? (
      <p>A chave já foi criada e aparece uma única vez. Se você não a copiou, revogue-a e crie outra.</p>
    ) : (
      <Secret title="Sua chave" secret={key}>
        <p class="hint">
          Envie-a no cabeçalho <code>Authorization: Bearer …</code> de cada chamada.
        </p>
      </Secret>
    ),
    <ButtonLink to={HOME}>Voltar às integrações</ButtonLink>,
  ],
})

async function keyOf({ params, readModel }: PageContext): Promise<ListedApiKey | null> {
  const id = pathId(params.id)
  return id === null ? null : getApiKey(readModel.reader, id)
}

async function keyPage(visit: PageContext): Promise<PanelPage | null> {
  const key = await keyOf(visit)
  if (!key) return null
  const { timezone } = visit.readModel
  const time = (at: string | null) => at && formatDateTime(at, timezone)
  const body = (
    <Card title="Dados">
      <Facts
        facts={[
          ['Situação', <KeyBadge apiKey={key} now={visit.session.now} />],
          ['Início da chave', <code>{key.prefix}…</code>],
          ['Criada', time(key.created_at)],
          ['Vale até', time(key.expires_at)],
          ['Revogada', time(key.revoked_at)],
          ['Último uso', time(key.last_used_at) ?? 'Nunca'],
          ['Limite por chamada', key.max_amount_per_call && formatMoney(key.max_amount_per_call)],
          ['Limite por dia', key.max_amount_per_day && formatMoney(key.max_amount_per_day)],
          ['Permissões', key.scopes.map((scope) => SCOPE_NAMES[scope as keyof typeof SCOPE_NAMES]).join(' · ')],
        ]}
      />
    </Card>
  )
  return {
    title: `Chave ${key.name}`,
    parent: { label: 'Integrações', to: '/integracoes' },
    body,
    dangers: [key.revoked_at === null && { label: 'Revogar', to: `${PATH}/${key.id}/revogar` }],
  }
}

const at = { section: 'integrations', access: 'see_company' } as const
const changing = { ...at, access: 'manage_integrations' } as const

async function createKey(submission: FormSubmission, input: z.infer<typeof KeyForm>) {
  const { key, prefix, hash } = submission.context.access.newKey(submission.session.isTest)
  const answer = await submission.run(createApiKey, { ...input, prefix, hash })
  return isRefusal(answer) ? answer : createdPage(answer.replayed ? null : key)
}

const newKeyPage = { ...changing, subject: () => ({}), label: 'Criar chave', back: () => HOME }

export const AGENTS_PATH = `${HOME}/agentes`

/** API keys: create, show, revoke. */
export const apiKeyPages: readonly PanelRoute[] = [
  ...formPages({
    ...newKeyPage,
    path: `${PATH}/nova`,
    to: PATH,
    title: () => 'Nova chave de API',
    fields: () => ({ ...FIELDS, ...LIMITS }),
    schema: KeyForm,
    act: (submission, _, input) => createKey(submission, input),
  }),
  ...formPages({
    ...newKeyPage,
    path: AGENTS_PATH,
    title: () => 'Nova chave para um agente',
    intro: () => (
      <p class="hint">
        Um agente de inteligência artificial usa a loja pelo endereço <code>/mcp</code>, com esta chave: só faz o que as
        permissões deixam, até os limites. <a href="/docs/guias/agents">Como conectar</a>
      </p>
    ),
    fields: () => ({
      ...FIELDS,
      expires_at: { label: 'Vale até', kind: momentInput, isRequired: true, hint: 'Depois, crie outra.' },
      ...LIMITS,
    }),
    initial: () => ({ scopes: SCOPES.filter((scope) => scope.endsWith(':read')) }),
    schema: AgentKeyForm,
    act: (submission, _, input) => createKey(submission, input),
  }),
  { ...at, path: `${PATH}/:id`, show: keyPage },
  ...formPages({
    ...changing,
    path: `${PATH}/:id/revogar`,
    subject: keyOf,
    title: ({ name }) => `Revogar ${name}`,
    intro: () => (
      <p>
        As próximas chamadas com esta chave serão recusadas e os webhooks dela vão parar. Esta ação não pode ser
        desfeita.
      </p>
    ),
    label: 'Revogar',
    isDangerous: true,
    back: ({ id }) => `${PATH}/${id}`,
    fields: () => ({}),
    schema: z.object({}),
    act: (submission, { id }) => runAndRedirect(submission, revokeApiKey, { id }, { to: HOME, flash: 'revogada' }),
  }),
]

export const REQUESTS_PATH = '/integracoes/chamadas'

const CALLS_OF_A_PAGE = 50

const STATUS_CLASSES = [
  { value: '2xx', label: 'Aceitas (2xx)' },
  { value: '4xx', label: 'Recusadas (4xx)' },
  { value: '5xx', label: 'Falhas do serviço (5xx)' },
]

const filtersOf = (keys: readonly ListedApiKey[]): Fields => ({
  api_key_id: {
    label: 'Chave',
    kind: recordChoiceInput(
      keys.map(({ id, name }) => ({ value: String(id), label: name })),
      'Todas',
    ),
    columns: 3,
  },
  status: { label: 'Resultado', kind: choiceInput(STATUS_CLASSES, 'Todos'), columns: 3 },
  method: {
    label: 'Método',
    kind: choiceInput(
      toOptions(REQUEST_METHODS, (method) => method),
      'Todos',
    ),
    columns: 2,
  },
  path: { label: 'Caminho, como /sales', kind: lineInput, columns: 4 },
  code: { label: 'Código do erro', kind: lineInput, columns: 4 },
  since: { label: 'Desde', kind: momentInput, columns: 4 },
  until: { label: 'Antes de', kind: momentInput, columns: 4 },
})

const QUICK: readonly QuickFilter[] = [
  { label: 'Recusadas', filters: { status: '4xx' } },
  { label: 'Falhas do serviço', filters: { status: '5xx' } },
]

const Search = z.object({
  api_key_id: z.coerce.number().int().positive().optional(),
  status: z.enum(['2xx', '4xx', '5xx']).optional(),
  method: z.enum(REQUEST_METHODS).optional(),
  path: RequestPath.optional(),
  code: ErrorCode.optional(),
  since: Instant.optional(),
  until: Instant.optional(),
  cursor: z.string().optional(),
})

function stateOf({ status, code }: Pick<RequestObject, 'status' | 'code'>): StateMark {
  if (status === null) return ['warn', 'Sem resposta: a conexão foi encerrada']
  const text = code === null ? String(status) : `${status} ${code}`
  return [status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good', text]
}

const addressOf = ({ path, query }: Pick<RequestObject, 'path' | 'query'>): string =>
  query === null ? path : `${path}?${query}`

const nameOfKey = (keys: readonly ListedApiKey[], id: number): string =>
  keys.find((key) => key.id === id)?.name ?? `Chave ${id}`

const columnsOf = (keys: readonly ListedApiKey[], timezone: string): Column<RequestObject>[] => [
  {
    head: 'Quando',
    cell: ({ request_id, at }) => (
      <a href={link(`${REQUESTS_PATH}/${request_id}`)}>{formatDateTimeSeconds(at, timezone)}</a>
    ),
  },
  { head: 'Chamada', cell: (call) => <code>{`${call.method} ${addressOf(call)}`}</code> },
  { head: 'Resultado', cell: (call) => <StateBadge state={stateOf(call)} /> },
  { head: 'Demorou', cell: ({ duration_ms }) => `${formatCount(duration_ms)} ms`, isNumber: true },
  { head: 'Chave', cell: ({ api_key_id }) => nameOfKey(keys, api_key_id), isExtra: true },
]

async function showCalls(visit: PageContext): Promise<PanelPage> {
  const { reader, timezone } = visit.readModel
  const keys = await listApiKeys(reader, MOST_KEYS)
  const filters = filtersOf(keys)
  await visit.context.traffic.calls.flush()
  const calls = await readListPage<RequestObject>(visit, filters, (_visit, asked) =>
    listFiltered(Search, asked, (search) => listRequests(reader, { ...search, limit: CALLS_OF_A_PAGE })),
  )
  const body = (
    <>
      <p class="hint">
        Chamadas das suas integrações à API nos últimos 7 dias. Abra uma chamada recusada para ver o que foi enviado.
      </p>
      <List
        visit={visit}
        filters={filters}
        list={calls}
        caption="Chamadas"
        columns={columnsOf(keys, timezone)}
        empty="Nenhuma chamada encontrada."
        begin={{ title: 'Nenhuma chamada ainda', text: 'Aqui ficam as chamadas à API dos últimos 7 dias.' }}
        quick={QUICK}
      />
    </>
  )
  return { title: 'Chamadas da API', parent: { label: 'Integrações', to: '/integracoes' }, body }
}

async function showCall(visit: PageContext): Promise<PanelPage | null> {
  const { reader, timezone } = visit.readModel
  const id = z.uuid().safeParse(visit.params.call).data
  const { record } = id === undefined ? { record: null } : await getRequest(reader, id)
  if (record === null) return null
  const call = JSON.parse(record) as RequestDetails
  const key = await getApiKey(reader, call.api_key_id)
  const body = (
    <>
      <Card title="Chamada">
        <Facts
          facts={[
            ['Chamada', <code>{`${call.method} ${addressOf(call)}`}</code>],
            ['Quando', formatDateTimeSeconds(call.at, timezone)],
            ['Resultado', <StateBadge state={stateOf(call)} />],
            ['Demorou', `${formatCount(call.duration_ms)} ms`],
            ['Chave', key?.name ?? `Chave ${call.api_key_id}`],
            ['Agente', call.via && <code>{call.via}</code>],
            ['Repetida', call.replayed ? 'Sim: a resposta guardada foi enviada de novo' : 'Não'],
            ['Identificação (X-Request-Id)', <ShortId id={call.request_id} />],
          ]}
        />
      </Card>
      {call.code !== null && (
        <Card title="Motivo da recusa">
          <StoredBody json={call.details} visit={visit} />
        </Card>
      )}
      {call.code !== null && (
        <Card title="Conteúdo enviado">
          <StoredBody json={call.body} visit={visit} />
          <p class="hint">
            Dados pessoais, textos livres e segredos não são guardados: no lugar deles está “(retido)”.
          </p>
        </Card>
      )}
    </>
  )
  return { title: 'Chamada da API', parent: { label: 'Chamadas da API', to: REQUESTS_PATH }, body }
}

const StoredBody = ({ json, visit }: { readonly json: unknown; readonly visit: PageContext }) => {
  if (hidesContents(visit.primary.sight)) return <WithheldContent />
  if (json === null) return <p class="empty">Nada foi guardado.</p>
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  return <pre tabIndex={0}>{JSON.stringify(json, null, 2)}</pre>
}

/** Request log of the API (KIT-50): list and details. */
export const requestPages: readonly PanelRoute[] = [
  { ...at, path: REQUESTS_PATH, show: showCalls },
  { ...at, path: `${REQUESTS_PATH}/:call`, show: showCall },
]
