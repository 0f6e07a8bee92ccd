import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import { returnGoods } from '#commands/return-goods.ts'
import {
  endTill,
  giveUpElements,
  inChain,
  MAX_TILLS,
  parseTillPlace,
  registerTill,
  tellTail,
} from '#commands/till-commands.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { accept, canonicalJson, command, isRefusal, type Permit } from '#ledger/command.ts'
import { type TillElementRow, tillById, tillElement } from '#projections/tills.ts'
import {
  cashSessionOpened,
  companyRegistered,
  paymentTypeCreated,
  saleCompleted,
  userCreated,
} from '../support/facts.ts'
import { by, type Decided, FIRST_NEW_ID, given, type Scenario } from '../support/given.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
const key = { name: 'Balcão', x, y }
const registered = event('TillRegistered', { id: 5, ...key })
const shop = [companyRegistered(), paymentTypeCreated({ id: 1 }), registered]
const hashOf = (digit: string) => digit.repeat(64)
const FIRST = '0'.repeat(64)
const received = (number: number, fields: object = {}) =>
  event('TillElementReceived', {
    ...{
      id: 5,
      number,
      hash: hashOf(`${number % 10}`),
      content_hash: hashOf('c'),
      previous: hashOf('b'),
      warnings: [],
    },
    ...fields,
  })

const tillIn = async (scenario: Scenario) => (await scenario.rows(tillById(5))).get(tillById(5))
const elementIn = async (scenario: Scenario, number: number): Promise<Readonly<TillElementRow> | null> =>
  (await scenario.rows(tillElement(5, number))).get(tillElement(5, number))

const register = (scenario: Scenario, counts: object = {}, input = key) =>
  scenario.when(registerTill, input, 'pdv', 'user/1', null, [{ open: 0, takes_nothing: false, named: 0, ...counts }])
const remarksOf = ({ decision }: Decided) => (isRefusal(decision) ? decision : decision.remarks)

describe('register a till', () => {
  it('gives the device a number; a company without ways of paying gets cash and Pix', async () => {
    const scenario = await given(companyRegistered())
    const decided = await register(scenario, { takes_nothing: true })
    const way = { fee_percentage: '0.00', due_days: 30, acquirer_rate: null, settles_in_days: null } as const
    decided.accepts(
      'created',
      event('TillRegistered', { id: FIRST_NEW_ID, ...key }),
      event('PaymentTypeCreated', { id: FIRST_NEW_ID, ...way, name: 'Dinheiro', kind: 'cash' }),
      event('PaymentTypeCreated', { id: FIRST_NEW_ID + 1, ...way, name: 'Pix', kind: 'pix' }),
    )
    expect(remarksOf(decided)).to.deep.equal({ name: 'Balcão', last_number: 0, last_hash: null })
  })

  it('is the same till for the same key, which goes on after its last number [TILL-1180]', async () => {
    const scenario = await given(...shop, received(1), received(2))
    const known = await register(scenario, {}, { ...key, name: 'Outro nome' })
    known.accepts('unchanged')
    expect(remarksOf(known)).to.deep.equal({ name: 'Balcão', last_number: 2, last_hash: hashOf('2') })
    // It has named a number that has not come: what is before the next one is unknown.
    expect(remarksOf(await register(scenario, { named: 7 }))).to.include({ last_number: 7, last_hash: null })
  })

  it('is refused for an ended till, and beyond the most that a company may have', async () => {
    const ended = await register(await given(...shop, event('TillEnded', { id: 5 })))
    ended.refuses('validation_failed', {
      fields: { public_key: ['este caixa foi encerrado'] },
      unknown_fields: [],
    })
    const other = { ...key, x: y, y: x }
    const full = await register(await given(...shop), { open: MAX_TILLS }, other)
    expect(full.decision).to.include({ refused: 'validation_failed' })
    const last = await register(await given(...shop), { open: MAX_TILLS - 1 }, other)
    expect(last.decision).to.include({ outcome: 'created' })
  })
})

describe('end and gaps of a till', () => {
  it('is ended once, at the time of the event', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(endTill, { id: 5 })
    decided.accepts('updated', event('TillEnded', { id: 5 }))
    expect((await tillIn(scenario))?.ended_at).to.equal('2026-03-10T15:03:00.000Z')
    const again = await scenario.when(endTill, { id: 5 })
    again.accepts('unchanged')
    const unknown = await scenario.when(endTill, { id: 9 })
    unknown.refuses('not_found')
  })

  it('tells a tail that has not come, once, and only what was not told', async () => {
    const scenario = await given(...shop, received(1))
    const tell = async (last: number) => scenario.when(tellTail, { id: 5, last })
    ;(await tell(3)).accepts('updated', event('TillGapDetected', { id: 5, missing: [[2, 3]] }))
    ;(await tell(3)).accepts('unchanged')
    ;(await tell(4)).accepts('updated', event('TillGapDetected', { id: 5, missing: [[4, 4]] }))
  })

  it('gives up numbers that are missing, with the reason, and none that has come', async () => {
    const scenario = await given(...shop, received(1), received(4))
    const giveUp = (from: number, to: number) => scenario.when(giveUpElements, { id: 5, from, to, reason: 'Queimou' })
    ;(await giveUp(2, 3)).accepts('updated', event('TillElementsGivenUp', { id: 5, from: 2, to: 3, reason: 'Queimou' }))
    ;(await giveUp(2, 3)).accepts('unchanged')
    for (const [from, to] of [
      [0, 3],
      [3, 2],
      [1, Number.MAX_SAFE_INTEGER],
    ] as const) {
      const wrong = await giveUp(from, to)
      wrong.refuses('not_found')
    }
  })
})

