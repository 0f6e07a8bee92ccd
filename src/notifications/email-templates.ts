/** Subject and text of an e-mail. */
export interface EmailMessage {
  readonly subject: string
  readonly text: string
}

/** E-mail to one person; its link is a credential. */
export const invitationEmail = (companyName: string, link: string, days: number): EmailMessage => ({
  subject: `Convite para ${companyName} no Tillbook`,
  text: `Olá,

${companyName} convidou você para entrar na empresa no Tillbook. Abra este endereço para aceitar, em até ${days} dias:

${link}

Se não conhece a empresa, ignore esta mensagem: nada acontece.

Tillbook
`,
})

/** E-mail to one person; its link is a credential. */
export const passwordEmail = (link: string, minutes: number): EmailMessage => ({
  subject: 'Nova senha no Tillbook',
  text: `Olá,

alguém pediu uma nova senha para este endereço. Se foi você, escolha-a aqui, em até ${minutes} minutos:

${link}

Se não foi você, ignore esta mensagem: a senha continua a mesma.

Tillbook
`,
})
