import { expect } from 'chai'
import {
  CashMovementInput,
  type CashMovementUpload,
  closeCashSession,
  recordCashMovement,
} from '#commands/cash-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { recordRefusedMovement, resolveRefusedMovement } from '#commands/refused-upload-commands.ts'
import { describeIssues, refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import type { DataOf } from '#events/catalogue.ts'
import { grantAll, type NewEvent, type Permit } from '#ledger/command.ts'
import type { CashTakings } from '#projections/cash-takings.ts'
import { saleById } from '#projections/sales.ts'
import {
  cashMoved,
  cashSessionClosed,
  cashSessionOpened,
  companyRegistered,
  itemCreated,
  paymentTypeCreated,
  receivableCreated,
  userCreated,
} from '../support/facts.ts'
import { by, FIRST_NEW_ID, given, type Scenario } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'

const movement = (fields: object = {}) => ({
  offline_id: 'm1',
  session_id: 's1',
  kind: 'opened',
  amount: 100,
  at: '2026-03-10T11:00:00.000Z',
  ...fields,
})
const parsed = (fields: object = {}): CashMovementUpload => CashMovementInput.parse(movement(fields))

const COMMON = { session_id: 's1', at: '2026-03-10T11:00:00.000Z', reason: null, warnings: [] }
const TAKINGS: CashTakings = {
  drawer: 1,
  sales: 2,
  ways: [
    { payment_type_id: 1, is_cash: true, sold: '30.00', cancelled: '4.00', returned: '1.00' },
    { payment_type_id: 2, is_cash: false, sold: '50.00', cancelled: '0.00', returned: '0.00' },
  ],
}

const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: 1, kind: 'cash' }),
  paymentTypeCreated({ id: 2, name: 'Débito', kind: 'card' }),
  paymentTypeCreated({ id: 3, name: 'Moedas', kind: 'cash' }),
] as const

const at = async (...events: NewEvent[]) => given(...shop, ...events)
const record = (scenario: Scenario, fields: object) =>
  scenario.when(recordCashMovement, parsed(fields), 'pdv', 'user/1')
const close = (scenario: Scenario, fields: object = {}) => {
  const closing = { offline_id: 'c', kind: 'closed', amount: null, ...fields }
  return scenario.when(closeCashSession, parsed(closing), 'pdv', 'user/1', null, [{ takings: TAKINGS }])
}

