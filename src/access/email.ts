import { createHmac, timingSafeEqual } from 'node:crypto'
import { createTransport } from 'nodemailer'
import type { Pool } from 'pg'
import { brandPalette, uploadedLogo } from '#domain/images.ts'
import { formatDateTime } from '#domain/person-values.ts'
import { escapeHtml } from '#domain/text.ts'
import { MASKED_NAME } from '#projections/companies.ts'

/** An e-mail of plain text, with HTML of the same content if it shows a shop's brand. */
interface Mail {
  /** Equal in all attempts to send it. */
  readonly id: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

export interface Mailer {
  /** Resolves when the server has accepted at least one recipient. Returns the refused ones. */
  send(mail: Mail): Promise<readonly string[]>
  close(): void
}

/** Time-out of each step of the SMTP dialogue. */
const STEP_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 20_000

/**
 * Sends through the server of `url` (`smtp://user:password@host:587`, `smtps://…`), with a new connection each time.
 */
export function createMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    dnsTimeout: STEP_TIMEOUT_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // Contents are texts, never file names or URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ id, to, ...content }) {
      const { rejected } = await transport.sendMail({ messageId: `<${id}@tillbook>`, from, to: [...to], ...content })
      return rejected
    },
    close: () => transport.close(),
  }
}

/** What an e-mail shows of the shop that it is about. */
export interface ShopBrand {
  readonly name: string
  /** Whole URL of the uploaded logo; null without one. */
  readonly logoUrl: string | null
  /** `#rrggbb`; null without one. */
  readonly color: string | null
}

/** `logoUrl` is as the company's record has it. */
export function toShopBrand({ name, logoUrl, color }: ShopBrand, publicUrl: string): ShopBrand {
  const uploaded = uploadedLogo(logoUrl)
  return { name, color, logoUrl: uploaded && `${publicUrl}${uploaded}` }
}

const paragraphOf = (text: string): string => {
  const content = escapeHtml(text)
  return /^https?:\/\/\S+$/.test(text)
    ? `<p style="overflow-wrap:anywhere"><a href="${content}">${content}</a></p>`
    : `<p>${content.replaceAll('\n', '<br>')}</p>`
}

/**
 * HTML of an e-mail's text under the shop's logo, name and colour; undefined if the shop has neither logo nor colour.
 * Programs for e-mail take styles only from attributes.
 */
function brandedHtml(text: string, { name, logoUrl, color }: ShopBrand): string | undefined {
  if (logoUrl === null && color === null) return undefined
  const { brand, onBrand } = color === null ? { brand: '#ffffff', onBrand: '#17212d' } : brandPalette(color)
  const logo =
    logoUrl === null
      ? ''
      : `<img src="${escapeHtml(logoUrl)}" alt="" height="40" style="height:40px;max-width:160px;padding:4px;background:#ffffff;border-radius:4px;vertical-align:middle;margin-right:12px">`
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map(paragraphOf)
  return `<!doctype html><html lang="pt-BR"><body style="margin:0;font-family:sans-serif;color:#17212d;background:#ffffff"><div style="max-width:36rem;margin:0 auto"><div style="padding:12px 16px;font-size:18px;font-weight:bold;color:${onBrand};background:${brand}">${logo}${escapeHtml(name)}</div><div style="padding:16px;line-height:1.5">${paragraphs.join('')}</div></div></body></html>`
}

