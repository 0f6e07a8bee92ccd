import { expect } from 'chai'
import {
  CloseDrawer,
  closeDrawer,
  DifferenceExplanation,
  explainDifference,
  moveDrawer,
  openDrawer,
} from '#commands/drawer-commands.ts'
import { describeIssues, refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent, Permit } from '#ledger/command.ts'
import type { CashTakings } from '#projections/cash-takings.ts'
import { cashMoved, cashSessionClosed, cashSessionOpened, companyRegistered, userCreated } from '../support/facts.ts'
import { by, FIRST_NEW_ID, given, minute, type Scenario } from '../support/given.ts'

const SOLD: CashTakings = {
  drawer: 1,
  sales: 1,
  ways: [{ payment_type_id: 1, is_cash: true, sold: '30.00', cancelled: '0.00', returned: '0.00' }],
}

const shop = [
  companyRegistered(),
  userCreated({ id: 1, name: 'Bruno Lima', role: 'clerk' }),
  userCreated({ id: 2, name: 'Ana Souza', role: 'manager', email: 'ana@loja.example' }),
]

/** A drawer of user 1, which a till opened. */
const opened = cashSessionOpened({
  ...{ id: 1, session_id: 's1', offline_id: 'm1', at: '2026-03-10T11:00:00.000Z', reason: null, warnings: [] },
  amount: '100.00',
})

const only =
  (...granted: Permission[]): Permit =>
  (permission) =>
    granted.includes(permission) ? {} : refuse('permission_required', { permission })
const CLERK = only('cash_sessions')
const MANAGER = only('cash_sessions', 'see_all_sales')

const withDrawer = (...events: NewEvent[]) => given(...shop, by('user/1', opened), ...events)

const ids = (n: number) => ({ session_id: 's1', offline_id: `p${n}` })
const as = (scenario: Scenario, userId: number, permit: Permit, takings: CashTakings = SOLD) => ({
  open: (n: number) =>
    scenario.when(
      openDrawer,
      { ...ids(n), session_id: `n${n}`, userId, amount: '50.00' },
      ...(['panel', `user/${userId}`, null, [], permit] as const),
    ),
  move: (n: number, kind: 'in' | 'out', amount: string) =>
    scenario.when(
      moveDrawer,
      { ...ids(n), kind, amount, reason: null },
      ...(['panel', `user/${userId}`, null, [], permit] as const),
    ),
  close: (n: number, counted: string) =>
    scenario.when(
      closeDrawer,
      { ...ids(n), counted, reason: 'Troco ruim' },
      ...(['panel', `user/${userId}`, null, [{ takings }], permit] as const),
    ),
  explain: (reason: 'change' | 'miscount', note: string | null = null) =>
    scenario.when(
      explainDifference,
      { session_id: 's1', reason, note },
      ...(['panel', `user/${userId}`, null, [{ takings }], permit] as const),
    ),
})