describe('a movement of a cash session', () => {
  it('opens a session with its float [CASH-2]', async () => {
    const scenario = await at()
    const decided = await record(scenario, {})
    decided.accepts('created', cashSessionOpened({ ...COMMON, id: FIRST_NEW_ID, offline_id: 'm1', amount: '100.00' }))
  })

  it('is recorded before the opening arrives, which joins it [CASH-3]', async () => {
    const scenario = await at()
    await record(scenario, { offline_id: 'm2', kind: 'out', amount: 30, reason: 'Sangria' })
    await record(scenario, {})
    const shown = await scenario.show(`cash_session/${FIRST_NEW_ID}`)
    expect(shown).to.deep.include({ status: 'open', opened_at: '2026-03-10T08:00:00.000-03:00', expected: '70.00' })
    expect(shown).to.have.deep.property('cash', {
      ...{ opening: '100.00', sales: '0.00', received: '0.00', in: '0.00', out: '30.00' },
      ...{ returned: '0.00', cancelled: '0.00' },
    })
  })

  it('of the same content records nothing again, and of another one is refused [CASH-4]', async () => {
    const scenario = await at()
    await record(scenario, {})
    ;(await record(scenario, { at: '2026-03-10T08:00:00.000-03:00' })).accepts('unchanged')
    ;(await record(scenario, { amount: 101 })).refuses('duplicate_resource', {
      field: 'offline_id',
      conflicting_id: FIRST_NEW_ID,
    })
  })

  it('cannot open a session twice, also after its closing [CASH-5]', async () => {
    const scenario = await at()
    await record(scenario, {})
    ;(await record(scenario, { offline_id: 'm2' })).refuses('session_open')
    await close(scenario)
    ;(await record(scenario, { offline_id: 'm3' })).refuses('session_open')
    ;(await close(scenario, { offline_id: 'c2' })).refuses('session_closed')
  })

  it('after the closing is recorded with a warning, and the session says so [CASH-6]', async () => {
    const scenario = await at()
    await record(scenario, {})
    await close(scenario, { counted: { cash: 100 } })
    const late = await record(scenario, { offline_id: 'm2', kind: 'in', amount: 5 })
    const warnings: DataOf<'CashMoved'>['warnings'] = ['session_closed']
    late.accepts('created', cashMoved({ ...COMMON, id: FIRST_NEW_ID, offline_id: 'm2', amount: '5.00', warnings }))
    expect(late.decision).to.have.deep.property('remarks', { warnings })
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.include({ changed_after_close: true })
  })

  it('from a clock that is ahead is recorded with a warning [CASH-2]', async () => {
    const decided = await record(await at(), { at: '2026-03-11T11:00:00.000Z' })
    expect(decided.decision).to.have.deep.property('remarks', { warnings: ['at_in_future'] })
  })

  it('from a clock that is behind is recorded with a warning [UP-762]', async () => {
    const scenario = await at()
    for (const [n, when, warnings] of [
      [1, '2026-01-09T15:00:00.000Z', ['at_old']],
      [2, '2026-01-10T15:00:00.000Z', []],
    ] as const) {
      const decided = await record(scenario, { offline_id: `old${n}`, kind: 'in', at: when })
      expect(decided.decision).to.have.deep.property('remarks', { warnings })
    }
  })

  it('is refused before 1990, and more than ten years ahead [UP-761]', async () => {
    const scenario = await at()
    for (const [n, when, isTaken] of [
      [1, '1989-12-31T23:59:59.999Z', false],
      [2, '1990-01-01T00:00:00.000Z', true],
      [3, '2036-03-09T15:00:00.000Z', true],
      [4, '2036-03-11T15:00:00.000Z', false],
      [5, '9999-12-31T23:59:59.999Z', false],
    ] as const) {
      const { decision } = await record(scenario, { offline_id: `far${n}`, kind: 'in', at: when })
      expect('events' in decision, when).to.equal(isTaken)
    }
  })
})

describe('the closing of a cash session', () => {
  it('records the count with what sales had brought, and shows the differences [CASH-7]', async () => {
    const scenario = await at()
    await record(scenario, {})
    const counted = { '2': 51, cash: 124.5, '3': 0.5, '1': 0.25 }
    const decided = await close(scenario, { counted })
    decided.accepts(
      'created',
      cashSessionClosed({
        ...{ ...COMMON, id: FIRST_NEW_ID, offline_id: 'c', takings: TAKINGS },
        counted: [
          { payment_type_id: null, amount: '125.25' },
          { payment_type_id: 2, amount: '51.00' },
        ],
      }),
    )
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.deep.include({
      ...{ status: 'closed', sales_count: 2, changed_after_close: false },
      ...{ expected: '125.00', counted: '125.25', difference: '0.25' },
      by_payment_type: [
        { payment_type_id: 1, is_cash: true, expected: '125.00', counted: '125.25', difference: '0.25' },
        { payment_type_id: 2, is_cash: false, expected: '50.00', counted: '51.00', difference: '1.00' },
      ],
    })
  })

  it('without a count has no difference, and a counted type without sales expects nothing [CASH-7]', async () => {
    const scenario = await at()
    await close(scenario, { counted: { '2': 3 } })
    const shown = (await scenario.show(`cash_session/${FIRST_NEW_ID}`)) as { by_payment_type: unknown }
    expect(shown).to.deep.include({ opened_at: null, expected: '25.00', counted: null, difference: null })
    expect(shown.by_payment_type).to.deep.equal([
      { payment_type_id: 1, is_cash: true, expected: '25.00', counted: null, difference: null },
      { payment_type_id: 2, is_cash: false, expected: '50.00', counted: '3.00', difference: '-47.00' },
    ])
  })

  it('refuses a count of an unknown payment type [CASH-7]', async () => {
    ;(await close(await at(), { counted: { '9': 1 } })).refuses('validation_failed', {
      fields: { 'counted.9': ['forma de pagamento não encontrada'] },
      unknown_fields: [],
    })
  })
})

