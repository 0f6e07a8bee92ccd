import {
  RotationFields,
  registerWebhook,
  rotateSecret,
  updateWebhook,
  WebhookChanges,
  WebhookFields,
} from '#commands/webhooks.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { isRefusal } from '#ledger/command.ts'
import { getWebhook } from '#queries/webhooks.ts'
import { urlProblem } from '#webhooks/target.ts'
import type { Fields } from '../forms/form.ts'
import { choices, integer, line, optionsOf, webAddress } from '../forms/kinds.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { ButtonLink } from '../ui/parts.tsx'
import { Secret } from '../ui/secret.tsx'
import { WEBHOOK_EVENT_NAMES } from '../words/webhooks.ts'
import { formPages } from './form-pages.ts'
import type { ShownWebhook } from './integrations.tsx'
import { recordOf } from './record-pages.ts'

const HOME = '/integracoes'
export const WEBHOOKS_PATH = `${HOME}/webhooks`

const events = [
  { value: '*', label: 'Todos, também os que vierem a existir' },
  ...optionsOf(WEBHOOK_EVENTS, (event) => WEBHOOK_EVENT_NAMES[event]),
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

/** Where a webhook has its page. */
export const webhookPath = ({ id }: Pick<ShownWebhook, 'id'>): string => `${WEBHOOKS_PATH}/${id}`

/** The address that the path names; null where there is none. */
export const webhookOf = (visit: Visit): Promise<ShownWebhook | null> =>
  recordOf(visit, ({ books }, id) => getWebhook(books.pool, books.companyId, id))

/** What the service's settings forbid is found before anything is kept, as in the API. */
function refusedUrl(visit: Visit, url: string | undefined): Refusal | null {
  const problem = url === undefined ? null : urlProblem(url, visit.context.dependencies.allowPrivateTargets)
  return problem === null ? null : invalid('url', problem)
}

/** A secret that was made just now; null when the form was sent once more. */
const secretPage = (title: string, webhook: Pick<ShownWebhook, 'id'>, secret: string | null): Page => ({
  title,
  body: [
    secret === null ? (
      <p>O segredo já foi mostrado uma única vez. Se não foi copiado, troque-o.</p>
    ) : (
      <Secret title="Segredo das assinaturas" secret={secret}>
        <p class="hint">Com ele o sistema que recebe confere que as entregas vêm daqui.</p>
      </Secret>
    ),
    <ButtonLink to={webhookPath(webhook)}>Ir para o webhook</ButtonLink>,
  ],
})

const at = { section: 'integrations', access: 'owner' } as const
const one = `${WEBHOOKS_PATH}/:id`

/** Registering an address, changing it, and giving it another secret. */
export const webhookFormPages: readonly PanelRoute[] = [
  ...formPages({
    ...at,
    path: `${WEBHOOKS_PATH}/novo`,
    to: WEBHOOKS_PATH,
    subject: () => ({}),
    title: () => 'Novo webhook',
    label: 'Cadastrar',
    back: () => HOME,
    fields: () => FIELDS,
    initial: () => ({ events: ['*'] }),
    schema: WebhookFields,
    async act(submission, _, input) {
      const secret = submission.context.dependencies.newSecret()
      const answer = refusedUrl(submission, input.url) ?? (await submission.run(registerWebhook, { ...input, secret }))
      if (isRefusal(answer)) return answer
      return secretPage('Webhook cadastrado', JSON.parse(answer.body) as ShownWebhook, answer.replayed ? null : secret)
    },
  }),
  ...formPages({
    ...at,
    path: `${one}/editar`,
    subject: webhookOf,
    title: () => 'Editar webhook',
    label: 'Salvar',
    back: webhookPath,
    fields: () => FIELDS,
    initial: (webhook) => webhook,
    schema: WebhookChanges,
    async act(submission, { id }, changes) {
      const answer = refusedUrl(submission, changes.url) ?? (await submission.run(updateWebhook, { id, ...changes }))
      return isRefusal(answer) ? answer : { to: webhookPath({ id }), notice: 'alterado' }
    },
  }),
  ...formPages({
    ...at,
    path: `${one}/trocar-segredo`,
    subject: webhookOf,
    title: () => 'Trocar segredo',
    label: 'Trocar segredo',
    back: webhookPath,
    fields: () => ROTATION,
    initial: () => ({ overlap_hours: 24 }),
    schema: RotationFields,
    async act(submission, { id }, input) {
      const secret = submission.context.dependencies.newSecret()
      const answer = await submission.run(rotateSecret, { id, ...input, secret })
      return isRefusal(answer) ? answer : secretPage('Segredo trocado', { id }, answer.replayed ? null : secret)
    },
  }),
]
