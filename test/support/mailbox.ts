import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

interface Letter {
  readonly to: readonly string[]
  readonly text: string
}

/** A mail server that stores received messages. */
export interface Mailbox {
  /** For `SMTP_URL`. */
  readonly url: string
  readonly letters: readonly Letter[]
  close(): Promise<void>
}

export async function openMailbox(): Promise<Mailbox> {
  const letters: Letter[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          // Long lines come as quoted-printable text.
          const text = Buffer.concat(chunks).toString().replace(/=\r\n/g, '').replaceAll('=3D', '=')
          letters.push({ to: envelope.rcptTo.map(({ address }) => address), text })
          done()
        })
    },
  })
  await new Promise<void>((done) => smtp.listen(0, '127.0.0.1', done))
  return {
    url: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    letters,
    close: () => new Promise((done) => smtp.close(() => done())),
  }
}
