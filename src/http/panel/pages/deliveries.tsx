import { z } from 'zod'
import { getDelivery } from '../../../../queries/webhooks/get-delivery.ts'
import { getMessage } from '../../../../queries/webhooks/get-message.ts'
import type { DeliveryObject } from '../../../../queries/webhooks/list-deliveries.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { type Operation, operate } from '../../../ledger/operation.ts'
import { type ReplayResult, redeliver, replayMessages, sendTest } from '../../../webhooks/deliveries.ts'
import { statusOf } from '../../problems.ts'
import { dateTimeSeconds, decimal } from '../format.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import { integer } from '../forms/kinds.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { ButtonForm, Form } from '../ui/form.tsx'
import { Actions, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import { refusedPage } from '../ui/refused.tsx'
import { Table } from '../ui/table.tsx'
import { WEBHOOK_EVENT_NAMES } from '../words/webhooks.ts'
import type { ShownWebhook } from './integrations.tsx'
import { WEBHOOKS_PATH, withWebhook } from './webhook-forms.tsx'
import { DeliveryBadge } from './webhooks.tsx'

const REPLAY: Fields = {
  after: {
    label: 'Depois da revisão',
    kind: integer,
    hint: 'Em branco: de todos os eventos guardados, que são os dos últimos 30 dias.',
  },
}

const ReplayForm = z.object({ after: z.int('deve ser uma revisão do livro').min(0).nullish() })

async function deliveryPage(visit: Visit, webhook: ShownWebhook): Promise<Page | null> {
  const { pool, companyId, timezone } = visit.books
  const id = visit.params.delivery ?? ''
  if (!z.uuid().safeParse(id).success) return null
  const [{ record }, sent] = await Promise.all([
    getDelivery(pool, companyId, webhook.id, id),
    getMessage(pool, companyId, id),
  ])
  if (record === null) return null
  const delivery = JSON.parse(record) as DeliveryObject
  const here = `${WEBHOOKS_PATH}/${webhook.id}`
  const body = (
    <>
      <Actions>
        {webhook.status !== 'disabled' && (
          <ButtonForm visit={visit} to={`${here}/entregas/${id}/reenviar`} label="Reenviar" />
        )}
        <ButtonLink to={here}>Voltar ao webhook</ButtonLink>
      </Actions>
      <Card title="Entrega">
        <Facts
          facts={[
            ['Situação', <DeliveryBadge status={delivery.status} />],
            ['Aviso', WEBHOOK_EVENT_NAMES[delivery.event]],
            ['Identificação', <code>{delivery.id}</code>],
            ['Sequência', delivery.sequence],
            ['Revisão do livro', delivery.revision],
            ['Reenvio', delivery.replay ? 'Sim' : 'Não'],
            ['Próxima tentativa', delivery.next_attempt_at && dateTimeSeconds(delivery.next_attempt_at, timezone)],
          ]}
        />
      </Card>
      <Attempts delivery={delivery} timezone={timezone} />
      <Card title="O que é enviado">
        <p>
          <code>{`POST ${webhook.url}`}</code>
        </p>
        {sent === null ? (
          <p class="empty">O conteúdo não é mais guardado.</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          <pre tabIndex={0}>{JSON.stringify(JSON.parse(sent), null, 2)}</pre>
        )}
      </Card>
    </>
  )
  return { title: 'Entrega de webhook', body }
}

const Attempts = ({ delivery, timezone }: { readonly delivery: DeliveryObject; readonly timezone: string }) => (
  <Card title="Tentativas">
    <Table
      caption="Tentativas"
      rows={delivery.attempts}
      empty="Nenhuma ainda."
      columns={[
        { head: 'Quando', cell: ({ at }) => dateTimeSeconds(at, timezone) },
        { head: 'Resposta', cell: ({ status, error }) => (status === null ? error : `HTTP ${status}`) },
        { head: 'Demorou', cell: ({ duration_ms }) => `${decimal(String(duration_ms))} ms`, isNumber: true },
        { head: 'Começo da resposta', cell: ({ response }) => <code>{response ?? '—'}</code> },
      ]}
    />
  </Card>
)

/** Does something with deliveries, once however often the form is sent, and wakes those who deliver. */
async function operated(submission: Submission, operation: Operation) {
  const { context, session } = submission
  const asked = { companyId: session.companyId, idempotency: submission.idempotency() }
  const answer = await operate(context.pool, asked, operation)
  context.bell.ring()
  return answer
}

async function send(submission: Submission, { id }: ShownWebhook, operation: Operation): Promise<Page | Redirect> {
  const answer = await operated(submission, operation)
  if (isRefusal(answer)) return refusedPage(answer)
  const delivery = JSON.parse(answer.body) as DeliveryObject
  return { to: `${WEBHOOKS_PATH}/${id}/entregas/${delivery.id}`, notice: 'enviada' }
}

function replayPage(
  visit: Visit,
  { id }: ShownWebhook,
  filled: Filled = filledFrom(REPLAY, {}, ''),
  status = 200,
): Page {
  const here = `${WEBHOOKS_PATH}/${id}`
  const body = (
    <Form visit={visit} to={`${here}/reenviar`} label="Reenviar" fields={REPLAY} filled={filled} back={here}>
      <p>Cria novas entregas do que este webhook assina, também do que ele perdeu enquanto estava desligado.</p>
    </Form>
  )
  return { title: 'Reenviar eventos', body, status }
}

async function replay(submission: Submission, webhook: ShownWebhook): Promise<Page> {
  const { form, context } = submission
  const parsed = checked(ReplayForm, REPLAY, form, '')
  if ('filled' in parsed) return replayPage(submission, webhook, parsed.filled, 422)
  const wanted = { id: webhook.id, after: parsed.input.after ?? undefined }
  const answer = await operated(submission, (operating) => replayMessages(operating, wanted, context.newId))
  if (isRefusal(answer))
    return replayPage(submission, webhook, filledWith(REPLAY, form, answer), statusOf(answer.refused))
  const { deliveries, last_revision, has_more } = JSON.parse(answer.body) as ReplayResult
  const here = `${WEBHOOKS_PATH}/${webhook.id}`
  const body = (
    <>
      <p>{`Entregas criadas: ${decimal(String(deliveries))}.`}</p>
      {has_more && last_revision !== null && (
        <ButtonForm
          visit={submission}
          to={`${here}/reenviar`}
          label="Continuar"
          values={{ after: String(last_revision) }}
        />
      )}
      <ButtonLink to={here}>Voltar ao webhook</ButtonLink>
    </>
  )
  return { title: 'Eventos reenviados', body }
}

const at = { section: 'integrations', access: 'owner' } as const
const one = `${WEBHOOKS_PATH}/:id`

/** What was delivered to an address, with request and answer, and having it delivered again. */
export const deliveryPages: readonly PanelRoute[] = [
  {
    ...at,
    path: `${one}/entregas/:delivery`,
    show: (visit) => withWebhook(visit, (hook) => deliveryPage(visit, hook)),
  },
  {
    ...at,
    path: `${one}/entregas/:delivery/reenviar`,
    submit: (sent) =>
      withWebhook(sent, async (hook) => {
        const id = sent.params.delivery ?? ''
        return z.uuid().safeParse(id).success
          ? send(sent, hook, (operating) => redeliver(operating, hook.id, id))
          : null
      }),
  },
  {
    ...at,
    path: `${one}/testar`,
    submit: (sent) =>
      withWebhook(sent, (hook) => send(sent, hook, (operating) => sendTest(operating, hook.id, sent.context.newId))),
  },
  { ...at, path: `${one}/reenviar`, show: (visit) => withWebhook(visit, (hook) => replayPage(visit, hook)) },
  { ...at, path: `${one}/reenviar`, submit: (sent) => withWebhook(sent, (hook) => replay(sent, hook)) },
]