describe('cash that a till received for an account', () => {
  const received = { kind: 'received', amount: 40, receivable_id: 5 }

  it('pays the account and comes into the drawer [CASH-8]', async () => {
    const scenario = await at(receivableCreated({ id: 5, amount: '100.00' }))
    await record(scenario, received)
    expect(await scenario.show('receivable/5')).to.include({ open_amount: '60.00', status: 'pending' })
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.include({ expected: '40.00' })
  })

  it('is refused beyond what is open, for an unknown account, and without the right [CASH-8]', async () => {
    const scenario = await at(receivableCreated({ id: 5, amount: '30.00' }))
    const refusedIn = async (fields: object, permit: Permit = grantAll) => {
      const input = CashMovementInput.parse(movement({ ...received, ...fields }))
      const { decision } = await scenario.when(recordCashMovement, input, 'pdv', 'user/1', null, [], permit)
      if (!('refused' in decision)) throw new Error('it is recorded')
      return decision.details?.fields ?? decision.refused
    }
    expect(await refusedIn({})).to.deep.equal({ amount: ['é mais que o valor em aberto, 30.00'] })
    const unknown = { receivable_id: ['conta não encontrada'] }
    expect(await refusedIn({ receivable_id: 6 })).to.deep.equal(unknown)
    const lacks =
      (...lacking: string[]) =>
      (permission: Permission) =>
        lacking.includes(permission) ? refuse('permission_required') : {}
    expect(await refusedIn({ amount: 30 }, lacks('receive'))).to.equal('permission_required')
    await record(scenario, { ...received, offline_id: 'm3', amount: 30 })
    expect(await refusedIn({}, lacks('see_all_sales'))).to.deep.equal(unknown)
    expect(await scenario.show('receivable/5')).to.include({ open_amount: '0.00', paid_amount: '30.00' })
  })
})

