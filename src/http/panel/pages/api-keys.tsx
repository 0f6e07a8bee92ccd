import { CreateApiKeyInput, createApiKey } from '../../../../commands/api-keys/create-api-key.ts'
import { revokeApiKey } from '../../../../commands/api-keys/revoke-api-key.ts'
import { type ListedApiKey, listApiKeys } from '../../../../queries/api-keys/list-api-keys.ts'
import { SCOPES } from '../../../access/scopes.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { pathId } from '../../route.ts'
import { dateTime } from '../format.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import { choices, line, moment } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { Actions, Badge, ButtonLink, Facts } from '../ui/parts.tsx'
import { Secret } from '../ui/secret.tsx'
import { Table } from '../ui/table.tsx'
import { SCOPE_NAMES } from '../words/scopes.ts'

const HOME = '/integracoes'
const PATH = `${HOME}/chaves`

const FIELDS: Fields = {
  name: { label: 'Nome', kind: line, isRequired: true, hint: 'Que sistema vai usar a chave.' },
  expires_at: { label: 'Vale até', kind: moment, hint: 'Em branco, vale até ser revogada.' },
  scopes: {
    label: 'O que a chave pode fazer',
    kind: choices(SCOPES.map((value) => ({ value, label: SCOPE_NAMES[value] }))),
    isRequired: true,
    columns: 12,
  },
}

/** What a person says of a key; its secret part is made by the service. */
const KeyForm = CreateApiKeyInput.pick({ name: true, expires_at: true, scopes: true })

/** Keys of a company, those in use first. */
export const KeyTable = ({ keys, visit }: { readonly keys: readonly ListedApiKey[]; readonly visit: Visit }) => {
  const { timezone } = visit.books
  const isActive = (key: ListedApiKey) => statusOfKey(key, visit.session.now) === 'active'
  return (
    <Table
      caption="Chaves de API"
      rows={[...keys].sort((a, b) => Number(isActive(b)) - Number(isActive(a)))}
      empty="Nenhuma chave ainda."
      columns={[
        { head: 'Nome', cell: (key) => <a href={link(`${PATH}/${key.id}`)}>{key.name}</a> },
        { head: 'Começa com', cell: ({ prefix }) => <code>{prefix}…</code> },
        { head: 'Situação', cell: (key) => <KeyBadge apiKey={key} now={visit.session.now} /> },
        { head: 'Último uso', cell: ({ last_used_at }) => (last_used_at ? dateTime(last_used_at, timezone) : 'Nunca') },
        { head: 'Criada', cell: ({ created_at }) => dateTime(created_at, timezone), isExtra: true },
      ]}
    />
  )
}

const statusOfKey = ({ revoked_at, expires_at }: ListedApiKey, now: string): 'active' | 'revoked' | 'expired' =>
  revoked_at !== null ? 'revoked' : expires_at !== null && expires_at <= now ? 'expired' : 'active'

const KeyBadge = ({ apiKey, now }: { readonly apiKey: ListedApiKey; readonly now: string }) => {
  const status = statusOfKey(apiKey, now)
  if (status === 'active') return <Badge tone="good">Ativa</Badge>
  return <Badge tone="plain">{status === 'revoked' ? 'Revogada' : 'Vencida'}</Badge>
}

function newKeyPage(visit: Visit, filled: Filled = filledFrom(FIELDS, {}, visit.books.timezone), status = 200): Page {
  const body = <Form visit={visit} to={PATH} label="Criar chave" fields={FIELDS} filled={filled} back={HOME} />
  return { title: 'Nova chave de API', body, status }
}

async function create(submission: Submission): Promise<Page> {
  const { form, books, context } = submission
  const parsed = checked(KeyForm, FIELDS, form, books.timezone)
  if ('filled' in parsed) return newKeyPage(submission, parsed.filled, 422)
  const { key, prefix, hash } = context.panel.newKey()
  const answer = await submission.run(createApiKey, { ...parsed.input, prefix, hash })
  if (isRefusal(answer)) return newKeyPage(submission, filledWith(FIELDS, form, answer), statusOf(answer.refused))
  const body = answer.replayed ? (
    <p>A chave já foi criada, e mostrada uma única vez. Se não foi copiada, revogue-a e crie outra.</p>
  ) : (
    <Secret title="Sua chave" secret={key}>
      <p class="hint">
        Envie-a no cabeçalho <code>Authorization: Bearer …</code> de cada chamada.
      </p>
    </Secret>
  )
  return { title: 'Chave criada', body: [body, <ButtonLink to={HOME}>Voltar às integrações</ButtonLink>] }
}

async function withKey<T>(visit: Visit, work: (key: ListedApiKey) => T): Promise<T | null> {
  const id = pathId(visit.params.id)
  const key = (await listApiKeys(visit.books.pool, visit.books.companyId)).find((one) => one.id === id)
  return key ? work(key) : null
}

function keyPage(visit: Visit, key: ListedApiKey): Page {
  const { timezone } = visit.books
  const time = (at: string | null) => at && dateTime(at, timezone)
  const body = (
    <>
      {key.revoked_at === null && (
        <Actions>
          <ButtonLink to={`${PATH}/${key.id}/revogar`}>Revogar</ButtonLink>
        </Actions>
      )}
      <Facts
        facts={[
          ['Situação', <KeyBadge apiKey={key} now={visit.session.now} />],
          ['Começa com', <code>{key.prefix}…</code>],
          ['Criada', time(key.created_at)],
          ['Vale até', time(key.expires_at)],
          ['Revogada', time(key.revoked_at)],
          ['Último uso', time(key.last_used_at) ?? 'Nunca'],
          ['O que pode fazer', key.scopes.map((scope) => SCOPE_NAMES[scope as keyof typeof SCOPE_NAMES]).join(' · ')],
        ]}
      />
    </>
  )
  return { title: `Chave ${key.name}`, body }
}

const revokePage = (visit: Visit, key: ListedApiKey): Page => ({
  title: `Revogar ${key.name}`,
  body: (
    <Form visit={visit} to={`${PATH}/${key.id}/revogar`} label="Revogar" isDangerous back={`${PATH}/${key.id}`}>
      <p>A próxima chamada com esta chave já será recusada, e isso não se desfaz.</p>
    </Form>
  ),
})

const revoke = (submission: Submission) =>
  withKey(submission, async (key): Promise<Page | Redirect> => {
    const answer = await submission.run(revokeApiKey, { id: key.id })
    return isRefusal(answer) ? revokePage(submission, key) : { to: HOME, notice: 'revogada' }
  })

const at = { section: 'integrations', access: 'owner' } as const

export const apiKeyPages: readonly PanelRoute[] = [
  { ...at, path: `${PATH}/nova`, show: async (visit) => newKeyPage(visit) },
  { ...at, path: PATH, submit: create },
  { ...at, path: `${PATH}/:id`, show: (visit) => withKey(visit, (key) => keyPage(visit, key)) },
  { ...at, path: `${PATH}/:id/revogar`, show: (visit) => withKey(visit, (key) => revokePage(visit, key)) },
  { ...at, path: `${PATH}/:id/revogar`, submit: async (submission) => (await revoke(submission)) ?? null },
]