/** Subject and text of an e-mail. */
export interface EmailMessage {
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

/** A message about a shop, with its brand. */
const brandedEmail = (message: EmailMessage, shop: ShopBrand): EmailMessage => ({
  ...message,
  html: brandedHtml(message.text, shop),
})

/** E-mail to one person; its link is a credential. */
export const invitationEmail = (shop: ShopBrand, link: string, days: number): EmailMessage =>
  brandedEmail(
    {
      subject: `Convite para ${shop.name} no Tillbook`,
      text: `Olá,

${shop.name} convidou você para entrar na empresa no Tillbook. Abra este link para aceitar em até ${days} dias:

${link}

Se não conhece a empresa, ignore esta mensagem: nada acontece.

Tillbook
`,
    },
    shop,
  )

/** What to know at opening, each sentence with its page; `page` ends the mails. */
export const morningEmail = (
  shop: ShopBrand,
  { name, hour, page }: { readonly name: string; readonly hour: number; readonly page: string },
  sentences: readonly { readonly text: string; readonly url: string }[],
): EmailMessage =>
  brandedEmail(
    {
      subject: `Bom dia: ${shop.name}`,
      text: `Bom dia, ${name}.

${sentences.map(({ text, url }) => `${text}\n\n${url}`).join('\n\n')}

Você pediu este resumo às ${hour}h. Para mudar a hora ou não receber mais:

${page}

Tillbook
`,
    },
    shop,
  )

/** E-mail to one person; its link is a credential. `shop` is the person's only one, or null. */
export const passwordEmail = (link: string, minutes: number, shop: ShopBrand | null): EmailMessage => {
  const message = {
    subject: 'Nova senha no Tillbook',
    text: `Olá,

recebemos um pedido de nova senha para este e-mail. Se foi você, crie a senha neste link em até ${minutes} minutos:

${link}

Se não foi você, ignore esta mensagem: a senha continua a mesma.

Tillbook
`,
  }
  return shop === null ? message : brandedEmail(message, shop)
}

/** News about a person's login, sent to the person whatever its origin. */
export type SecurityNews =
  | { readonly kind: 'second_factor_added' }
  | { readonly kind: 'second_factor_removed' }
  | { readonly kind: 'recovery_codes_renewed' }
  | { readonly kind: 'recovery_code_used'; readonly left: number }
  /** By an owner of the company. */
  | { readonly kind: 'second_factor_removed_by_owner' | 'password_link_created'; readonly shop: ShopBrand }

const CHECK_ACCOUNT = 'Se não foi você, troque a senha agora e encerre as sessões abertas em Minha conta.'

function securityWords(news: SecurityNews): { subject: string; said: string; advice: string } {
  switch (news.kind) {
    case 'second_factor_added':
      return {
        subject: 'Verificação em duas etapas ativada',
        said: 'Um aplicativo autenticador ou uma chave de acesso foi adicionado à sua conta.',
        advice: CHECK_ACCOUNT,
      }
    case 'second_factor_removed':
      return {
        subject: 'Verificação em duas etapas removida',
        said: 'Um aplicativo autenticador ou uma chave de acesso foi removido da sua conta.',
        advice: CHECK_ACCOUNT,
      }
    case 'recovery_codes_renewed':
      return {
        subject: 'Novos códigos de recuperação',
        said: 'Foram criados novos códigos de recuperação para a sua conta. Os anteriores não são mais válidos.',
        advice: CHECK_ACCOUNT,
      }
    case 'recovery_code_used':
      return {
        subject: 'Código de recuperação usado',
        said: `Um código de recuperação foi usado para entrar na sua conta. Códigos restantes: ${news.left}.`,
        advice: CHECK_ACCOUNT,
      }
    case 'second_factor_removed_by_owner':
      return {
        subject: 'Verificação em duas etapas removida',
        said: `Um proprietário de ${news.shop.name} removeu a verificação em duas etapas da sua conta. Você entra só com a senha até ativá-la de novo.`,
        advice: 'Se você não pediu isso, fale com a empresa.',
      }
    case 'password_link_created':
      return {
        subject: 'Link para criar uma nova senha',
        said: `Um proprietário de ${news.shop.name} criou um link para você escolher uma nova senha. A senha atual vale até o link ser usado.`,
        advice: 'Se você não pediu isso, fale com a empresa.',
      }
  }
}

/** E-mail to one person, without a link. */
export function securityEmail(news: SecurityNews): EmailMessage {
  const { subject, said, advice } = securityWords(news)
  const message = { subject: `${subject} no Tillbook`, text: `Olá,\n\n${said}\n\n${advice}\n\nTillbook\n` }
  return 'shop' in news ? brandedEmail(message, news.shop) : message
}

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

/** In Brazilian Portuguese and the company's time, with a link to the endpoint in the panel. */
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

/** A shop whose brand pages without a login show; `logoUrl` as its record has it. */
export interface ShownShop extends ShopBrand {
  readonly companyId: number
}

/** Shops that pages without a login show. */
export interface ShownShops {
  /** Of a company, for cookies and addresses: shops cannot be listed by their numbers. */
  codeFor(companyId: number): string
  /** The company of a code; null for everything else. */
  read(code: string | null): number | null
  /** That company's, or the installation's only one but for test companies. */
  find(companyId: number | null): Promise<ShownShop | null>
}

const CODE = /^([1-9]\d{0,14})\.([\w-]{16})$/

export function createShownShops(pool: Pool, secret: Buffer): ShownShops {
  const sign = (id: string): string =>
    createHmac('sha256', secret).update(`shown shop\n${id}`).digest('base64url').slice(0, 16)
  return {
    codeFor: (companyId) => `${companyId}.${sign(String(companyId))}`,
    read(code) {
      const [, id = '', signature = ''] = (code?.length ?? 0) > 40 ? [] : (CODE.exec(code ?? '') ?? [])
      return id !== '' && timingSafeEqual(Buffer.from(signature), Buffer.from(sign(id))) ? Number(id) : null
    },
    async find(companyId) {
      const { rows } = await pool.query<ShownShop>({ ...FIND, values: [companyId] })
      return rows[0] ?? null
    },
  }
}

const FIND = {
  name: 'find_shown_shop',
  text: `with own as (select company_id from companies where not is_test limit 2)
         select c.company_id as "companyId", ${MASKED_NAME} as name, c.doc ->> 'logo_url' as "logoUrl", c.doc ->> 'brand_color' as color
         from companies c where c.company_id = coalesce($1::bigint, (select min(company_id) from own having count(*) = 1))`,
}