describe('the drawer of a user', () => {
  const send = (scenario: Scenario, userId: number, fields: object) => {
    const input = { ...CashMovementInput.parse(movement(fields)), userId }
    const found = [{ takings: { drawer: null, sales: 0, ways: [] } }]
    const run = input.kind === 'closed' ? closeCashSession : recordCashMovement
    return scenario.when(run, input, 'pdv', `user/${userId}`, null, found)
  }
  const isKept = async (scenario: Scenario, userId: number, fields: object) =>
    expect((await send(scenario, userId, fields)).decision)
      .to.have.property('remarks')
      .that.deep.equals({ warnings: [], refusal: 'session_of_other' })
  const person = (scenario: Scenario, input: { offline_id: string; session_id: string }, permit: Permit = grantAll) =>
    scenario.when(recordRefusedMovement, input, 'panel', 'user/9', null, [{ takings: TAKINGS }], permit)

  it('a drawer of another user is neither moved nor closed [CASH-761]', async () => {
    const scenario = await at()
    await send(scenario, 1, { offline_id: 'o', kind: 'opened' })
    for (const kind of ['in', 'out', 'opened', 'closed']) {
      const amount = kind === 'closed' ? null : 5
      await isKept(scenario, 2, { offline_id: `x-${kind}`, kind, amount })
    }
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.include({ expected: '100.00', status: 'open' })
    expect((await send(scenario, 1, { offline_id: 'c', kind: 'closed', amount: null })).decision).to.include({
      outcome: 'created',
    })
  })

  it('loses what others reported before it was opened [CASH-761]', async () => {
    const scenario = await at()
    await send(scenario, 2, { offline_id: 'a', kind: 'out', amount: 90 })
    await send(scenario, 2, { offline_id: 'b', kind: 'closed', amount: null })
    await isKept(scenario, 1, { offline_id: 'c', kind: 'in', amount: 5 })
    await send(scenario, 1, { offline_id: 'o', kind: 'opened', amount: 10 })
    const shown = { expected: '10.00', status: 'open', opened_by_user_id: 1, changed_after_close: false }
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.include(shown)
    await isKept(scenario, 2, { offline_id: 'd', kind: 'in', amount: 5 })
  })

  it('is told again what became of its refused movement, and keeps 200 of a user [CASH-1000]', async () => {
    const scenario = await at()
    await send(scenario, 1, { offline_id: 'o', kind: 'opened' })
    const out = { offline_id: 'x', kind: 'out', amount: 5 }
    await isKept(scenario, 2, out)
    expect((await send(scenario, 2, out)).decision).to.deep.include({
      ...{ outcome: 'unchanged', events: [], remarks: { warnings: [], refusal: 'session_of_other' } },
    })
    ;(await send(scenario, 2, { ...out, amount: 6 })).refuses('duplicate_resource', {
      field: 'offline_id',
      conflicting_id: FIRST_NEW_ID,
    })
    for (let n = 1; n < 200; n += 1) await isKept(scenario, 2, { ...out, offline_id: `x${n}` })
    const full = ['há movimentos recusados demais deste usuário: resolva-os no painel']
    const refusal = { fields: { offline_id: full }, unknown_fields: [] }
    ;(await send(scenario, 2, { ...out, offline_id: 'y' })).refuses('validation_failed', refusal)
    await isKept(scenario, 3, { ...out, offline_id: 'z' })
    await scenario.when(resolveRefusedMovement, { offline_id: 'x', note: 'Conferido' }, 'panel', 'user/9')
    await isKept(scenario, 2, { ...out, offline_id: 'y' })
    expect((await send(scenario, 2, out)).decision).to.deep.include({
      remarks: { warnings: [], resolution: { note: 'Conferido' } },
    })
    ;(await person(scenario, { offline_id: 'x', session_id: 's1' })).refuses('not_found')
  })

  it('gets a refused movement in the session that a person chooses [CASH-1001]', async () => {
    const scenario = await at()
    await send(scenario, 1, { offline_id: 'o', kind: 'opened' })
    await send(scenario, 2, { offline_id: 'p', kind: 'opened', session_id: 's2' })
    const out = { offline_id: 'x', kind: 'out', amount: 30 }
    await isKept(scenario, 2, out)
    const chosen = { offline_id: 'x', session_id: 's2' }
    ;(await person(scenario, { ...chosen, session_id: 's9' })).refuses('validation_failed', {
      fields: { session_id: ['não é uma sessão de caixa'] },
      unknown_fields: [],
    })
    ;(await person(scenario, chosen, () => refuse('permission_required'))).refuses('permission_required')
    const settles = { user_id: 2, owner_id: 2 }
    const moved = { ...COMMON, id: FIRST_NEW_ID + 1, session_id: 's2', offline_id: 'x' }
    ;(await person(scenario, chosen)).accepts('created', cashMoved({ ...moved, kind: 'out', amount: '30.00', settles }))
    ;(await person(scenario, chosen)).accepts('unchanged')
    const expected = await Promise.all(
      [0, 1].map((n) => scenario.show(`cash_session/${FIRST_NEW_ID + n}`) as Promise<{ expected: string }>),
    )
    expect(expected.map((each) => each.expected)).to.deep.equal(['100.00', '70.00'])
    expect((await send(scenario, 2, out)).decision).to.include({ outcome: 'unchanged' })
  })

  it('is opened and closed by a person as the till did it [CASH-1001]', async () => {
    const scenario = await at()
    await send(scenario, 1, { offline_id: 'o', kind: 'opened' })
    await isKept(scenario, 2, { offline_id: 'x', kind: 'opened', amount: 40 })
    await isKept(scenario, 2, { offline_id: 'y', kind: 'closed', amount: null, counted: { cash: 99 } })
    ;(await person(scenario, { offline_id: 'x', session_id: 's1' })).refuses('session_open')
    await person(scenario, { offline_id: 'x', session_id: 's3' })
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID + 1}`)).to.include({
      opened_by_user_id: 2,
      expected: '40.00',
    })
    await person(scenario, { offline_id: 'y', session_id: 's3' })
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID + 1}`)).to.include({ status: 'closed', counted: '99.00' })
    const next = { offline_id: 'z', session_id: 's3', kind: 'in', amount: 5 }
    expect((await send(scenario, 2, next)).decision).to.deep.include({ remarks: { warnings: ['session_closed'] } })
  })
})

