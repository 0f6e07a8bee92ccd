import { brandedHtml, type ShopBrand } from './branded-email.ts'

/** Subject and text of an e-mail. */
export interface EmailMessage {
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

/** A message about a shop, with its brand. */
export const brandedEmail = (message: EmailMessage, shop: ShopBrand): EmailMessage => ({
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
