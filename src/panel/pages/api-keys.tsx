import * as z from 'zod'
import { CreateApiKeyInput, createApiKey, revokeApiKey } from '#commands/api-keys.ts'
import { formatDateTime } from '#domain/brazilian-format.ts'
import { SCOPES, type Scope } from '#domain/scopes.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import { getApiKey, type ListedApiKey } from '#queries/api-keys.ts'
import type { Fields } from '../forms/form.ts'
import { choicesInput, lineInput, momentInput, optionsOf } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, Secret, StateBadge } from '../ui/parts.tsx'

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
    kind: choicesInput(optionsOf(SCOPES, (scope) => SCOPE_NAMES[scope])),
    isRequired: true,
    columns: 12,
  },
}

/** Form of a new key; the service generates its secret part. */
const KeyForm = CreateApiKeyInput.pick({ name: true, expires_at: true, scopes: true })

/** Keys that a page has: those in use, at most five, and the newest others. */
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
      empty="Nenhuma chave ainda."
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

/** API keys: create, show, revoke. */
export const apiKeyPages: readonly PanelRoute[] = [
  ...formPages({
    ...changing,
    path: `${PATH}/nova`,
    to: PATH,
    subject: () => ({}),
    title: () => 'Nova chave de API',
    label: 'Criar chave',
    back: () => HOME,
    fields: () => FIELDS,
    schema: KeyForm,
    async act(submission, _, input) {
      const { key, prefix, hash } = submission.context.access.newKey(submission.session.isTest)
      const answer = await submission.run(createApiKey, { ...input, prefix, hash })
      return isRefusal(answer) ? answer : createdPage(answer.replayed ? null : key)
    },
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
