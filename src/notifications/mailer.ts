import { createTransport } from 'nodemailer'

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
