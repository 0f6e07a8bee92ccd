import { getCalls, listApiKeys } from '#queries/api-keys.ts'
import { listNotices, listWebhooks } from '#queries/webhooks.ts'
import { dateTime, decimal, mebibytes } from '../format.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { recordsIn } from '../ui/list.tsx'
import { Actions, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import { KeyTable } from './api-keys.tsx'
import { type ShownWebhook, WebhookTable } from './webhooks/webhooks.tsx'

const SWITCHED_OFF_BECAUSE: Readonly<Record<'no_response' | 'gone', string>> = {
  no_response: 'não respondeu por tempo demais',
  gone: 'respondeu que não existe mais (410)',
}

const PATH = '/integracoes'
/** All of them: a company has at most 50. */
const WEBHOOKS = 200

async function showIntegrations(visit: Visit): Promise<Page> {
  const { pool, companyId } = visit.readModel
  const [keys, calls, page, notices] = await Promise.all([
    listApiKeys(pool, companyId),
    getCalls(pool, companyId),
    listWebhooks(pool, companyId, { limit: WEBHOOKS }),
    listNotices(pool, companyId),
  ])
  const webhooks = recordsIn<ShownWebhook>(page)
  const { perMinute, perDay, bytesPerDay } = visit.context.limits
  const body = (
    <>
      {visit.session.plan !== 'api' && (
        <p class="past" role="note">
          A conta não tem o adicional de API: as chamadas com estas chaves são recusadas até que seja contratado.
        </p>
      )}
      {notices.map(({ data, created_at }) => (
        <p key={created_at} class="problem" role="note">
          {`${dateTime(created_at, visit.readModel.timezone)}: o webhook ${data.url} foi desligado porque ${SWITCHED_OFF_BECAUSE[data.reason]}.`}
        </p>
      ))}
      <Card title="Chaves de API">
        <KeyTable keys={keys} visit={visit} />
        <Actions>
          <ButtonLink to={`${PATH}/chaves/nova`} isMain>
            Nova chave
          </ButtonLink>
        </Actions>
      </Card>
      <Card title="Webhooks">
        <WebhookTable webhooks={webhooks} timezone={visit.readModel.timezone} />
        <Actions>
          <ButtonLink to={`${PATH}/webhooks/novo`} isMain>
            Novo webhook
          </ButtonLink>
        </Actions>
      </Card>
      <Card title="Uso da API">
        <Facts
          facts={[
            ['Chamadas hoje', `${decimal(String(calls.day))} de ${decimal(String(perDay))}`],
            ['Dados enviados hoje', `${mebibytes(calls.bytes)} de ${mebibytes(bytesPerDay)} MiB`],
            ['Chamadas neste minuto', `${decimal(String(calls.minute))} de ${decimal(String(perMinute))}`],
          ]}
        />
        <p>
          <a href="/docs">Documentação da API</a> · <a href="/api/v1/openapi.json">Contrato OpenAPI</a>
        </p>
      </Card>
    </>
  )
  return { title: 'Integrações', body }
}

export const integrationsPage: PanelRoute = {
  path: PATH,
  section: 'integrations',
  access: 'owner',
  show: showIntegrations,
}
