import { formatCount, formatDateTime } from '#domain/brazilian-format.ts'
import type { HealthObject, HealthOfSpan } from '#queries/webhook-health.ts'
import { link } from '../../link.ts'
import type { PageContext } from '../../route.ts'
import { ListTable } from '../../ui/list-table.tsx'
import { Card } from '../../ui/parts.tsx'
import { successOf, webhookPath } from './webhooks.tsx'

interface HealthProps {
  readonly health: HealthObject
  readonly visit: PageContext
}

/** Recent health of an endpoint. */
export const HealthCard = ({ health, visit }: HealthProps) => (
  <Card title="Saúde">
    {health.outage_since && (
      <p class="problem" role="note">
        {`Nenhuma entrega é aceita desde ${formatDateTime(health.outage_since, visit.readModel.timezone)}. Nada se perdeu: cada entrega é tentada de novo e o que faltar pode ser reenviado.`}
      </p>
    )}
    <ListTable
      caption="Tentativas de entrega"
      rows={[
        { name: 'Últimas 24 horas', ...health.last_24_hours },
        { name: 'Últimos 7 dias', ...health.last_7_days },
      ]}
      empty=""
      columns={[
        { head: 'Período', cell: ({ name }) => name },
        { head: 'Sucesso', cell: successOf, isNumber: true },
        { head: 'Tentativas', cell: ({ attempts }) => formatCount(attempts), isNumber: true },
        { head: 'Falhas', cell: ({ failures }) => formatCount(failures), isNumber: true },
        {
          head: 'Resposta (p95)',
          cell: ({ p95_ms }) => (p95_ms === null ? '—' : `até ${formatCount(p95_ms)} ms`),
          isNumber: true,
        },
        { head: 'Última falha', cell: ({ last_failure }) => <LastFailure {...{ visit, health, last_failure }} /> },
      ]}
    />
  </Card>
)

const LastFailure = ({ visit, health, last_failure }: HealthProps & Pick<HealthOfSpan, 'last_failure'>) =>
  last_failure ? (
    <a href={link(`${webhookPath({ id: health.webhook_id })}/entregas/${last_failure.delivery_id}`)}>
      {`${formatDateTime(last_failure.at, visit.readModel.timezone)}: ${last_failure.status === null ? last_failure.error : `HTTP ${last_failure.status}`}`}
    </a>
  ) : (
    <>—</>
  )
