import { z } from 'zod'
import { Instant } from '#domain/instant.ts'
import { type ListedApiKey, listApiKeys } from '#queries/api-keys.ts'
import {
  CALL_METHODS,
  type CallObject,
  CallPath,
  ErrorCode,
  getCall,
  listCalls,
  type WholeCall,
} from '#queries/calls.ts'
import { dateTimeSeconds, decimal } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, line, moment, optionsOf, recordChoice } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { type Column, List, listed, type QuickFilter, searched } from '../ui/list.tsx'
import { Card, Facts, type State, StateBadge, WithheldContent } from '../ui/parts.tsx'

export const CALLS_PATH = '/integracoes/chamadas'

const CALLS_OF_A_PAGE = 50

const STATUS_CLASSES = [
  { value: '2xx', label: 'Aceitas (2xx)' },
  { value: '4xx', label: 'Recusadas (4xx)' },
  { value: '5xx', label: 'Falhas do serviço (5xx)' },
]

const filtersOf = (keys: readonly ListedApiKey[]): Fields => ({
  api_key_id: {
    label: 'Chave',
    kind: recordChoice(
      keys.map(({ id, name }) => ({ value: String(id), label: name })),
      'Todas',
    ),
    columns: 3,
  },
  status: { label: 'Resultado', kind: choice(STATUS_CLASSES, 'Todos'), columns: 3 },
  method: {
    label: 'Método',
    kind: choice(
      optionsOf(CALL_METHODS, (method) => method),
      'Todos',
    ),
    columns: 2,
  },
  path: { label: 'Caminho, como /sales', kind: line, columns: 4 },
  code: { label: 'Código do erro', kind: line, columns: 4 },
  since: { label: 'Desde', kind: moment, columns: 4 },
  until: { label: 'Antes de', kind: moment, columns: 4 },
})

const QUICK: readonly QuickFilter[] = [
  { label: 'Recusadas', filters: { status: '4xx' } },
  { label: 'Falhas do serviço', filters: { status: '5xx' } },
]

const Search = z.object({
  api_key_id: z.coerce.number().int().positive().optional(),
  status: z.enum(['2xx', '4xx', '5xx']).optional(),
  method: z.enum(CALL_METHODS).optional(),
  path: CallPath.optional(),
  code: ErrorCode.optional(),
  since: Instant.optional(),
  until: Instant.optional(),
  cursor: z.string().optional(),
})

function stateOf({ status, code }: Pick<CallObject, 'status' | 'code'>): State {
  if (status === null) return ['warn', 'Sem resposta: quem chamou desistiu']
  const text = code === null ? String(status) : `${status} ${code}`
  return [status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good', text]
}

const addressOf = ({ path, query }: Pick<CallObject, 'path' | 'query'>): string =>
  query === null ? path : `${path}?${query}`

const nameOfKey = (keys: readonly ListedApiKey[], id: number): string =>
  keys.find((key) => key.id === id)?.name ?? `Chave ${id}`

const columnsOf = (keys: readonly ListedApiKey[], timezone: string): Column<CallObject>[] => [
  {
    head: 'Quando',
    cell: ({ request_id, at }) => <a href={link(`${CALLS_PATH}/${request_id}`)}>{dateTimeSeconds(at, timezone)}</a>,
  },
  { head: 'Chamada', cell: (call) => <code>{`${call.method} ${addressOf(call)}`}</code> },
  { head: 'Resultado', cell: (call) => <StateBadge state={stateOf(call)} /> },
  { head: 'Demorou', cell: ({ duration_ms }) => `${decimal(String(duration_ms))} ms`, isNumber: true },
  { head: 'Chave', cell: ({ api_key_id }) => nameOfKey(keys, api_key_id), isExtra: true },
]

async function showCalls(visit: Visit): Promise<Page> {
  const { pool, companyId, timezone } = visit.readModel
  const keys = await listApiKeys(pool, companyId)
  const filters = filtersOf(keys)
  await visit.context.calls.flush()
  const calls = await listed<CallObject>(visit, filters, (asked) =>
    searched(Search, asked, (search) => listCalls(pool, companyId, { ...search, limit: CALLS_OF_A_PAGE })),
  )
  const body = (
    <>
      <p class="hint">
        O que os sistemas ligados à empresa pediram à API nos últimos 7 dias. Abra uma chamada recusada para ver o que
        ela enviou.
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

async function showCall(visit: Visit): Promise<Page | null> {
  const { pool, companyId, timezone } = visit.readModel
  const id = z.uuid().safeParse(visit.params.call).data
  const { record } = id === undefined ? { record: null } : await getCall(pool, companyId, id)
  if (record === null) return null
  const call = JSON.parse(record) as WholeCall
  const keys = await listApiKeys(pool, companyId)
  const body = (
    <>
      <Card title="Chamada">
        <Facts
          facts={[
            ['Chamada', <code>{`${call.method} ${addressOf(call)}`}</code>],
            ['Quando', dateTimeSeconds(call.at, timezone)],
            ['Resultado', <StateBadge state={stateOf(call)} />],
            ['Demorou', `${decimal(String(call.duration_ms))} ms`],
            ['Chave', nameOfKey(keys, call.api_key_id)],
            ['Repetida', call.replayed ? 'Sim: a resposta guardada foi enviada de novo' : 'Não'],
            ['Identificação (X-Request-Id)', <code>{call.request_id}</code>],
          ]}
        />
      </Card>
      {call.code !== null && (
        <Card title="Por que foi recusada">
          <Kept json={call.details} visit={visit} />
        </Card>
      )}
      {call.code !== null && (
        <Card title="O que foi enviado">
          <Kept json={call.body} visit={visit} />
          <p class="hint">
            Dados pessoais, textos livres e segredos não são guardados: no lugar deles está “(retido)”.
          </p>
        </Card>
      )}
    </>
  )
  return { title: 'Chamada da API', parent: { label: 'Chamadas da API', to: CALLS_PATH }, body }
}

const Kept = ({ json, visit }: { readonly json: unknown; readonly visit: Visit }) => {
  if (json === null) return <p class="empty">Nada foi guardado.</p>
  if (!visit.session.isToldPersons) return <WithheldContent />
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  return <pre tabIndex={0}>{JSON.stringify(json, null, 2)}</pre>
}

const at = { section: 'integrations', access: 'owner' } as const

/** Request log of the API (KIT-50): list and details. */
export const callPages: readonly PanelRoute[] = [
  { ...at, path: CALLS_PATH, show: showCalls },
  { ...at, path: `${CALLS_PATH}/:call`, show: showCall },
]
