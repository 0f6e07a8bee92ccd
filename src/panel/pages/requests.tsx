import * as z from 'zod'
import { formatCount, formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { Instant } from '#domain/instant.ts'
import { getApiKey, type ListedApiKey, listApiKeys } from '#queries/api-keys.ts'
import { hidesContents } from '#queries/reader.ts'
import {
  ErrorCode,
  getRequest,
  listRequests,
  REQUEST_METHODS,
  type RequestDetails,
  type RequestObject,
  RequestPath,
} from '#queries/requests.ts'
import type { Fields } from '../forms/form.ts'
import { choiceInput, lineInput, momentInput, optionsOf, recordChoiceInput } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../route.ts'
import { List, listFiltered, type QuickFilter, readListPage } from '../ui/list.tsx'
import type { Column } from '../ui/list-table.tsx'
import { Card, Facts, ShortId, StateBadge, type StateMark, WithheldContent } from '../ui/parts.tsx'
import { MOST_KEYS } from './api-keys.tsx'

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
      optionsOf(REQUEST_METHODS, (method) => method),
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
        empty="Nenhuma chamada."
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

const at = { section: 'integrations', access: 'see_company' } as const

/** Request log of the API (KIT-50): list and details. */
export const requestPages: readonly PanelRoute[] = [
  { ...at, path: REQUESTS_PATH, show: showCalls },
  { ...at, path: `${REQUESTS_PATH}/:call`, show: showCall },
]