describe('an uploaded movement', () => {
  const wrong = (fields: object) => {
    const { error } = CashMovementInput.safeParse(movement(fields))
    return error ? Object.keys(describeIssues(error).fields) : []
  }
  for (const [title, fields, path] of [
    ['an opening without an amount', { amount: null }, 'amount'],
    ['a closing with an amount', { kind: 'closed' }, 'amount'],
    ['a supply of nothing', { kind: 'in', amount: 0 }, 'amount'],
    ['a negative amount', { amount: -1 }, 'amount'],
    ['a count outside a closing', { counted: { cash: 1 } }, 'counted'],
    ['a count under a name', { kind: 'closed', amount: null, counted: { caixa: 1 } }, 'counted.caixa'],
    ['money received for no account', { kind: 'received' }, 'receivable_id'],
    ['an account of another kind', { receivable_id: 5 }, 'receivable_id'],
    ['no session', { session_id: '' }, 'session_id'],
    ['an unknown kind', { kind: 'sangria' }, 'kind'],
  ] as const)
    it(`is refused: ${title} [CASH-2]`, () => expect(wrong(fields)).to.deep.equal([path]))

  it('may have more fields, numbers as identifiers, and an opening float of nothing [CASH-2]', () => {
    expect(parsed({ offline_id: 7, session_id: 8, amount: 0, till: 'x' })).to.deep.equal({
      ...{ offline_id: '7', session_id: '8', kind: 'opened', amount: '0.00', at: '2026-03-10T11:00:00.000Z' },
      ...{ reason: null, receivable_id: null, counted: null },
    })
  })
})

