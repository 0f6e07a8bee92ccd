import { formatCount, formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import type { NotificationOutcome } from '#domain/orders.ts'
import { isRefusal } from '#ledger/command.ts'
import { listNotifications, type NotificationObject } from '#queries/orders.ts'
import type { PageContext } from '../route.ts'
import { recordsOnPage } from '../ui/list.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, StateBadge, type StateMark, WithheldContent } from '../ui/parts.tsx'

/** In a flood the first notifications tell as much as the last. */
const NOTIFICATIONS = 100

const OUTCOMES: Readonly<Record<NotificationOutcome, StateMark>> = {
  applied: ['good', 'Aplicada'],
  duplicate: ['plain', 'Repetida'],
  stale: ['plain', 'Atrasada'],
  ignored: ['plain', 'Ignorada'],
  refused: ['bad', 'Recusada'],
  failed: ['bad', 'Falhou'],
}

/** Notifications of the payment provider about an order. */
export async function Notifications({ readModel, session }: PageContext, orderId: number) {
  const page = await listNotifications(readModel.reader, orderId, { limit: NOTIFICATIONS })
  const notifications = recordsOnPage<NotificationObject>(page)
  return (
    <Card title="Notificações recebidas">
      <ListTable
        caption="Notificações recebidas"
        rows={notifications}
        empty="Nenhuma notificação recebida."
        columns={[
          { head: 'Recebida', cell: ({ received_at }) => formatDateTimeSeconds(received_at, readModel.timezone) },
          { head: 'Resultado', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
          { head: 'Resposta', cell: ({ http_status }) => (http_status === null ? '—' : `HTTP ${http_status}`) },
          {
            head: 'Demorou',
            cell: ({ duration_ms }) => (duration_ms === null ? '—' : `${formatCount(duration_ms)} ms`),
            isNumber: true,
          },
          {
            head: 'Conteúdo',
            cell: (one) => (session.seesPersonalData ? <Content notification={one} /> : <WithheldContent />),
          },
        ]}
      />
      {!isRefusal(page) && page.has_more && (
        <p class="hint">Só as primeiras {NOTIFICATIONS} são mostradas; a API lista todas.</p>
      )}
    </Card>
  )
}

const OutcomeBadge = ({ outcome }: Pick<NotificationObject, 'outcome'>) => (
  <StateBadge state={outcome === null ? ['warn', 'Em andamento'] : OUTCOMES[outcome]} />
)

const Content = ({ notification: { payload, response } }: { readonly notification: NotificationObject }) => (
  <details>
    <summary>Ver</summary>
    <p>Recebido</p>
    <pre>{JSON.stringify(payload, null, 2)}</pre>
    <p>Respondido</p>
    <pre>{JSON.stringify(response, null, 2)}</pre>
  </details>
)
