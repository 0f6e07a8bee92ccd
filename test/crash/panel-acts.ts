import { expect } from 'chai'
import type { Reply } from '../support/api.ts'
import { hiddenFields, problemsIn } from '../support/panel.ts'
import type { Act, Stage } from './act.ts'
import { SIDES } from './book.ts'

/** Panel paths of the accounts. */
const ACCOUNTS = { receivables: '/painel/contas-a-receber', payables: '/painel/contas-a-pagar' } as const

/** Loads a page in a session from before the run. */
async function look({ shop, caller, dice }: Stage, path: string): Promise<{ html: string; cookie: string }> {
  const cookie = dice.pick(shop.cookies)
  const reply = await caller.insist({ method: 'GET', path, body: undefined, headers: { cookie } })
  expect(reply.status, `${path} leads to ${reply.headers.get('location')}`).to.equal(200)
  return { html: reply.text, cookie }
}

/** Submits the form of a page unchanged, and repeats it until it is answered; sometimes twice at once. */
async function submit(
  stage: Stage,
  { html, cookie }: { html: string; cookie: string },
  path: string,
  fields: object,
): Promise<Reply> {
  const { caller, dice } = stage
  const body = new URLSearchParams({ ...hiddenFields(html, path), ...fields }).toString()
  const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
  const call = { method: 'POST', path, body, headers }
  const replies = await Promise.all(Array.from({ length: dice.chance(0.2) ? 2 : 1 }, () => caller.insist(call)))
  const told = replies.map(({ status, headers, text }) => [status, headers.get('location'), problemsIn(text)])
  for (const other of told) expect(other).to.deep.equal(told[0])
  const [reply] = replies as [Reply]
  stage.book.submitted.push({ call, reply })
  return reply
}

/** Redirect target of an accepted form. */
function expectDone(reply: Reply, to: RegExp): string {
  expect(reply.status, problemsIn(reply.text).join(' ')).to.equal(303)
  expect(reply.headers.get('location')).to.match(to)
  return reply.headers.get('location') ?? ''
}

const CUSTOMERS = '/painel/clientes'

const registerCustomer: Act = async (stage) => {
  const { book, next } = stage
  const person = { external_id: `painel-${next()}`, name: `Cliente ${next()}`, person_type: 'PF' }
  const reply = await submit(stage, await look(stage, `${CUSTOMERS}/novo`), CUSTOMERS, person)
  const to = expectDone(reply, /^\/painel\/clientes\/\d+\?feito=criado$/)
  book.customers.add(person.external_id)
  book.registered.set(Number(/\d+/.exec(to)?.[0]), person.external_id)
}

/** Several clients may rename the same customer: each rename happens once. */
const renameCustomer: Act = async (stage) => {
  const { book, dice, next } = stage
  if (book.registered.size === 0) return registerCustomer(stage)
  const [id, external_id] = dice.pick([...book.registered])
  const path = `${CUSTOMERS}/${id}/editar`
  const name = `Cliente ${next()}`
  const reply = await submit(stage, await look(stage, path), path, { name, external_id, person_type: 'PF' })
  // Another client renamed the customer since the form was shown: nothing is done.
  if (reply.status === 409) return
  expectDone(reply, new RegExp(`/${id}\\?feito=alterado$`))
  book.renamings.push({ id, name })
}

/** Till sales, which the API may not cancel. Several clients may cancel the same one. */
const cancelCounterSale: Act = async (stage) => {
  const { book, dice } = stage
  if (book.offline.size === 0) return registerCustomer(stage)
  const { sale } = dice.pick([...book.offline.values()])
  const path = `/painel/vendas/${sale}/cancelar`
  const page = await look(stage, path)
  if (page.html.includes('A venda já está cancelada.')) return
  expectDone(await submit(stage, page, path, { reason: 'Desistência' }), new RegExp(`/${sale}\\?feito=cancelada$`))
  book.cancelled.add(sale)
}

/** Accounts left open by earlier acts. Several clients may settle the same one; one of them succeeds. */
const settleAccount: Act = async (stage) => {
  const { book, dice } = stage
  const sides = SIDES.filter((side) => book.open[side].size > 0)
  if (sides.length === 0) return registerCustomer(stage)
  const side = dice.pick(sides)
  const id = dice.pick([...book.open[side]])
  const path = `${ACCOUNTS[side]}/${id}/liquidar`
  const reply = await submit(stage, await look(stage, path), path, { payment_method: 'pix', paid_at: '' })
  if (reply.status === 409) return
  expectDone(reply, new RegExp(`/${id}\\?feito=liquidada$`))
  expect(book.settled[side].has(id), `${side} ${id} settled twice`).to.equal(false)
  book.settled[side].add(id)
  book.open[side].delete(id)
}

/** Acts of people in the panel. */
export const PANEL_ACTS: readonly Act[] = [registerCustomer, renameCustomer, cancelCounterSale, settleAccount]
