import { type FoundSums, MOST_SUMMED } from '#queries/finance/accounts.ts'
import { decimal, money } from '../format.ts'
import { accountStatus } from '../words/accounts.ts'
import { Badge } from './parts.tsx'

/** How things stand with an account. */
export const AccountStatus = ({ account }: { readonly account: Parameters<typeof accountStatus>[0] }) => {
  const [name, tone] = accountStatus(account)
  return <Badge tone={tone}>{name}</Badge>
}

/** What the accounts that were found add up to; of very many, only that they are. */
export const Sums = ({ sums: { found, overdue } }: { readonly sums: FoundSums }) => {
  if (found.count === 0) return null
  if (found.count > MOST_SUMMED) return <p class="sums">Mais de {decimal(String(MOST_SUMMED))} contas.</p>
  return (
    <p class="sums">
      {found.count === 1 ? '1 conta' : `${decimal(String(found.count))} contas`}, <strong>{money(found.amount)}</strong>
      {overdue.count > 0 && overdue.count < found.count && (
        <>
          {' '}
          (vencidas: {decimal(String(overdue.count))}, {money(overdue.amount)})
        </>
      )}
    </p>
  )
}
