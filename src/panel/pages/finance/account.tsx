import type { SettleInput } from '#commands/finance/account-input.ts'
import { text } from '#domain/text.ts'
import type { ACCOUNT_ORIGINS } from '#events/accounts.ts'
import type { Command } from '#ledger/command.ts'
import type { AccountObject } from '#projections/finance.ts'
import type { AccountListing } from '#queries/finance/accounts.ts'
import { type FoundSums, MOST_SUMMED } from '#queries/finance/accounts.ts'
import type { customerListing } from '#queries/people.ts'
import { findPersonByName, listPersonsByName } from '#queries/people.ts'
import { decimal, money } from '../../format.ts'
import { type Field, textOf } from '../../forms/form.ts'
import { suggested } from '../../forms/kinds.ts'
import type { Section, Submission, Visit } from '../../route.ts'
import { recordsIn } from '../../ui/list.tsx'
import { Badge, type Tone } from '../../ui/parts.tsx'
import type { RecordPages } from '../../ui/record-pages.tsx'
import { ORIGINS } from '../../words/events.ts'

/** An account as the API shows it; `P` are the fields of the other party. */
export type Account<P = unknown> = AccountObject<P> & { readonly is_overdue: boolean }

/** One side of the finances. */
export interface AccountPages<P> {
  /** `/contas-a-receber` */
  readonly path: string
  readonly section: Section
  readonly subject: 'receivable' | 'payable'
  /** What the accounts are called. */
  readonly all: string
  readonly listing: AccountListing
  /** Customers or suppliers. */
  readonly party: {
    readonly label: string
    readonly unknown: string
    /** Where they have their pages. */
    readonly path: string
    readonly table: 'customers' | 'suppliers'
    readonly listing: typeof customerListing
    /** The field of the commands that names one. */
    readonly field: string
    of(account: P): { readonly id: number | null; readonly name: string | null }
  }
  readonly create: RecordPages<Account<P>>['create']
  readonly update: Pick<NonNullable<RecordPages<Account<P>>['update']>, 'schema' | 'command'>
  readonly remove: Command<{ id: number }>
  readonly settle: Command<SettleInput>
}

/** Where an account comes from. */
export const ACCOUNT_ORIGIN_NAMES: Readonly<Record<(typeof ACCOUNT_ORIGINS)[number], string>> = {
  ...ORIGINS,
  sale: 'Venda a prazo',
}

/** How things stand with an account; that its day has passed is no stored status. */
export function accountStatus({
  status,
  is_overdue,
}: {
  readonly status: 'pending' | 'settled'
  readonly is_overdue: boolean
}): readonly [name: string, tone: Tone] {
  if (status === 'settled') return ['Liquidada', 'good']
  return is_overdue ? ['Vencida', 'bad'] : ['Pendente', 'plain']
}

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

/** Names that are suggested while one types. */
const SUGGESTIONS = 200

type Parties = Pick<AccountPages<unknown>['party'], 'table' | 'listing' | 'label' | 'unknown' | 'field'>

/**
 * The other party of an account, by name: names are unique, and a list to choose from would have no end. Of a name that
 * nobody has, those that it is a part of are suggested. `current` is what the account's party is called in it.
 */
export async function partyField(visit: Visit, parties: Parties, current?: string | null): Promise<Field> {
  const typed = 'form' in visit ? textOf((visit as Submission).form, parties.field).trim() : ''
  const found = typed === '' ? null : await findParty(visit, parties, typed)
  const names = await suggestions(visit, parties, found === null ? typed : '')
  return {
    label: parties.label,
    columns: 6,
    hint: 'O nome como está no cadastro. Pode ficar em branco.',
    kind: {
      ...suggested(names),
      read: () => found,
      problem: () => (found === null ? notFound(parties.unknown, typed === '' ? [] : names) : null),
      show: () => current ?? '',
    },
  }
}

const Name = text(120)

async function findParty({ books }: Visit, { table }: Parties, typed: string): Promise<number | null> {
  const name = Name.safeParse(typed)
  return name.success ? findPersonByName(books.pool, table, books.companyId, name.data) : null
}

async function suggestions({ books }: Visit, { listing }: Parties, part: string): Promise<string[]> {
  const name = part === '' ? undefined : Name.safeParse(part).data
  if (part !== '' && name === undefined) return []
  const page = await listPersonsByName(books.pool, listing, books.companyId, { limit: SUGGESTIONS, name })
  const persons = recordsIn<{ name: string }>(page)
  return persons.map((person) => person.name)
}

/** Names that are told beside the field, for those whose browser suggests none. */
const TOLD = 5

function notFound(unknown: string, names: readonly string[]): string {
  if (names.length === 0) return `${unknown}; cadastre antes ou deixe em branco`
  const more = names.length > TOLD ? ' …' : ''
  return `${unknown} com este nome; parecidos: ${names.slice(0, TOLD).join(', ')}${more}`
}