/** A command that records nothing but what it was told of the chain. */
interface Told {
  readonly offline_id: string
  readonly noted?: readonly []
  readonly tillId?: number
  readonly isWrong?: boolean
}
const inner = command<Told>({
  needs: () => [],
  decide: (_rows, { isWrong, noted, tillId }) =>
    isWrong ? refuse('not_found') : accept('unchanged', 'sale/1', [], [], { told: [noted, tillId] }),
})

/** An element as a till uploads it, with its place. */
function elementOf(number: number, previous: string, fields: object = {}, signer = privateKey) {
  const sent = { offline_id: `e${number}`, ...fields, till: { id: 5, number, previous } }
  const signature = sign('sha256', Buffer.from(canonicalJson(sent)), { key: signer, dsaEncoding: 'ieee-p1363' })
  const place = parseTillPlace({ ...sent, till: { ...sent.till, signature: signature.toString('base64url') } })
  if (place === null || place === 'till_signature') throw new Error('no place')
  return { offline_id: `e${number}`, place, ...fields }
}
const send = (scenario: Scenario, element: ReturnType<typeof elementOf>) =>
  scenario.when(inChain(inner), element, 'pdv')
const chainOf = (decided: Decided) => (remarksOf(decided) as { noted?: readonly string[] }).noted

describe('element in the chain of a till', () => {
  it('is received with its digests, and its till is known to what records it', async () => {
    const scenario = await given(...shop)
    const first = elementOf(1, FIRST)
    const decided = await send(scenario, first)
    const row = await elementIn(scenario, 1)
    expect(row).to.include({ hash: first.place.hash, previous: FIRST })
    expect(remarksOf(decided)).to.deep.equal({ told: [[], 5], noted: [] })
    const second = await send(scenario, elementOf(2, first.place.hash))
    expect(chainOf(second)).to.deep.equal([])
    expect((await tillIn(scenario))?.doc.settled).to.deep.equal([[1, 2]])
  })

  it('of another key is warned of, and is no part of the chain', async () => {
    const scenario = await given(...shop)
    const thief = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const decided = await send(scenario, elementOf(1, FIRST, {}, thief))
    expect(remarksOf(decided)).to.deep.equal({ told: [['till_signature'], undefined], noted: ['till_signature'] })
    expect(await elementIn(scenario, 1)).to.equal(null)
  })

  it('of an ended till is warned of, and comes', async () => {
    const scenario = await given(...shop, event('TillEnded', { id: 5 }))
    expect(chainOf(await send(scenario, elementOf(1, FIRST)))).to.deep.equal(['till_signature'])
    expect((await elementIn(scenario, 1))?.warnings).to.deep.equal(['till_signature'])
  })

  it('tells a gap when it shows one, and a break when the predecessor is known', async () => {
    const scenario = await given(...shop)
    const late = await send(scenario, elementOf(3, hashOf('a')))
    expect(isRefusal(late.decision) ? [] : late.decision.events.map(({ type }) => type)).to.deep.equal([
      'TillElementReceived',
      'TillGapDetected',
    ])
    expect(chainOf(late)).to.deep.equal([])
    const before = await send(scenario, elementOf(2, hashOf('b')))
    expect(chainOf(before), 'the third names another predecessor').to.deep.equal(['till_chain'])
    expect((await elementIn(scenario, 3))?.warnings).to.deep.equal(['till_chain'])
  })

  it('is the same when it comes again, and another under its number is warned of', async () => {
    const scenario = await given(...shop)
    await send(scenario, elementOf(1, FIRST))
    const again = await send(scenario, elementOf(1, FIRST))
    expect(chainOf(again)).to.deep.equal([])
    expect(isRefusal(again.decision) ? null : again.decision.events).to.deep.equal([])
    expect(chainOf(await send(scenario, elementOf(1, FIRST, { total: 9 })))).to.deep.equal(['till_number'])
  })

  it('has come although what it says is refused', async () => {
    const scenario = await given(...shop)
    const decided = await send(scenario, elementOf(1, FIRST, { isWrong: true }))
    expect(remarksOf(decided)).to.deep.equal({ refusedInChain: refuse('not_found') })
    expect(await elementIn(scenario, 1)).not.to.equal(null)
  })
})

describe('drawer that a person names', () => {
  const ownOnly: Permit = (permission) => (permission === 'see_all_sales' ? refuse('permission_required') : {})
  const giveBack = async (actor: string, permit: Permit) =>
    (
      await given(
        ...[companyRegistered(), paymentTypeCreated({ id: 1 }), userCreated({ id: 1 }), userCreated({ id: 2 })],
        ...[saleCompleted({ id: 8 }), by('user/1', cashSessionOpened({ session_id: 'gaveta-de-um' }))],
      )
    ).when(
      returnGoods,
      {
        ...{ id: 8, reason: 'Defeito', items: [{ line: 0, quantity: '1' }], cash_session_id: 'gaveta-de-um' },
        refunds: [{ payment_type_id: 1, amount: '0.01' }],
      },
      'panel',
      actor,
      null,
      [],
      permit,
    )
  const isClosed = ({ decision }: Decided) =>
    isRefusal(decision) && JSON.stringify(decision.details).includes('não é uma sessão de caixa aberta')

  it('is the own one, or any with the right to see all; another’s is as unknown [PANEL-603]', async () => {
    expect(isClosed(await giveBack('user/1', ownOnly)), 'own').to.equal(false)
    expect(isClosed(await giveBack('user/2', ownOnly)), 'another’s').to.equal(true)
    expect(isClosed(await giveBack('user/2', () => ({}))), 'sees all').to.equal(false)
  })
})
