import { createHash, randomBytes } from 'node:crypto'
import express, { type ErrorRequestHandler, type Response, type Router } from 'express'
import { renderToString } from 'preact-render-to-string'
import * as z from 'zod'
import { serveLocally } from '#demo/serve-locally.ts'
import {
  ALL_MOVES,
  type AnyMove,
  type Book,
  type Connections,
  createBook,
  newConnections,
  type SandboxPayment,
} from './sandbox-book.ts'
import { createNotifier, type Notification, type Notifier } from './sandbox-notifications.ts'
import { control, type Faults, failing, type Provider, play, providerApi, Refusal } from './sandbox-server.ts'

const CODE_MS = 600_000
const ACCOUNT = 1_234_567_890

const Request = z.object({
  response_type: z.literal('code'),
  client_id: z.string().min(1),
  redirect_uri: z.url(),
  state: z.string().min(1),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal('S256'),
})
type Request = z.infer<typeof Request>

const client = { client_id: z.string().min(1), client_secret: z.string().min(1) }
const Grant = z.discriminatedUnion('grant_type', [
  z.object({
    ...client,
    grant_type: z.literal('authorization_code'),
    code: z.string(),
    code_verifier: z.string(),
    redirect_uri: z.string(),
    test_token: z.boolean().default(false),
  }),
  z.object({ ...client, grant_type: z.literal('refresh_token'), refresh_token: z.string() }),
])

/** What a refresh token renews. */
interface Access {
  readonly client_id: string
  readonly isTest: boolean
}

/** `/authorization`: the page on which an owner grants access; `/oauth/token`: tokens for codes and refresh tokens. */
function oauth(connections: Connections, now: () => Date): Router {
  const router = express.Router()
  const codes = new Map<string, Request & { readonly until: number }>()
  const accesses = new Map<string, Access>()

  router.get('/authorization', (request, response) => {
    const asked = Request.safeParse(request.query)
    if (!asked.success) throw new Refusal(400, z.prettifyError(asked.error))
    const code = `TG-${randomBytes(16).toString('hex')}`
    codes.set(code, { ...asked.data, until: now().getTime() + CODE_MS })
    const back = (answer: Readonly<Record<string, string>>) => {
      const url = new URL(asked.data.redirect_uri)
      for (const [name, value] of Object.entries({ ...answer, state: asked.data.state }))
        url.searchParams.set(name, value)
      return url.href
    }
    response.setHeader('Content-Security-Policy', "default-src 'none'")
    const page = <Page grant={back({ code })} deny={back({ error: 'access_denied' })} />
    response.type('html').send(`<!doctype html>${renderToString(page)}`)
  })

  router.post('/oauth/token', (request, response) => {
    const asked = Grant.safeParse(request.body)
    if (!asked.success) return refuse(response, 400, 'invalid_request')
    const grant = asked.data
    if (grant.client_secret.startsWith('INVALID')) return refuse(response, 401, 'invalid_client')
    const access = grant.grant_type === 'refresh_token' ? renewed(grant) : granted(grant)
    if (!access) return refuse(response, 400, 'invalid_grant')
    const refresh_token = `TG-${randomBytes(16).toString('hex')}`
    accesses.set(refresh_token, access)
    response.json({
      access_token: `${access.isTest ? 'TEST' : 'APP_USR'}-${randomBytes(16).toString('hex')}-${ACCOUNT}`,
      token_type: 'Bearer',
      expires_in: connections.token_seconds,
      scope: 'offline_access payments read write',
      user_id: ACCOUNT,
      refresh_token,
      live_mode: !access.isTest,
    })
  })

  /** A code is valid once. */
  function granted({
    client_id,
    code,
    code_verifier,
    redirect_uri,
    test_token,
  }: z.infer<typeof Grant> & { grant_type: 'authorization_code' }) {
    const asked = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const fits =
      asked?.client_id === client_id && asked.redirect_uri === redirect_uri && asked.code_challenge === challenge
    return fits && asked.until >= now().getTime() ? { client_id, isTest: test_token } : null
  }

  /** A refresh token is valid once. */
  function renewed({ client_id, refresh_token }: { readonly client_id: string; readonly refresh_token: string }) {
    const access = accesses.get(refresh_token)
    if (connections.revoked || access?.client_id !== client_id) return null
    accesses.delete(refresh_token)
    return access
  }

  return router
}

function refuse(response: Response, status: number, error: string): void {
  response.status(status).json({ message: error, error, status, cause: [] })
}

const Page = ({ grant, deny }: { readonly grant: string; readonly deny: string }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>Payment provider sandbox</title>
    </head>
    <body>
      <h1>Payment provider sandbox</h1>
      <p>The service asks for access to account {ACCOUNT}.</p>
      <p>
        <a href={grant}>Grant access</a>
      </p>
      <p>
        <a href={deny}>Deny access</a>
      </p>
    </body>
  </html>
)

/** Button labels with their actors. */
const LABELS: Readonly<Record<AnyMove, readonly [who: 'Buyer' | 'Provider' | 'Shop', does: string]>> = {
  approve: ['Buyer', 'Pay'],
  reject: ['Provider', 'Refuse'],
  expire: ['Buyer', 'Let expire'],
  cancel: ['Shop', 'Cancel'],
  mediate: ['Buyer', 'Complain (mediation)'],
  'settle-mediation': ['Provider', 'Settle the complaint'],
  'charge-back': ['Buyer', 'Charge back'],
  'win-dispute': ['Provider', 'Shop wins'],
  'lose-dispute': ['Provider', 'Shop loses'],
  refund: ['Shop', 'Refund'],
  'refund-in-process': ['Provider', 'Delay the next refund'],
  'refund-done': ['Provider', 'Finish the refund'],
  'refund-rejected': ['Provider', 'Reject the refund'],
}

