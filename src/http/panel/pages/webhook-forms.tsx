import { registerWebhook } from '../../../../commands/webhooks/register-webhook.ts'
import { rotateSecret } from '../../../../commands/webhooks/rotate-secret.ts'
import { updateWebhook } from '../../../../commands/webhooks/update-webhook.ts'
import { RotationFields, WebhookChanges, WebhookFields } from '../../../../commands/webhooks/webhook-input.ts'
import { getWebhook } from '../../../../queries/webhooks/get-webhook.ts'
import { invalid, type Refusal } from '../../../domain/refusal.ts'
import { WEBHOOK_EVENTS } from '../../../events/webhooks.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { urlProblem } from '../../../webhooks/target.ts'
import { statusOf } from '../../problems.ts'
import { pathId } from '../../route.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import { choices, integer, line, webAddress } from '../forms/kinds.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { ButtonLink } from '../ui/parts.tsx'
import { Secret } from '../ui/secret.tsx'
import { WEBHOOK_EVENT_NAMES } from '../words/webhooks.ts'
import type { ShownWebhook } from './integrations.tsx'

const HOME = '/integracoes'
export const WEBHOOKS_PATH = `${HOME}/webhooks`

const events = [
  { value: '*', label: 'Todos, também os que vierem a existir' },
  ...WEBHOOK_EVENTS.map((value) => ({ value, label: WEBHOOK_EVENT_NAMES[value] })),
]

const FIELDS: Fields = {
  url: { label: 'Endereço (URL)', kind: webAddress, isRequired: true, columns: 12 },
  description: { label: 'Descrição', kind: line, columns: 12 },
  events: { label: 'O que avisar', kind: choices(events), isRequired: true, columns: 12 },
}

const ROTATION: Fields = {
  overlap_hours: {
    label: 'Horas em que o segredo antigo ainda vale',
    kind: integer,
    isRequired: true,
    hint: 'De 0 a 168. Durante elas as entregas levam as duas assinaturas.',
  },
}

/** Gets the address that the path names; null where there is none, which becomes a 404. */
export async function withWebhook<T>(visit: Visit, work: (webhook: ShownWebhook) => T): Promise<Awaited<T> | null> {
  const id = pathId(visit.params.id)
  const found = id === null ? null : await getWebhook(visit.books.pool, visit.books.companyId, id)
  return found?.record ? await work(JSON.parse(found.record) as ShownWebhook) : null
}

/** What the service's settings forbid is found before anything is kept, as in the API. */
function refusedUrl(visit: Visit, url: string | undefined): Refusal | null {
  const problem = url === undefined ? null : urlProblem(url, visit.context.given.allowPrivateTargets)
  return problem === null ? null : invalid('url', problem)
}

function newPage(visit: Visit, filled: Filled = filledFrom(FIELDS, { events: ['*'] }, ''), status = 200): Page {
  const body = <Form visit={visit} to={WEBHOOKS_PATH} label="Cadastrar" fields={FIELDS} filled={filled} back={HOME} />
  return { title: 'Novo webhook', body, status }
}

async function register(submission: Submission): Promise<Page> {
  const { form, context, books } = submission
  const parsed = checked(WebhookFields, FIELDS, form, books.timezone)
  if ('filled' in parsed) return newPage(submission, parsed.filled, 422)
  const secret = context.given.newSecret()
  const answer =
    refusedUrl(submission, parsed.input.url) ?? (await submission.run(registerWebhook, { ...parsed.input, secret }))
  if (isRefusal(answer)) return newPage(submission, filledWith(FIELDS, form, answer), statusOf(answer.refused))
  const { id } = JSON.parse(answer.body) as ShownWebhook
  return secretPage('Webhook cadastrado', id, answer.replayed ? null : secret)
}

/** A secret that was made just now; null when the form was sent once more. */
const secretPage = (title: string, id: number, secret: string | null): Page => ({
  title,
  body: [
    secret === null ? (
      <p>O segredo já foi mostrado uma única vez. Se não foi copiado, troque-o.</p>
    ) : (
      <Secret title="Segredo das assinaturas" secret={secret}>
        <p class="hint">Com ele o sistema que recebe confere que as entregas vêm daqui.</p>
      </Secret>
    ),
    <ButtonLink to={`${WEBHOOKS_PATH}/${id}`}>Ir para o webhook</ButtonLink>,
  ],
})

function editPage(visit: Visit, webhook: ShownWebhook, filled?: Filled, status = 200): Page {
  const here = `${WEBHOOKS_PATH}/${webhook.id}`
  const shown = filled ?? filledFrom(FIELDS, webhook, '')
  const body = <Form visit={visit} to={`${here}/editar`} label="Salvar" fields={FIELDS} filled={shown} back={here} />
  return { title: 'Editar webhook', body, status }
}

async function edit(submission: Submission, webhook: ShownWebhook): Promise<Page | Redirect> {
  const { form, books } = submission
  const parsed = checked(WebhookChanges, FIELDS, form, books.timezone)
  if ('filled' in parsed) return editPage(submission, webhook, parsed.filled, 422)
  const { id } = webhook
  const answer =
    refusedUrl(submission, parsed.input.url) ?? (await submission.run(updateWebhook, { id, ...parsed.input }))
  if (isRefusal(answer))
    return editPage(submission, webhook, filledWith(FIELDS, form, answer), statusOf(answer.refused))
  return { to: `${WEBHOOKS_PATH}/${id}`, notice: 'alterado' }
}

function rotatePage(visit: Visit, webhook: ShownWebhook, filled?: Filled, status = 200): Page {
  const here = `${WEBHOOKS_PATH}/${webhook.id}`
  const shown = filled ?? filledFrom(ROTATION, { overlap_hours: 24 }, '')
  const body = (
    <Form
      visit={visit}
      to={`${here}/trocar-segredo`}
      label="Trocar segredo"
      fields={ROTATION}
      filled={shown}
      back={here}
    />
  )
  return { title: 'Trocar segredo', body, status }
}

async function rotate(submission: Submission, webhook: ShownWebhook): Promise<Page> {
  const { form, context } = submission
  const parsed = checked(RotationFields, ROTATION, form, '')
  if ('filled' in parsed) return rotatePage(submission, webhook, parsed.filled, 422)
  const secret = context.given.newSecret()
  const answer = await submission.run(rotateSecret, { id: webhook.id, ...parsed.input, secret })
  if (isRefusal(answer))
    return rotatePage(submission, webhook, filledWith(ROTATION, form, answer), statusOf(answer.refused))
  return secretPage('Segredo trocado', webhook.id, answer.replayed ? null : secret)
}

const at = { section: 'integrations', access: 'owner' } as const
const one = `${WEBHOOKS_PATH}/:id`

/** Registering an address, changing it, and giving it another secret. */
export const webhookFormPages: readonly PanelRoute[] = [
  { ...at, path: `${WEBHOOKS_PATH}/novo`, show: async (visit) => newPage(visit) },
  { ...at, path: WEBHOOKS_PATH, submit: register },
  { ...at, path: `${one}/editar`, show: (visit) => withWebhook(visit, (webhook) => editPage(visit, webhook)) },
  { ...at, path: `${one}/editar`, submit: (sent) => withWebhook(sent, (webhook) => edit(sent, webhook)) },
  {
    ...at,
    path: `${one}/trocar-segredo`,
    show: (visit) => withWebhook(visit, (webhook) => rotatePage(visit, webhook)),
  },
  { ...at, path: `${one}/trocar-segredo`, submit: (sent) => withWebhook(sent, (webhook) => rotate(sent, webhook)) },
]