const detailsOf = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('a drawer in the panel', () => {
  it('is opened by a user with a float, one open drawer a person [DRAWER-1240]', async () => {
    const scenario = await given(...shop)
    ;(await as(scenario, 1, CLERK).open(1)).accepts(
      'created',
      cashSessionOpened({
        ...{ id: FIRST_NEW_ID, session_id: 'n1', offline_id: 'p1', amount: '50.00' },
        ...{ at: minute(3), reason: null, warnings: [] },
      }),
    )
    const refused = detailsOf('amount', 'você já tem uma gaveta aberta: feche-a antes de abrir outra')
    ;(await as(scenario, 1, CLERK).open(2)).refuses('validation_failed', refused)
    ;(await as(scenario, 2, CLERK).open(3)).accepts(
      'created',
      cashSessionOpened({
        ...{ id: FIRST_NEW_ID + 1, session_id: 'n3', offline_id: 'p3', amount: '50.00' },
        ...{ at: minute(4), reason: null, warnings: [] },
      }),
    )
  })

  it('is not opened while the till of the user has one open, and again after its closing [DRAWER-1240]', async () => {
    const scenario = await withDrawer()
    ;(await as(scenario, 1, CLERK).open(1)).refuses(
      'validation_failed',
      detailsOf('amount', 'você já tem uma gaveta aberta: feche-a antes de abrir outra'),
    )
    await as(scenario, 1, CLERK).close(2, '130.00')
    expect((await as(scenario, 1, CLERK).open(3)).decision).to.include({ outcome: 'created' })
  })

  it('takes supplies and bleeds of any amount, also more than is expected in it [DRAWER-1241]', async () => {
    const scenario = await withDrawer()
    const common = { id: 1, session_id: 's1', at: minute(4), reason: null, warnings: [] }
    ;(await as(scenario, 1, CLERK).move(1, 'out', '900.00')).accepts(
      'created',
      cashMoved({ ...common, offline_id: 'p1', kind: 'out', amount: '900.00' }),
    )
    await as(scenario, 1, CLERK).move(2, 'in', '20.00')
    expect(await scenario.show('cash_session/1')).to.include({ expected: '-780.00' })
  })

  it('is moved and closed by its user, or by users who see all sales [DRAWER-1242]', async () => {
    const scenario = await withDrawer()
    ;(await as(scenario, 2, CLERK).move(1, 'out', '5.00')).refuses('not_found')
    ;(await as(scenario, 2, CLERK).close(2, '5.00')).refuses('not_found')
    const moved = { ...{ id: 1, session_id: 's1', reason: null, warnings: [], owner_id: 1 }, at: minute(4) }
    ;(await as(scenario, 2, MANAGER).move(3, 'out', '5.00')).accepts(
      'created',
      cashMoved({ ...moved, offline_id: 'p3', kind: 'out', amount: '5.00' }),
    )
    ;(await as(scenario, 2, MANAGER).close(4, '120.00')).accepts(
      'created',
      cashSessionClosed({
        ...{ ...moved, offline_id: 'p4', at: minute(5), reason: 'Troco ruim', takings: SOLD },
        counted: [{ payment_type_id: null, amount: '120.00' }],
      }),
    )
    const shown = { opened_by_user_id: 1, closed_by_user_id: 2, expected: '125.00', difference: '-5.00' }
    expect(await scenario.show('cash_session/1')).to.include(shown)
    ;(await as(scenario, 1, CLERK).move(5, 'in', '1.00')).refuses('session_closed')
    ;(await as(scenario, 1, CLERK).close(6, '1.00')).refuses('session_closed')
    expect((await as(scenario, 1, CLERK).open(7)).decision).to.include({ outcome: 'created' })
  })

  it('has a name for people: whose it is, its day and time of day [DRAWER-1246]', async () => {
    const scenario = await withDrawer()
    expect(await scenario.show('cash_session/1')).to.include({ name: 'Gaveta de Bruno, 10/03, manhã' })
    await as(scenario, 2, CLERK).open(1)
    expect(await scenario.show(`cash_session/${FIRST_NEW_ID}`)).to.include({ name: 'Gaveta de Ana, 10/03, tarde' })
  })

  it('needs a number as its count', () => {
    const told = CloseDrawer.safeParse({ counted: '1,5' })
    expect(told.error && Object.keys(describeIssues(told.error).fields)).to.deep.equal(['counted'])
  })
})

describe('a difference of a drawer', () => {
  const closed = async (counted = '120.00') => {
    const scenario = await withDrawer()
    await as(scenario, 1, CLERK).close(1, counted)
    return scenario
  }

  it('is explained by users who see all sales, with a reason and a note [DRAWER-1243]', async () => {
    const scenario = await closed()
    const explained = (reason: 'change' | 'miscount', note: string | null) =>
      event('CashDifferenceExplained', { id: 1, reason, note, difference: '-10.00' })
    expect(explainDifference.permission).to.equal('see_all_sales')
    ;(await as(scenario, 2, only('see_all_sales')).explain('change')).refuses('permission_required', {
      permission: 'cash_sessions',
    })
    ;(await as(scenario, 2, MANAGER).explain('change', 'Venda 9')).accepts('updated', explained('change', 'Venda 9'))
    expect(await scenario.show('cash_session/1')).to.include({
      ...{ reason: 'change', note: 'Venda 9', explained_by_user_id: 2, difference: '-10.00' },
      explained_at: '2026-03-10T12:05:00.000-03:00',
    })
    ;(await as(scenario, 2, MANAGER).explain('change', 'Venda 9')).accepts('unchanged')
    ;(await as(scenario, 2, MANAGER).explain('miscount')).accepts('updated', explained('miscount', null))
  })

  it('is none before the count, and if the count is as expected [DRAWER-1243]', async () => {
    const refused = detailsOf('reason', 'a gaveta não tem diferença para explicar')
    ;(await as(await withDrawer(), 2, MANAGER).explain('change')).refuses('validation_failed', refused)
    ;(await as(await closed('130.00'), 2, MANAGER).explain('change')).refuses('validation_failed', refused)
  })

  it('needs a note for another reason [DRAWER-1243]', () => {
    const told = DifferenceExplanation.safeParse({ reason: 'other', note: null })
    expect(told.error && describeIssues(told.error)).to.deep.equal(detailsOf('note', 'diga o que aconteceu'))
    expect(DifferenceExplanation.safeParse({ reason: 'other', note: 'Nota falsa' }).success).to.equal(true)
  })
})
