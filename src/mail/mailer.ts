import { createTransport } from 'nodemailer'

/** A message in plain text. */
interface Mail {
  /** The same whenever this message is sent again. */
  readonly id: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
}

export interface Mailer {
  /** Resolves when the server has taken the message for one recipient at least. Returns those that it refused. */
  send(mail: Mail): Promise<readonly string[]>
  close(): void
}

/** A mail server that does not answer is given up after so long, at each step. */
const STEP_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 20_000

/** Sends through the server of `url` (`smtp://user:password@host:587`, `smtps://…`), on a new connection each time. */
export function createMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    dnsTimeout: STEP_TIMEOUT_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // Contents are texts, never names of files or pages.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ id, to, subject, text }) {
      const { rejected } = await transport.sendMail({ messageId: `<${id}@tillbook>`, from, to: [...to], subject, text })
      return rejected
    },
    close: () => transport.close(),
  }
}
