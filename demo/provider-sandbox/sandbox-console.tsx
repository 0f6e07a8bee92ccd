import express, { type Router } from 'express'
import { renderToString } from 'preact-render-to-string'
import * as z from 'zod'
import type { Provider } from './sandbox-api.ts'
import { ALL_MOVES, type AnyMove, type SandboxPayment } from './sandbox-book.ts'
import type { Notification } from './sandbox-notifications.ts'
import { play, Refusal } from './sandbox-server.ts'

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
export function sandboxConsole(provider: Provider): Router {
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
