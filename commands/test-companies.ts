import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'

const DAY_MS = 86_400_000
const MAX_DAYS = 3_650

/** Maximum lead of a test company's clock; erasing its data resets it. */
const MAX_AHEAD_MS = MAX_DAYS * DAY_MS

export const AdvanceDays = z.int().min(1).max(MAX_DAYS)

/** To an instant, or by a number of days. */
export const MoveTestClockInput = z
  .strictObject({ now: Instant.nullish(), advance_days: AdvanceDays.nullish() })
  .superRefine(({ now, advance_days }, context) => {
    if ((now ?? null) === null && (advance_days ?? null) === null)
      context.addIssue({ code: 'custom', path: ['now'], message: 'informe now ou advance_days' })
    if ((now ?? null) !== null && (advance_days ?? null) !== null)
      context.addIssue({ code: 'custom', path: ['advance_days'], message: 'não pode ser enviado junto com now' })
  })
export type MoveTestClockInput = z.infer<typeof MoveTestClockInput>

/** Moves the clock of a test company forward, never back (KIT-34). Work scheduled up to then is due. */
export const moveTestClock = command<MoveTestClockInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, input, { companyId, now }) {
    const { is_test, clock_ahead_ms } = companyRef(rows)
    if (!is_test) return refuse('not_test_company')
    const field = input.now ? 'now' : 'advance_days'
    const by_ms = input.now ? Date.parse(input.now) - Date.parse(now) : (input.advance_days ?? 0) * DAY_MS
    if (by_ms <= 0) return invalid(field, 'deve ser depois da hora atual da empresa: o relógio só anda para a frente')
    if (clock_ahead_ms + by_ms > MAX_AHEAD_MS)
      return invalid(
        field,
        `o relógio pode ser avançado no máximo ${MAX_DAYS} dias: apague os dados de teste para voltar`,
      )
    return accept('updated', `company/${companyId}`, [event('TestClockMoved', { id: companyId, by_ms })])
  },
})

/** Erases all business records of a test company, and resets its clock (KIT-36). */
export const eraseTestData = command<object>({
  permission: 'manage_company',
  isAlone: true,
  needs: () => [ownCompany],
  decide(rows, _input, { companyId }) {
    if (!companyRef(rows).is_test) return refuse('not_test_company')
    return accept('updated', `company/${companyId}`, [event('TestDataErased', { id: companyId })])
  },
})

/** `twin_id`: id of the twin to be created. */
const MakeTestTwinInput = z.strictObject({ twin_id: Id })
type MakeTestTwinInput = z.infer<typeof MakeTestTwinInput>

/** Records the test twin of a real company. A company has at most one: repeating it changes nothing (KIT-32). */
export const makeTestTwin = command<MakeTestTwinInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { twin_id }, { companyId }) {
    const company = companyRef(rows)
    if (company.is_test) return invalid('company', 'já é uma empresa de teste')
    const subject = `company/${companyId}`
    if (company.twin_id !== null) return accept('unchanged', subject)
    return accept('updated', subject, [event('TestTwinMade', { id: companyId, twin_id })])
  },
})