describe('the cancellation of a sale of a cash session', () => {
  const LATER = '2026-03-10T17:00:00.000Z'
  const opened = (session_id: string, id: number, user = 'user/1') =>
    by(user, cashSessionOpened({ id, session_id, offline_id: `o-${session_id}` }))
  const closed = by('user/1', cashSessionClosed({ id: 1, session_id: 's1', offline_id: 'c-s1' }))

  /** The session that gives the money back. */
  async function drawer(cash_session_id: string | null, ...events: NewEvent[]): Promise<unknown> {
    return drawerAt(null, cash_session_id, ...events)
  }

  async function drawerAt(
    cancelled_at: string | null,
    cash_session_id: string | null,
    ...events: NewEvent[]
  ): Promise<unknown> {
    const scenario = await given(
      ...[...shop, userCreated({ id: 1 }), itemCreated({ id: 10, price: '10.00', stock: '9.000' })],
      ...events,
    )
    const upload = OfflineSaleInput.parse(offlineSaleOf({ cash_session_id: 's1' }))
    await scenario.when(recordOfflineSale, { ...upload, sellerId: 1 }, 'pdv', 'user/1')
    return (await cancelled(scenario, { ...upload, cash_session_id, cancelled_at })).cash_session_id ?? null
  }

  async function cancelled(scenario: Scenario, upload: ReturnType<typeof OfflineSaleInput.parse>) {
    const cancelling = { ...upload, status: 'cancelled', sellerId: 1 } as const
    const { decision } = await scenario.when(recordOfflineSale, cancelling, 'pdv', 'user/1')
    if (!('events' in decision)) throw new Error(JSON.stringify(decision))
    return decision.events[0]?.data as DataOf<'SaleCancelled'>
  }

  it('is given back by the session itself while it is not closed [CASH-9]', async () => {
    expect(await drawer('s1', opened('s1', 1))).to.equal('s1')
    expect(await drawer(null)).to.equal('s1')
  })
  it('is given back by another session that the till names [CASH-9]', async () =>
    expect(await drawer('s2', opened('s1', 1))).to.equal('s2'))
  it('after the closing is given back by the session that the user has open [CASH-9]', async () =>
    expect(await drawer('s1', opened('s1', 1), closed, opened('s3', 3), opened('s2', 2, 'user/2'))).to.equal('s3'))
  it('after the closing is given back by the open one of several, also if a later one is closed [CASH-9]', async () => {
    const later = by('user/1', cashSessionOpened({ id: 4, session_id: 's4', offline_id: 'o-s4', at: LATER }))
    const closing = by('user/1', cashSessionClosed({ id: 4, session_id: 's4', offline_id: 'c-s4' }))
    expect(await drawer('s1', opened('s1', 1), closed, opened('s3', 3), later, closing)).to.equal('s3')
    // In another order of arrival: the closing before its opening.
    expect(await drawer('s1', opened('s1', 1), closed, closing, later, opened('s3', 3))).to.equal('s3')
  })
  it('counts by its time, where the till says it: before the closing, or in the session of then [CASH-760]', async () => {
    const closedAt = by('user/1', cashSessionClosed({ id: 1, session_id: 's1', offline_id: 'c', at: LATER }))
    const s2 = { id: 2, session_id: 's2' }
    const second = [
      by('user/1', cashSessionOpened({ ...s2, offline_id: 'o-s2', at: '2026-03-10T18:00:00.000Z' })),
      by('user/1', cashSessionClosed({ ...s2, offline_id: 'c-s2', at: '2026-03-10T20:00:00.000Z' })),
      by('user/1', cashSessionOpened({ id: 3, session_id: 's3', offline_id: 'o-s3', at: '2026-03-10T21:00:00.000Z' })),
    ]
    const at = (time: string) => drawerAt(`2026-03-10T${time}:00.000Z`, null, opened('s1', 1), closedAt, ...second)
    expect(await at('16:59')).to.equal('s1')
    expect(await at('17:00'), 'the next one').to.equal('s2')
    expect(await at('19:00')).to.equal('s2')
    expect(await at('20:00')).to.equal('s3')
  })
  const permuted = <T>(all: readonly T[]): T[][] =>
    all.length === 0 ? [[]] : all.flatMap((one, n) => permuted(all.toSpliced(n, 1)).map((rest) => [one, ...rest]))

  for (const canceller of [1, 2])
    it(`is of the same session in every order of arrival, by user ${canceller} [CASH-760]`, async () => {
      const sale = { ...OfflineSaleInput.parse(offlineSaleOf({ cash_session_id: 's1' })), sellerId: 1 }
      const gone = {
        ...sale,
        status: 'cancelled',
        cancelled_at: '2026-03-10T18:30:00.000Z',
        sellerId: canceller,
      } as const
      const closing = { session_id: 's1', kind: 'closed', offline_id: 'c', amount: null, at: LATER }
      const opening = { session_id: 's2', offline_id: 'o', at: '2026-03-10T18:00:00.000Z' }
      const acts: Record<string, (scenario: Scenario) => Promise<unknown>> = {
        cancel: (scenario) => scenario.when(recordOfflineSale, gone, 'pdv', `user/${canceller}`),
        close: (scenario) =>
          scenario.when(closeCashSession, { ...parsed(closing), userId: 1 }, 'pdv', 'user/1', null, [
            { takings: TAKINGS },
          ]),
        open: (scenario) =>
          scenario.when(recordCashMovement, { ...parsed(opening), userId: canceller }, 'pdv', `user/${canceller}`),
      }
      for (const order of permuted(Object.keys(acts)))
        for (const isWhole of [true, false]) {
          const users = [1, 2].map((id) => userCreated({ id, email: `u${id}@loja.example` }))
          const known = [...shop, ...users, itemCreated({ id: 10, price: '10.00', stock: '9.000' }), opened('s1', 1)]
          const scenario = await given(...known)
          if (isWhole) await scenario.when(recordOfflineSale, sale, 'pdv', 'user/1')
          for (const name of order) await acts[name]?.(scenario)
          const row = (await scenario.rows(saleById(FIRST_NEW_ID))).get(saleById(FIRST_NEW_ID))
          const told = `${order.join(', ')}${isWhole ? '' : ', the sale with its cancellation'}`
          expect([row?.status, row?.cancel_session_id], told).to.deep.equal(['cancelled', 's2'])
        }
    })

  it('after the closing is of no session if the user has none open [CASH-9]', async () =>
    expect(await drawer('s1', opened('s1', 1), closed)).to.equal(null))
})
