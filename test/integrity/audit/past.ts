import type { ReadAnswer } from '#api/api-route.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type AsOfMoment, type CompanyAsOf, withPastCompany } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import type { TestApi, TestCompany } from '../../support/api.ts'
import { useApi } from '../../support/use-api.ts'

interface Past {
  readonly api: TestApi
  /**
   * Sets the request clock to the ledger's last event and returns its revision, so that midnight cannot fall between
   * command and request.
   */
  follow(company: TestCompany): Promise<number>
  /** Resets the request clock to the present. */
  present(): void
  /** Runs `work` on the company as of a moment. */
  visit<T>(company: TestCompany, at: AsOfMoment, work: (asOf: CompanyAsOf) => Promise<T>): Promise<T>
}

export function usePast(): Past {
  let now = ''
  const api = useApi({ now: () => now || new Date().toISOString() })
  return {
    api,
    async follow(company) {
      const { rows } = await api.core.pool.query<{ revision: number; last_recorded_at: string }>(
        'select revision, last_recorded_at from ledgers where company_id = $1',
        [company.id],
      )
      now = rows[0]?.last_recorded_at ?? ''
      return rows[0]?.revision ?? -1
    },
    present() {
      now = ''
    },
    async visit(company, at, work) {
      const done = await withPastCompany(api.core, company.id, at, async (asOf) => ({ value: await work(asOf) }))
      if (isRefusal(done)) throw new Error(JSON.stringify(done))
      return done.value
    },
  }
}

/** Body of a successful answer. */
export function bodyOf(answer: ReadAnswer | Refusal): string {
  if (isRefusal(answer)) throw new Error(JSON.stringify(answer))
  return String(answer.body)
}