/** Number of listed payments and notifications. */
const SHOWN = 50
const TOLD = 20

const amountGiven = z
  .string()
  .regex(/^\d{1,9}([.,]\d{1,2})?$/)
  .transform((text) => Number(text.replace(',', '.')))

/** Page with all payments and a button for each transition, such as a buyer's payment at the bank. */
function sandboxConsole(provider: Provider): Router {
  const router = express.Router()
  router.get('/', (_request, response) => {
    response.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
    response.type('html').send(`<!doctype html>${renderToString(<Console provider={provider} />)}`)
  })
  router.post('/console/:id/:move', express.urlencoded({ extended: false }), async (request, response) => {
    const { id, move } = request.params
    if (typeof id !== 'string' || typeof move !== 'string' || !ALL_MOVES.some((each) => each === move))
      throw new Refusal(404, 'unknown move')
    const typed: unknown = request.body?.amount
    const amount = typed === undefined || typed === '' ? null : amountGiven.safeParse(typed).data
    if (amount === undefined) throw new Refusal(422, 'amount: expected a number such as 12.50')
    await play(provider, id, move as AnyMove, amount)
    response.redirect(303, '/')
  })
  return router
}

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; margin: 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .375rem .5rem; text-align: left; vertical-align: top }
form { display: inline-block; margin: 0 .25rem .25rem 0 }
button, input { font: inherit; padding: .25rem .5rem }
input { width: 6rem }
code { overflow-wrap: anywhere }
`

const Console = ({ provider: { book, notifier } }: { readonly provider: Provider }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Payment provider sandbox</title>
      <style>{STYLE}</style>
    </head>
    <body>
      <h1>Payment provider sandbox</h1>
      <p>
        No money moves here. Each button tells the service with a notification, as the provider would.{' '}
        <a href="/">Reload</a>
      </p>
      <h2>Payments</h2>
      <table>
        <thead>
          <tr>
            {['Payment', 'For', 'Amount', 'State', 'What happens next'].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {book
            .all()
            .slice(-SHOWN)
            .reverse()
            .map((payment) => (
              <Row key={payment.id} payment={payment} moves={book.moves(String(payment.id))} />
            ))}
        </tbody>
      </table>
      {book.all().length === 0 && <p>None yet: pay an order (docs/online-store.md).</p>}
      <h2>What was told last</h2>
      <ul>
        {notifier.made
          .slice(-TOLD)
          .reverse()
          .map((notification) => (
            <li key={notification.number}>
              <code>{toldLine(notification)}</code>
            </li>
          ))}
      </ul>
    </body>
  </html>
)

const Row = ({ payment, moves }: { readonly payment: SandboxPayment; readonly moves: readonly AnyMove[] }) => (
  <tr>
    <td>
      {payment.id}
      <br />
      {payment.payment_method_id}
      {payment.installments > 1 && ` in ${payment.installments}`}
    </td>
    <td>{payment.description}</td>
    <td>
      R$ {payment.transaction_amount.toFixed(2)}
      {payment.transaction_amount_refunded > 0 && `, refunded ${payment.transaction_amount_refunded.toFixed(2)}`}
    </td>
    <td>
      {payment.status}
      <br />
      {payment.status_detail}
      {payment.status === 'pending' && payment.date_of_expiration && ` until ${payment.date_of_expiration}`}
    </td>
    <td>
      {moves.map((move) => (
        <form key={move} method="post" action={`/console/${payment.id}/${move}`}>
          {move === 'refund' && (
            <input name="amount" placeholder="all that is left" aria-label="Amount to refund" inputMode="decimal" />
          )}
          <button type="submit" title={`${LABELS[move][0]}: ${move}`}>
            {LABELS[move][1]}
          </button>
        </form>
      ))}
    </td>
  </tr>
)

function toldLine({ number, url, sent }: Notification): string {
  const last = sent.at(-1)
  return `${number} → ${url}: ${last ? `${last.status} ${last.answer}` : 'not sent yet'}`
}

/** Simulated payment provider: the real endpoints, plus control over payments and failures. */
export interface Sandbox {
  readonly url: string
  readonly book: Book
  readonly notifier: Notifier
  readonly faults: Faults
  readonly connections: Connections
  close(): Promise<void>
}

interface SandboxOptions {
  /** 0: any free port. */
  readonly port: number
  /** Signs notifications of stores without a secret of their own; null: unsigned. */
  readonly secret: string | null
  /** Secrets of stores, by alias. */
  readonly storeSecrets?: Readonly<Record<string, string>>
  readonly liveMode?: boolean
  readonly now?: () => Date
  readonly log?: (line: string) => void
}

/** Without authentication: listens on the loopback interface only. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { port, liveMode = false, now = () => new Date(), log = () => {} } = options
  const provider = { book: createBook({ now, liveMode }), notifier: createNotifier({ ...options, now, log }), now }
  const faults: Faults = { mode: 'none', delay_ms: 0, calls: 0 }
  const connections = newConnections()
  const app = express()
  app.disable('x-powered-by')
  app.use(express.json())
  app.use('/v1', failing(faults), providerApi(provider))
  app.use(oauth(connections, now))
  app.use('/sandbox', control(provider, faults, connections))
  app.use(sandboxConsole(provider))
  app.use((_request, _response, next) => next(new Refusal(404, 'not found')))
  app.use(failures)
  const served = await serveLocally(app, port)
  return {
    url: served.url,
    ...provider,
    faults,
    connections,
    async close() {
      await provider.notifier.idle()
      await served.close()
    },
  }
}

const failures: ErrorRequestHandler = (error: Error & { status?: number }, _request, response, _next) => {
  response.status(error.status ?? 500).json({ message: error.message })
}
