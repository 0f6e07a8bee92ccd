import { formatDateTime } from '#domain/brazilian-format.ts'
import { toShopBrand } from './branded-email.ts'
import { brandedEmail, type EmailMessage } from './email-templates.ts'

/** News about a webhook endpoint: switched off automatically, failing, or healthy again. */
type EndpointNews =
  | {
      readonly kind: 'webhook_switched_off'
      readonly data: { readonly webhook_id: number; readonly url: string; readonly reason: 'no_response' | 'gone' }
    }
  | {
      readonly kind: 'webhook_failing' | 'webhook_well'
      /** `since` is the first failure of the outage. */
      readonly data: { readonly webhook_id: number; readonly url: string; readonly since: string }
    }

/** With its time (UTC) and the company's name, brand and time zone. */
export type EndpointNotification = EndpointNews & {
  readonly created_at: string
  readonly name: string
  readonly logo_url: string | null
  readonly brand_color: string | null
  readonly timezone: string
}

const REASONS = {
  no_response: 'todas as tentativas de entrega falharam e o endereço continuou sem responder',
  gone: 'o endereço respondeu que não existe mais (HTTP 410)',
}

/** In Brazilian Portuguese and the company's time, with a link to the endpoint in the panel (HOOK-20, HOOK-74). */
export function endpointEmail(notice: EndpointNotification, publicUrl: string): EmailMessage {
  const { webhook_id, url } = notice.data
  const page = `${publicUrl}/painel/integracoes/webhooks/${webhook_id}`
  const { subject, said, advice } = wordsOf(notice)
  const { name, logo_url: logoUrl, brand_color: color } = notice
  const text = `Olá,\n\n${said}\n\n${url}\n\n${advice}\n\n${page}\n\nTillbook\n`
  return brandedEmail({ subject, text }, toShopBrand({ name, logoUrl, color }, publicUrl))
}

function wordsOf(notice: EndpointNotification): { subject: string; said: string; advice: string } {
  const { created_at, name, timezone } = notice
  const when = (at: string) => formatDateTime(at, timezone)
  const [one, the] = [`Webhook ${notice.data.webhook_id}`, `o webhook ${notice.data.webhook_id} da empresa ${name}`]
  if (notice.kind === 'webhook_switched_off')
    return {
      subject: `${one} desligado`,
      said: `${the} foi desligado em ${when(created_at)}. Motivo: ${REASONS[notice.data.reason]}.`,
      advice:
        'As entregas pendentes foram canceladas e novos eventos não são enviados. Quando o endereço voltar a funcionar, ligue o webhook e reenvie o que faltou nesta página:',
    }
  const since = when(notice.data.since)
  return notice.kind === 'webhook_failing'
    ? {
        subject: `${one} com falhas`,
        said: `${the} não aceita nenhuma entrega desde ${since}.`,
        advice:
          'Nada se perdeu: cada entrega é tentada de novo por algumas horas. Veja as últimas tentativas e respostas nesta página:',
      }
    : {
        subject: `${one} normalizado`,
        said: `${the}, que falhava desde ${since}, voltou a aceitar entregas.`,
        advice: 'O que não chegou enquanto isso pode ser reenviado, também por data, nesta página:',
      }
}
