/** What is told of an address that was switched off without being asked for. */
export interface SwitchOffNotice {
  readonly webhook_id: number
  readonly url: string
  readonly reason: 'no_response' | 'gone'
}

const REASONS: Readonly<Record<SwitchOffNotice['reason'], string>> = {
  no_response: 'todas as tentativas de entrega falharam e o endereço continuou sem responder',
  gone: 'o endereço respondeu que não existe mais (HTTP 410)',
}

/** Subject and text in Brazilian Portuguese; `at` (UTC) is shown on the company's clock. */
export function switchOffMail(
  { webhook_id, url, reason }: SwitchOffNotice,
  company: { readonly name: string; readonly timezone: string },
  at: string,
): { subject: string; text: string } {
  const when = new Intl.DateTimeFormat('pt-BR', {
    dateStyle: 'short',
    timeStyle: 'short',
    timeZone: company.timezone,
  }).format(new Date(at))
  return {
    subject: `Webhook ${webhook_id} desligado`,
    text: `Olá,

o endereço de webhook ${webhook_id} da empresa ${company.name} foi desligado em ${when}:

${url}

Motivo: ${REASONS[reason]}.

As entregas que esperavam foram canceladas, e novos eventos não são enviados a ele. Quando o endereço voltar a funcionar, ligue-o de novo com POST /api/v1/webhooks/${webhook_id}/enable e peça o que faltou com POST /api/v1/webhooks/${webhook_id}/replay.

Tillbook
`,
  }
}
